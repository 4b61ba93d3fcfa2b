//! The worker's protocol, typed by hand.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use manometer_testing::binary;
use serde_json::{Value, json};

use crate::support::Scene;

/// A worker and its lines.
struct Worker {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Worker {
    fn start(first_line: &str) -> Self {
        let mut child = Command::new(binary("manometer"))
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut worker = Self { child, stdin, lines };
        worker.send(first_line);
        worker
    }

    fn job(scene: &Scene, kind: &str, settings: Value) -> Self {
        let job = json!({
            "name": "one", "directory": scene.path("data"), "interval_ms": 50, "seed": 1,
            "kind": kind, "settings": settings,
        });
        Self::start(&job.to_string())
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next message of the kind `wanted`.
    #[track_caller]
    fn receive(&mut self, wanted: &str) -> Value {
        loop {
            let line = self.lines.next().unwrap_or_else(|| panic!("the worker ended without `{wanted}`")).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["message"] == wanted {
                return message;
            }
            assert_ne!(message["message"], "error", "{message}");
        }
    }

    fn status(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }
}

#[test]
fn an_io_worker_obeys_its_control_lines() {
    let scene = Scene::new();
    let mut worker = Worker::job(&scene, "io", json!({ "file_size": "1MiB", "write_ratio": 0.5 }));
    let facts = worker.receive("ready")["facts"].clone();
    assert!(["io_uring", "libaio", "posix"].contains(&facts["io_engine"].as_str().unwrap()), "{facts}");
    worker.send("go");
    let busy = |sample: &Value| sample["operations"]["read"]["requests"].as_u64().unwrap_or(0) > 0;
    while !busy(&worker.receive("sample")) {}
    worker.send("set iodepth=1 write_ratio=1");
    assert_eq!(worker.receive("setting")["settings"], json!({ "iodepth": 1, "write_ratio": 1.0 }));
    worker.send("set iodepht=2");
    assert!(worker.receive("refused")["reason"].as_str().unwrap().contains("iodepth"));
    worker.send("dance");
    assert_eq!(worker.receive("refused")["line"], "dance");
    worker.send("wait");
    while busy(&worker.receive("sample")) {}
    worker.send("stop");
    worker.receive("done");
    assert_eq!(worker.status(), Some(0));
}

#[test]
fn a_kv_worker_obeys_its_control_lines() {
    let scene = Scene::new();
    let mut worker = Worker::job(&scene, "kv", json!({ "engine": "null", "workload": "ycsb-a", "records": 100 }));
    assert_eq!(worker.receive("ready")["facts"]["engine"], "null");
    worker.send("go");
    while worker.receive("sample")["operations"]["update"]["requests"].as_u64().unwrap_or(0) == 0 {}
    worker.send("stop");
    worker.receive("done");
    assert_eq!(worker.status(), Some(0));
}

#[test]
fn the_end_of_standard_input_is_stop() {
    let scene = Scene::new();
    let mut worker = Worker::job(&scene, "io", json!({ "file_size": "1MiB" }));
    worker.receive("ready");
    worker.send("go");
    assert_eq!(worker.status(), Some(0));
}

#[test]
fn a_job_that_makes_no_sense_is_an_error() {
    for job in ["", "hello", "{}", "{\"name\":\"one\",\"kind\":\"dance\"}"] {
        let mut worker = Worker::start(job);
        let line = worker.lines.next().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["message"], "error", "{job}: {line}");
        assert_eq!(worker.status(), Some(1));
    }
}

#[test]
fn a_worker_that_removes_its_data_waits_for_the_word() {
    let scene = Scene::new();
    scene.write("trace.txt", "read,a,0,10\nread,b,1,10\n");
    let trace = scene.path("trace.txt");
    let settings = json!({ "engine": "rocksdb", "trace": trace, "load": true });
    let job = json!({
        "name": "one", "directory": scene.path("data"), "interval_ms": 50, "seed": 1, "removes": true,
        "kind": "replay", "settings": settings,
    });
    let mut worker = Worker::start(&job.to_string());
    worker.receive("ready");
    worker.send("go");
    worker.receive("replayed");
    assert!(scene.path("data/one").exists());
    worker.send("stop");
    worker.receive("done");
    assert!(!scene.path("data/one").exists());
    assert_eq!(worker.status(), Some(0));
}
