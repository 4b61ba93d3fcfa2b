//! Runs whose workloads have separate control groups, and what is left of these.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_testing::{Cause, skip};
use rustix::process::Signal;

use crate::support::{SHORT, Scene, wait_for, wait_for_event};

const BLKIO: &str = "/sys/fs/cgroup/blkio";

/// `SHORT`, its neighbour in a group with a bound; nothing where groups of version 1 cannot be had.
fn scene() -> Option<Scene> {
    let scene = Scene::new();
    let limits = "kind = \"io\"\nisolation = \"cgroup\"\nlimits = { \"io.max\" = \"rbps=256MiB wbps=256MiB\" }";
    scene.write("short.toml", &SHORT.replace("kind = \"io\"", limits));
    let output = scene.run("run short.toml --dry-run");
    if !Path::new(BLKIO).join("blkio.throttle.read_bps_device").exists() || output.err().contains("does not support") {
        skip(Cause::CgroupV1, output.err());
        return None;
    }
    Some(scene)
}

/// The groups that the run of process `pid` has.
fn groups(pid: u32) -> PathBuf {
    Path::new(BLKIO).join(format!("manometer-{pid}"))
}

#[test]
fn a_workload_in_a_control_group_is_observed_and_recorded() {
    let Some(scene) = scene() else { return };
    scene.run("run short.toml --dry-run").status(0).out_has(&["Isolation:", "writer: cgroup; io.max = rbps=256MiB"]);
    let running = scene.start("run short.toml --out rec");
    let pid = running.pid();
    running.end().status(0);
    assert!(scene.path("rec/samples/writer.cgroup.parquet").is_file());
    assert!(!scene.path("rec/samples/primary.cgroup.parquet").exists(), "it has no separate group");
    let isolation = &scene.json("rec/environment.json")["isolation"];
    assert_eq!(isolation["writer"]["isolation"], "cgroup");
    assert_eq!(isolation["writer"]["limits"]["io.max"], "rbps=256MiB wbps=256MiB");
    assert!(isolation["primary"].is_null());
    assert!(!groups(pid).exists());
}

#[test]
fn an_interrupted_run_leaves_no_group_and_a_killed_one_leaves_it_to_the_next() {
    let Some(scene) = scene() else { return };
    let running = scene.start("run short.toml --out one --set plan.phase=60s");
    wait_for_event(&scene.path("one"), "phase_started");
    let group = groups(running.pid());
    assert!(group.join("writer").is_dir());
    running.signal(Signal::INT);
    running.end().status(1);
    assert!(!group.exists());

    let running = scene.start("run short.toml --out two --set plan.phase=60s");
    wait_for_event(&scene.path("two"), "phase_started");
    let group = groups(running.pid());
    assert!(group.join("writer").is_dir());
    running.signal(Signal::KILL);
    // From here on the run of any other test may be the next one.
    let _ = running.end();
    scene.run("run short.toml --out three").status(0);
    assert!(!group.exists());
}

#[test]
fn a_group_that_vanishes_is_a_gap_and_named() {
    let Some(scene) = scene() else { return };
    // Long enough for what follows: the phase that has lost its neighbour ends at once.
    let running = scene.start("run short.toml --out rec --set plan.baseline=600ms --set plan.phase=60s");
    wait_for_event(&scene.path("rec"), "\"phase_started\",\"phase\":\"w1\"");
    let group = groups(running.pid()).join("writer");
    let worker = running.worker(1);
    fs::write(Path::new(BLKIO).join("cgroup.procs"), worker.to_string()).unwrap();
    // The run takes the group away itself where it is faster.
    wait_for("the group to be gone", || (fs::remove_dir(&group).is_ok() || !group.exists()).then_some(()));
    running.end().status(1);
    let events = scene.read("rec/events.jsonl");
    let lost = events.lines().find(|line| line.contains("isolation-lost")).unwrap();
    assert!(lost.contains(group.to_str().unwrap()), "{lost}");
    for phase in ["w1", "w2"] {
        let is_gap = |line: &&str| line.contains("phase_gap") && line.contains(&format!("\"phase\":\"{phase}\""));
        let gap = events.lines().find(is_gap).unwrap_or_else(|| panic!("no gap {phase}: {events}"));
        assert!(gap.contains("control group"), "{gap}");
    }
}

