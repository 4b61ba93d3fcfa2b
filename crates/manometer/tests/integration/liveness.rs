//! Workers that are stopped, and devices that answer nothing: the run fails with the reason, and is repeated.

use std::fs;
use std::path::Path;
use std::process::Command;

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_testing::{Cause, LoopDevice, SmallDisk, skip};
use rustix::process::Signal;

use crate::support::{CommandOutput, Running, SHORT, Scene, signal_process, wait_for, wait_for_event};

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
        let ids: Vec<&str> =
            summary["findings"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert!(ids.contains(&"worker-silent") && !ids.contains(&"worker-failed"), "the reason stands once: {ids:?}");
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
    let running = scene.start("run short.toml --out two --set plan.phase=8s");
    wait_for_event(&scene.path("two"), "phase_started\",\"phase\":\"w0");
    signal_process(running.worker(1), Signal::STOP);
    running.end().status(1).err_has(&["writer", "its process is stopped"]);
}

/// What workers sent meanwhile waits for it to be read.
#[test]
fn a_conductor_that_was_stopped_itself_accuses_no_worker() {
    let scene = scene();
    let running = scene.start("run short.toml --out rec --set plan.phase=2s");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w1");
    signal_process(running.pid(), Signal::STOP);
    MonotonicClock.sleep(5_000_000_000);
    signal_process(running.pid(), Signal::CONT);
    running.end().status(0);
    assert!(!scene.read("rec/events.jsonl").contains("silent"));
}

#[test]
fn a_limit_of_silence_below_two_intervals_is_refused() {
    let scene = scene();
    scene.run("run short.toml --out rec --set silence=150ms").status(2).err_has(&["silence", "twice that or more"]);
}

#[test]
fn a_neighbour_that_ends_while_it_rests_is_named_at_once_and_ends_the_run_before_the_next_phase() {
    let scene = scene();
    let running = scene.start("run short.toml --out rec --set plan.phase=8s");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w0");
    signal_process(running.worker(1), Signal::KILL);
    running.end().status(1).err_has(&["writer failed", "signal: 9"]);
    let events = scene.read("rec/events.jsonl");
    let at = |text: &str| events.find(text).unwrap_or_else(|| panic!("{text}: {events}"));
    assert!(at("signal: 9") < at("phase_ended\",\"phase\":\"w0"), "{events}");
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
    assert!(Command::new("mount").args(remount).arg(&place).status().unwrap().success());
    failed_with(&scene, &running.end(), "writer failed");
}

/// A disk whose blocks lie behind a mount with FUSE: while the mount's process is stopped, it answers no request.
struct SilentDisk {
    disk: Option<SmallDisk>,
    server: Option<Running>,
}

impl SilentDisk {
    /// Mounted at `data`.
    fn new(scene: &Scene) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
            skip(Cause::Root, "mounting with FUSE needs root and /dev/fuse");
            return None;
        }
        fs::create_dir(scene.path("source")).unwrap();
        fs::create_dir(scene.path("image")).unwrap();
        scene.write("source/mounted", "");
        let server = scene.start("backpath mount source image --without-cache");
        wait_for("the mount", || scene.path("image/mounted").exists().then_some(()));
        let device = LoopDevice::on(&scene.path("image/disk"), 128 << 20)?;
        Some(Self { disk: Some(SmallDisk::of(device, &scene.path("data"))?), server: Some(server) })
    }

    fn stop(&self) {
        let pid = self.server.as_ref().unwrap().pid();
        // If this test is killed, nobody waits for the disk for long.
        let awaken = format!("sleep 120; kill -CONT {pid}");
        Command::new("setsid").args(["--fork", "sh", "-c", &awaken]).status().unwrap();
        signal_process(pid, Signal::STOP);
    }
}

impl Drop for SilentDisk {
    fn drop(&mut self) {
        let server = self.server.take().unwrap();
        server.signal(Signal::CONT);
        drop(self.disk.take());
        server.signal(Signal::INT);
        server.end();
    }
}

#[test]
fn a_device_that_answers_nothing_fails_the_run_which_does_not_wait_for_it() {
    let scene = Scene::new();
    let Some(disk) = SilentDisk::new(&scene) else { return };
    scene.write(
        "reads.toml",
        "name = \"reads\"\ninterval = \"100ms\"\nsilence = \"3s\"\n[device]\ndirectory = \"data\"\n[primary]\nkind = \"io\"\n\
         name = \"reader\"\nfile_size = \"32MiB\"\ndirect = true\n[plan]\nwarmup = \"0s\"\nphase = \"60s\"\n",
    );
    let running = scene.start("run reads.toml --out rec");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w0");
    disk.stop();
    let output = running.end();
    failed_with(&scene, &output, "the device has answered no request for 3s, though some wait");
    assert!(scene.read("rec/events.jsonl").contains("device-silent"));
    drop(disk);
}
