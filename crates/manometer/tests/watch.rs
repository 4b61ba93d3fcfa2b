//! `manometer watch` where the output is no terminal: one frame.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use manometer_measure::host::device_of;
use support::Scene;

/// A folder on a device; says so when there is none.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn on_a_device() -> Option<Scene> {
    let scene = Scene::new();
    let device = device_of(&scene.path("."));
    if device.is_none() {
        eprintln!("skipped: no block device holds the tests' folder");
    }
    device.map(|_| scene)
}

#[test]
fn without_a_terminal_one_frame_is_printed() {
    let Some(scene) = on_a_device() else { return };
    let words = ["device and its layers", "storage:", "processes on any storage"];
    scene.run("watch --interval 200ms").status(0).out_has(&words);
    scene.run("watch . --once --interval 200ms").status(0).out_has(&words);
}

#[test]
fn machines_get_one_document_of_one_interval() {
    let Some(scene) = on_a_device() else { return };
    let frame = scene.run("watch . --interval 200ms --format json").status(0).json();
    let device = device_of(&scene.path(".")).unwrap();
    assert_eq!(frame["layers"][0]["name"], device.name);
    let activity = &frame["layers"][0]["activity"];
    assert!(activity["writes_per_s"].is_number() && activity["busy"].as_f64().unwrap() <= 1.0, "{activity}");
    assert!(frame["users"].is_array() && frame["stalls"].is_object(), "{frame}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let scene = Scene::new();
    scene.run("watch nowhere").status(2).err_has(&["nowhere is no folder"]);
    scene.run("watch /proc").status(2).err_has(&["no block device lies under /proc", "doctor"]);
    scene.run("watch . --interval 1ms").status(2).err_has(&["shorter than 100ms"]);
    scene.run("watch --help").status(0).out_has(&["manometer watch /mnt/nvme", "q ends"]);
}
