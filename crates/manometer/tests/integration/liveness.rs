//! Workers that are stopped: the run fails with the reason, and is repeated.

use manometer_testing::SmallDisk;
use rustix::process::Signal;

use crate::support::{CommandOutput, Running, SHORT, Scene, signal_process, wait_for_event};

/// `SHORT` with a limit of silence that a busy host keeps.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("short.toml", &SHORT.replace("interval = \"100ms\"", "interval = \"100ms\"\nsilence = \"3s\""));
    scene
}

#[test]
fn a_stopped_worker_fails_the_run_which_is_then_repeated() {
    for event in ["phase_started\",\"phase\":\"w0", "phase_started\",\"phase\":\"w2"] {
        let scene = scene();
        let running = scene.start("run short.toml --out rec --set plan.phase=1s");
        wait_for_event(&scene.path("rec"), event);
        signal_process(running.worker(0), Signal::STOP);
        let said = "it sent nothing for 3s: its process is stopped: a signal (SIGSTOP) or a debugger";
        running.end().status(1).err_has(&[said]);
        let events = scene.read("rec/events.jsonl");
        assert!(events.contains("worker-silent") && events.contains("phase_gap"), "{events}");
        let summary = scene.json("rec/summary.json");
        assert_eq!(summary["status"], "failed");
        scene.run("run short.toml --out rec --set plan.phase=1s --resume").status(0);
        assert_eq!(scene.json("rec/summary.json")["status"], "complete");
    }
}

#[test]
fn a_worker_that_is_stopped_before_it_is_ready_or_while_it_is_paused_fails_the_run() {
    let scene = scene();
    let running = scene.start("run short.toml --out rec --set primary.records=200000000 --set plan.phase=60s");
    signal_process(running.worker(1), Signal::STOP);
    running.end().status(1).err_has(&["writer", "its process is stopped"]);
    // The neighbour rests in the baseline.
    let running = scene.start("run short.toml --out two --set plan.phase=60s");
    wait_for_event(&scene.path("two"), "phase_started\",\"phase\":\"w0");
    signal_process(running.worker(1), Signal::STOP);
    running.end().status(1).err_has(&["writer", "its process is stopped"]);
}

#[test]
fn a_limit_of_silence_below_two_intervals_is_refused() {
    let scene = scene();
    scene.run("run short.toml --out rec --set silence=150ms").status(2).err_has(&["silence", "twice that or more"]);
}

#[test]
fn a_neighbour_that_ends_while_it_rests_ends_the_run_at_once() {
    let scene = scene();
    // The neighbour would run in the next phase, in a minute.
    let running = scene.start("run short.toml --out rec --set plan.phase=60s");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w0");
    signal_process(running.worker(1), Signal::KILL);
    running.end().status(1).err_has(&["writer failed", "signal: 9"]);
    let events = scene.read("rec/events.jsonl");
    assert!(!events.contains("phase_started\",\"phase\":\"w1"), "{events}");
}

/// A run on a small disk of its own, whose recording is elsewhere, in its first measured phase.
fn on_small_disk(text: &str) -> Option<(Scene, SmallDisk, Running)> {
    let scene = Scene::new();
    let disk = SmallDisk::at(&scene.path("data"), 256 << 20)?;
    scene.write("short.toml", text);
    let running = scene.start("run short.toml --out rec --set plan.phase=30s");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w1");
    Some((scene, disk, running))
}

/// The run failed with `reason`, and its recording is whole.
fn failed_with(scene: &Scene, output: &CommandOutput, reason: &str) {
    assert_eq!(output.code(), 1, "{}", output.err());
    assert!(output.err().contains(reason), "{}", output.err());
    assert_eq!(scene.json("rec/summary.json")["status"], "failed");
    let events = scene.read("rec/events.jsonl");
    assert!(events.contains("phase_gap") && events.contains("\"finished\""), "{events}");
}

#[test]
fn a_file_system_that_becomes_read_only_fails_the_run_with_a_gap() {
    let Some((scene, _disk, running)) = on_small_disk(SHORT) else { return };
    // What ext4 does after an error of its device.
    let remount = ["-o", "remount,abort"];
    let place = scene.path("data");
    assert!(std::process::Command::new("mount").args(remount).arg(&place).status().unwrap().success());
    failed_with(&scene, &running.end(), "writer failed");
}