#[test]
fn what_this_host_cannot_give_is_refused_before_anything_runs() {
    let Some(scene) = scene() else { return };
    scene
        .run("run short.toml --out rec --set writer.limits.io.latency=10ms")
        .status(2)
        .err_has(&["`writer`: `io.latency` is not supported", "unified_cgroup_hierarchy=1"]);
    assert!(!scene.path("rec").exists());
    scene.run("run short.toml --out rec --set device.scheduler=tarot").status(2).err_has(&["not tarot"]);
    scene.run("run short.toml --dry-run --set device.scheduler=tarot").status(2).out_has(&["scheduler tarot"]);
}

#[test]
fn a_sweep_of_isolation_cut_off_in_its_group_goes_on_and_leaves_none() {
    let Some(scene) = scene() else { return };
    let sweep = "[sweep]\nrepeats = 2\n\"writer.isolation\" = [\"none\", \"cgroup\"]\n";
    scene.write("set.toml", &format!("{}{sweep}", scene.read("short.toml")));
    scene.run("run set.toml --dry-run").status(0).out_has(&["its limits (io.max) are not applied"]);
    let running = scene.start("run set.toml --out all");
    wait_for_event(&scene.path("all/runs/003"), "phase_started\",\"phase\":\"w0");
    let group = groups(running.pid());
    running.kill_everything();
    assert!(group.join("writer").is_dir());
    scene.run("run set.toml --out all --resume").status(0);
    assert!(!group.exists());
    assert!(scene.path("all/set-aside/003.interrupted-1").is_dir());
    for (run, isolated) in [("001", false), ("002", false), ("003", true), ("004", true)] {
        let dir = format!("all/runs/{run}");
        assert_eq!(scene.json(&format!("{dir}/summary.json"))["status"], "complete");
        let output = scene.json(&format!("{dir}/environment.json"))["isolation"]["writer"]["isolation"] == "cgroup";
        assert_eq!(output, isolated, "{run}");
        assert_eq!(scene.read(&format!("{dir}/events.jsonl")).contains("limits-left-out"), !isolated);
        assert_eq!(scene.read(&format!("{dir}/experiment.toml")).contains("io.max"), isolated);
    }
}

#[test]
fn runs_for_another_kernel_or_several_devices_are_refused_here_and_planned_for_elsewhere() {
    let scene = Scene::new();
    scene.write("short.toml", SHORT);
    scene.run("run short.toml --set device.kernel='1.0'").status(2).err_has(&["`device.kernel`", "not 1.0"]);
    scene.run("run short.toml --set device.kernel='1.0' --dry-run --elsewhere").status(0);
    scene.write("sweep.toml", &format!("{SHORT}\n[sweep]\n\"device.name\" = [\"one\", \"two\"]\n"));
    scene.run("run sweep.toml").status(2).err_has(&["several devices (one, two)", "manometer cluster run"]);
    let plan = scene.run("run sweep.toml --dry-run --elsewhere --format json").status(0).json();
    assert_eq!(plan["runs"][1]["experiment"]["device"]["name"], "two");
    scene.write("wrong.toml", &format!("{SHORT}\n[sweep]\n\"device.kernel\" = [6]\n"));
    scene.run("run wrong.toml --dry-run").status(2).err_has(&["6 is not a kernel release"]);
}

#[test]
fn a_run_that_may_wait_begins_when_the_disk_is_free() {
    let scene = Scene::new();
    scene.write("short.toml", SHORT);
    let first = scene.start("run short.toml --out one --set plan.phase=60s");
    wait_for_event(&scene.path("one"), "phase_started");
    let refused = scene.run("run short.toml --out two --set device.directory=other").status(2);
    refused.err_has(&["in use by another run", "`run --wait`"]);
    let given_up = scene.start("run short.toml --out none --set device.directory=other --wait");
    wait_for("SIGINT to be handled", || {
        let status = fs::read_to_string(format!("/proc/{}/status", given_up.pid())).ok()?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught & 1 << (Signal::INT.as_raw() - 1) != 0).then_some(())
    });
    given_up.signal(Signal::INT);
    given_up.end().status(1).err_has(&["interrupted while waiting for the disk"]);
    assert!(!scene.path("none").exists());
    let second = scene.start("run short.toml --out two --set device.directory=other --wait");
    first.signal(Signal::INT);
    first.end().status(1);
    second.end().status(0);
}
