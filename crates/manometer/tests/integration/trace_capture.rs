//! `manometer trace capture` on a loop device with real I/O.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::process::Command;

use manometer_measure::capture::tracefs;
use manometer_testing::{Cause, skip};
use rustix::process::Signal;

use crate::support::{Running, Scene, wait_for};

const BLOCK: usize = 4096;

/// A loop device on a file of the scene; given back when dropped.
struct Loop {
    device: String,
    scene: Scene,
}

impl Loop {
    /// Skips the test where this host or user cannot.
    fn make() -> Option<Self> {
        if let Err(error) = tracefs::find() {
            skip(Cause::Tracing, error);
            return None;
        }
        let scene = Scene::new();
        fs::write(scene.path("disk"), vec![0; 1 << 20]).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(scene.path("disk")).output();
        let device =
            made.ok().filter(|output| output.status.success()).map(|output| String::from_utf8(output.stdout).unwrap());
        if device.is_none() {
            skip(Cause::Root, "a loop device needs root and losetup");
        }
        Some(Self { device: device?.trim().to_owned(), scene })
    }

    /// Writes `count` blocks past the page cache.
    fn write(&self, count: u64) {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let disk = OpenOptions::new().write(true).custom_flags(direct).open(&self.device).unwrap();
        let memory = vec![1; 2 * BLOCK];
        let aligned = memory.as_ptr().align_offset(BLOCK);
        for block in 0..count {
            disk.write_all_at(&memory[aligned..aligned + BLOCK], block * BLOCK as u64).unwrap();
        }
    }

    /// Starts a capture, and returns when its events are on.
    fn start(&self, words: &str) -> Running {
        let running = self.scene.start(&format!("trace capture {} {words}", self.device));
        let enabled = instance(running.pid()).join("events/block/block_rq_complete/enable");
        wait_for("the capture to begin", || (fs::read_to_string(&enabled).ok()?.trim() == "1").then_some(()));
        running
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

/// The folder that a capture makes in tracefs.
fn instance(pid: u32) -> PathBuf {
    tracefs::find().unwrap().join(format!("instances/manometer-{pid}"))
}

/// The writes of the trace: action, sector, sectors.
fn writes(trace: &str) -> Vec<(String, u64, u64)> {
    let write = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let sector = words[7].parse().unwrap();
        words[6].starts_with('W').then(|| (words[5].to_owned(), sector, words[9].parse().unwrap()))
    };
    trace.lines().filter_map(write).collect()
}

#[test]
fn what_is_written_to_a_loop_device_is_in_the_trace() {
    let Some(disk) = Loop::make() else { return };
    let running = disk.start("--seconds 3600 --out trace.txt --format json");
    let pid = running.pid();
    disk.write(20);
    running.signal(Signal::INT);
    let document = running.end().status(0).json();
    assert!(!instance(pid).exists(), "the kernel is left as it was");
    let trace = disk.scene.read("trace.txt");
    for action in ["D", "C"] {
        let found: Vec<(u64, u64)> = writes(&trace)
            .into_iter()
            .filter(|(of, ..)| of == action)
            .map(|(_, sector, length)| (sector, length))
            .collect();
        let expected: Vec<(u64, u64)> = (0..20).map(|block| (block * 8, 8)).collect();
        assert_eq!(found, expected, "{action} of {trace}");
    }
    assert_eq!(document["events"], trace.lines().count());
    assert_eq!((&document["lost"], &document["not_understood"]), (&0.into(), &0.into()));
    assert_eq!(document["format"], "blkparse");
}

#[test]
fn lost_events_are_counted_and_reported() {
    let Some(disk) = Loop::make() else { return };
    let running = disk.start("--seconds 3600 --out trace.txt --buffer 64KiB --format json");
    // Stopped, it reads nothing, and the buffers run over.
    running.signal(Signal::STOP);
    (0..40).for_each(|_| disk.write(250));
    running.signal(Signal::CONT);
    running.signal(Signal::TERM);
    let document = running.end().status(0).err_has(&["were lost", "--buffer"]).json();
    assert!(document["lost"].as_u64().unwrap() > 0, "{document}");
    assert!(document["events"].as_u64().unwrap() > 0, "{document}");
}

#[test]
fn what_a_killed_capture_left_the_next_one_removes() {
    let Some(disk) = Loop::make() else { return };
    let killed = disk.start("--seconds 3600 --out killed.txt");
    let left = instance(killed.pid());
    killed.signal(Signal::KILL);
    drop(killed);
    // It is there now, unless the capture of another test has removed it already.
    let running = disk.start("--seconds 3600 --out next.txt");
    assert!(!left.exists());
    running.signal(Signal::INT);
    running.end().status(0).out_has(&["next.txt", "0 events lost"]);
}

#[test]
fn it_ends_by_itself() {
    let Some(disk) = Loop::make() else { return };
    disk.scene.run(&format!("trace capture {} --seconds 0.1 --out trace.txt", disk.device)).status(0);
    assert!(disk.scene.path("trace.txt").exists());
}

#[test]
fn what_cannot_be_captured_is_refused() {
    let scene = Scene::new();
    scene.write("there", "years of work");
    let refused = |words: &str, why: &[&str]| drop(scene.run(&format!("trace capture {words}")).status(2).err_has(why));
    refused("there --seconds 1 --out t", &["there is not a block device", "/dev/nvme0n1"]);
    refused("/dev/nothing --seconds 1 --out t", &["/dev/nothing", "name a block device"]);
    refused("there --seconds 0 --out t", &["above 0"]);
    refused("there --seconds 1 --out t --buffer 1KiB", &["64KiB"]);
    assert!(!scene.path("t").exists());
    scene.run("trace capture --help").status(0).out_has(&["manometer trace capture /dev/nvme0n1"]);
    if let Some(disk) = Loop::make() {
        let words = format!("trace capture {} --seconds 1 --out there", disk.device);
        scene.run(&words).status(2).err_has(&["there", "exists"]);
        assert_eq!(scene.read("there"), "years of work");
    }
}
