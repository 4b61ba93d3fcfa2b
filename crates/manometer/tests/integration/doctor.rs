//! `manometer doctor`, and what it leaves in a recording.

use std::process::Command;

use manometer_testing::{Cause, binary, installed, skip};

use crate::support::Scene;

/// What every host is asked, in this order.
const IDS: [&str; 22] = [
    "file-system",
    "mount-options",
    "layers",
    "device",
    "virtual-disk",
    "scheduler",
    "block-size",
    "alignment",
    "nvme-hints",
    "nvme-power",
    "direct-io",
    "libaio",
    "io-uring",
    "dsync",
    "cgroup",
    "containers",
    "cpu-governor",
    "cpu-turbo",
    "swap",
    "virtual-machine",
    "device-health",
    "block-trace",
];

#[test]
fn machines_get_one_document_with_every_check() {
    let scene = Scene::new();
    let document = scene.run("doctor --format json").status(0).json();
    let checks = document["checks"].as_array().unwrap();
    assert_eq!(checks.iter().map(|check| check["id"].as_str().unwrap()).collect::<Vec<_>>(), IDS);
    for check in checks {
        assert!(["ok", "limited", "missing", "not_applicable"].contains(&check["status"].as_str().unwrap()), "{check}");
        assert!(!check["text"].as_str().unwrap().is_empty(), "{check}");
        assert!(!check["why"].as_str().unwrap().is_empty(), "{check}");
        assert!(check["remedy"].is_string(), "{check}");
    }
    let verdict = &document["verdict"];
    assert!(verdict["text"].as_str().unwrap().ends_with('.'), "{verdict}");
    let judged: usize =
        ["sound", "limited", "missing"].map(|how| verdict["can"][how].as_array().unwrap().len()).iter().sum();
    assert!(judged >= 6, "{verdict}");
    assert_eq!(std::fs::read_dir(scene.path(".")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_manual_names_every_check() {
    let manual = include_str!("../../../../docs/doctor.md");
    IDS.iter().for_each(|id| assert!(manual.contains(&format!("`{id}`")), "{id}"));
}

#[test]
fn people_get_one_screen() {
    let scene = Scene::new();
    let output = scene.run("doctor .").status(0).out_has(&IDS).out_has(&["how to fix it", " missing"]);
    assert!(output.out().lines().all(|line| line.chars().count() <= 100), "{}", output.out());
}

#[test]
fn a_terminal_that_knows_no_size_gets_whole_lines() {
    let scene = Scene::new();
    if !installed("script") {
        return;
    }
    let doctor = format!("{} doctor .", binary("manometer").display());
    let script = Command::new("script").args(["-qec", &doctor, "/dev/null"]).current_dir(scene.path(".")).output();
    let screen = String::from_utf8(script.unwrap().stdout).unwrap();
    assert!(screen.contains("how to fix it"), "{screen}");
}

#[test]
fn a_folder_that_is_none_is_named() {
    Scene::new().run("doctor nowhere").status(2).err_has(&["nowhere is not a directory"]);
}

#[test]
fn help_has_an_example() {
    Scene::new().run("doctor --help").status(0).out_has(&["manometer doctor /mnt/nvme"]);
}

#[test]
fn a_recording_keeps_the_doctors_checks() {
    let scene = Scene::short();
    let summary = scene.run("run short.toml --out rec --format json").status(0).json();
    let environment = scene.json("rec/environment.json");
    assert_eq!(environment["doctor"].as_array().unwrap().len(), IDS.len());
    let device = &environment["device"];
    if device.is_null() {
        return skip(Cause::BlockDevice, "the recording has no block device");
    }
    let expected = summary["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "virtual-disk");
    assert_eq!(device["virtual"], expected, "{device}");
}
