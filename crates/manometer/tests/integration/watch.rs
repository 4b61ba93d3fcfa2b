//! `manometer watch` where the output is no terminal: one frame.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use manometer_measure::host::device_of;
use manometer_testing::{Cause, binary, installed, skip};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Scene, signal_process, wait_for_event};

/// A folder on a device.
fn on_a_device() -> Option<Scene> {
    let scene = Scene::new();
    let device = device_of(&scene.path("."));
    if device.is_none() {
        skip(Cause::BlockDevice, "no block device holds the tests' directory");
    }
    device.map(|_| scene)
}

#[test]
fn without_a_terminal_one_frame_is_printed() {
    let Some(scene) = on_a_device() else { return };
    let words = [
        "device and its layers",
        "storage:",
        "processes on any storage",
        " was busy for ",
        "Verdict on measuring here: ",
    ];
    scene.run("watch --interval 200ms").status(0).out_has(&words);
    scene.run("watch . --once --interval 200ms").status(0).out_has(&words);
}

/// A terminal of its own, by `script`, in which `manometer watch` runs.
struct Terminal {
    script: Child,
    /// What it has drawn so far.
    drawn: Vec<u8>,
}

impl Terminal {
    fn watch(scene: &Scene) -> Option<Self> {
        // The terminal of `script` has no size, and nothing is drawn on it, until it is given one.
        let watch = format!("exec {} watch . --interval 200ms", binary("manometer").display());
        let command = format!("stty rows 40 cols 120; echo PID=$$.; {watch}");
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(scene.path("."));
        let script = installed("script").then(|| script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        Some(Self { script: script?, drawn: Vec::new() })
    }

    /// Reads until `text` is drawn; to the end without.
    fn read_until(&mut self, text: Option<&str>) -> String {
        let mut chunk = [0; 4096];
        loop {
            let drawn = String::from_utf8_lossy(&self.drawn).into_owned();
            if text.is_some_and(|text| drawn.contains(text)) {
                return drawn;
            }
            let count = self.script.stdout.as_mut().unwrap().read(&mut chunk).unwrap();
            if count == 0 {
                assert!(text.is_none(), "it ended before it drew {text:?}: {drawn}");
                return drawn;
            }
            self.drawn.extend_from_slice(&chunk[..count]);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// Escape sequences that switch to the alternate screen and back.
const OTHER_SCREEN: &str = "\u{1b}[?1049h";
const FIRST_SCREEN: &str = "\u{1b}[?1049l";

#[test]
fn a_key_ends_it_and_the_terminal_is_given_back() {
    let Some(scene) = on_a_device() else { return };
    let Some(mut terminal) = Terminal::watch(&scene) else { return };
    assert!(terminal.read_until(Some("layer")).contains(OTHER_SCREEN));
    terminal.script.stdin.as_mut().unwrap().write_all(b"sq").unwrap();
    let drawn = terminal.read_until(None);
    let after = drawn.split_once(FIRST_SCREEN).unwrap().1;
    assert!(after.contains(" was busy for ") && after.contains("Verdict on measuring here: "), "{after}");
    assert!(terminal.script.wait().unwrap().success());
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_given_back() {
    let Some(scene) = on_a_device() else { return };
    let Some(mut terminal) = Terminal::watch(&scene) else { return };
    let drawn = terminal.read_until(Some(OTHER_SCREEN));
    let pid = drawn.split_once("PID=").unwrap().1.split('.').next().unwrap();
    signal_process(pid.parse().unwrap(), Signal::TERM);
    assert!(terminal.read_until(None).contains(FIRST_SCREEN));
    assert!(terminal.script.wait().unwrap().success());
}

#[test]
fn machines_get_one_document_of_one_interval() {
    let Some(scene) = on_a_device() else { return };
    let frame = scene.run("watch . --interval 200ms --format json").status(0).json();
    let device = device_of(&scene.path(".")).unwrap();
    assert_eq!(frame["layers"][0]["name"], device.name);
    let activity = &frame["layers"][0]["activity"];
    assert!(activity["writes_per_s"].is_number() && activity["busy"].as_f64().unwrap() <= 1.0, "{activity}");
    assert_eq!(frame["verdict"]["about"], "device");
    assert!(frame["users"].is_array() && frame["stalls"].is_object(), "{frame}");
}

#[test]
fn a_run_is_watched_by_the_recording_that_it_writes() {
    if on_a_device().is_none() {
        return;
    }
    let scene = Scene::short();
    let running = scene.start("run short.toml --out rec --set plan.phase=60s --set plan.baseline=300ms");
    wait_for_event(&scene.path("rec"), "\"phase\":\"w1\"");
    let run = &scene.run("watch rec --interval 200ms --format json").status(0).json()["run"];
    assert_eq!(
        (&run["experiment"], &run["status"], &run["phase"]["id"]),
        (&"short".into(), &Value::Null, &"w1".into())
    );
    assert!((60.0..=120.0).contains(&run["left_s"].as_f64().unwrap()), "{run}");
    let workloads = run["workloads"].as_array().unwrap();
    assert_eq!(workloads.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), ["primary", "writer"]);
    assert!(workloads.iter().all(|one| one["rates"].as_array().is_some_and(|rates| !rates.is_empty())), "{run}");
    let words = ["short: w1 (writer.iodepth = 1)", "s left in it", "primary", "writer", "device and its layers"];
    scene.run("watch rec --interval 200ms").status(0).out_has(&words);
    running.signal(Signal::INT);
    running.end();
    let ended = &scene.run("watch rec --interval 200ms --format json").status(0).json()["run"];
    assert_eq!((&ended["status"], &ended["left_s"]), (&"interrupted".into(), &0.0.into()));
}

#[test]
fn what_cannot_be_watched_is_reported() {
    let scene = Scene::new();
    scene.run("watch nowhere").status(2).err_has(&["nowhere is not a directory"]);
    scene.run("watch /proc").status(2).err_has(&["there is no block device under /proc", "doctor"]);
    scene.run("watch . --interval 1ms").status(2).err_has(&["shorter than 100ms"]);
    scene.run("watch --help").status(0).out_has(&["manometer watch /mnt/nvme", "q quits"]);
}
