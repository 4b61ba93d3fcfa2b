//! `manometer report` over many recordings.

use std::fs;

use manometer_testing::repository_file;

use crate::support::Scene;

/// Imports so many small recordings into `runs`.
fn scene_with_runs(runs: usize) -> Scene {
    let scene = Scene::new();
    let log = repository_file("crates/manometer-workload/src/command/parser/samples/ycsb-java.txt");
    fs::copy(log, scene.path("ycsb.txt")).unwrap();
    scene.run(&format!("import ycsb{} --out runs", " ycsb.txt".repeat(runs))).status(0);
    scene
}

fn files_in(scene: &Scene, folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(scene.path(folder)) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn more_than_eight_recordings_make_an_overview_and_fewer_leave_none_of_its_pages() {
    let scene = scene_with_runs(11);
    let pages = |runs: usize| (1..=runs).map(|run| format!("{run:03}.html")).collect::<Vec<_>>();
    let runs = |count: usize| (1..=count).map(|run| format!(" runs/runs/{run:03}")).collect::<String>();
    scene.run(&format!("report{} --out all.html", runs(11))).status(0).out_has(&["All 11 runs: ", "Report: all.html"]);
    assert_eq!(files_in(&scene, "all-runs"), pages(11));
    let overview = scene.read("all.html");
    assert!(pages(11).iter().all(|page| overview.contains(&format!("./all-runs/{page}"))));
    assert!(scene.read("all-runs/002.html").contains("Run 2 of 11"));
    // Of somebody else.
    scene.write("all-runs/900.html", "<!DOCTYPE html><p>notes");
    scene.write("all-runs/011.txt", "notes");
    scene.run(&format!("report{} --out all.html", runs(9))).status(0);
    let theirs = ["011.txt".to_owned(), "900.html".to_owned()];
    let mut left = [&pages(9)[..], &theirs].concat();
    left.sort();
    assert_eq!(files_in(&scene, "all-runs"), left);
    assert!(scene.read("all-runs/009.html").contains("Run 9 of 9"));
    scene.run(&format!("report{} --out all.html", runs(8))).status(0);
    assert_eq!(files_in(&scene, "all-runs"), theirs);
    fs::remove_dir_all(scene.path("all-runs")).unwrap();
    scene.run(&format!("report{} --out all.html", runs(9))).status(0);
    scene.run(&format!("report{} --out all.html", runs(1))).status(0);
    assert!(!scene.path("all-runs").exists());
    assert!(!scene.read("all.html").contains("all-runs"));
}

#[test]
fn no_link_in_a_set_is_followed() {
    let scene = scene_with_runs(3);
    fs::rename(scene.path("runs/runs/003"), scene.path("elsewhere")).unwrap();
    fs::remove_file(scene.path("elsewhere/summary.json")).unwrap();
    std::os::unix::fs::symlink(scene.path("elsewhere"), scene.path("runs/runs/003")).unwrap();
    let linked = "runs/runs/003 is a symbolic link: skipped";
    scene.run("report runs").status(0).out_has(&["All 2 runs: "]).err_has(&[linked]);
    assert!(!scene.path("elsewhere/summary.json").exists());
    // Nor is the folder of the runs.
    fs::rename(scene.path("runs/runs"), scene.path("other")).unwrap();
    std::os::unix::fs::symlink(scene.path("other"), scene.path("runs/runs")).unwrap();
    scene.run("report runs").status(2);
}

#[test]
fn a_set_is_reported_without_the_recordings_that_cannot_be_read_and_damage_is_named() {
    let scene = scene_with_runs(3);
    scene.write("runs/runs/002/plan.json", "");
    let unreadable = scene.run("report runs");
    unreadable.status(1).out_has(&["All 2 runs: "]).err_has(&[
        "runs/runs/002",
        "plan.json was changed or damaged",
        "left out",
    ]);
    let path = scene.path("runs/runs/003/samples/primary.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    scene.run("report runs/runs/003").status(1).err_has(&["runs/runs/003: damaged: ", "primary.parquet"]);
    let damaged = scene.run("compare runs/runs/001 runs/runs/003 --allow-undecided");
    damaged.status(1).err_has(&["runs/runs/003", "primary.parquet"]);
}
