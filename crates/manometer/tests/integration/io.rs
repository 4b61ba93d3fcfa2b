//! `manometer io` through the real binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use manometer_testing::binary;
use serde_json::Value;

fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn io(dir: &Path, flags: &str) -> Command {
    let mut command = Command::new(binary("manometer"));
    command.current_dir(dir).args(["io", "--file", "probe", "--file-size", "1MiB"]);
    command.args(flags.split_whitespace());
    command
}

fn done(dir: &Path, flags: &str) -> Output {
    io(dir, flags).output().unwrap()
}

fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn machines_get_one_document_with_every_number() {
    let dir = on_disk();
    let flags = "--block-size 4KiB --write-ratio 0.5 --random-ratio 1 --iodepth 1 --direct --seconds 0.3 --format json";
    let result = document(&done(dir.path(), flags));
    for number in ["iops", "read_mib_per_s", "write_mib_per_s", "cpu_s_per_million", "requests", "seconds"] {
        assert!(result[number].as_f64().unwrap() > 0.0, "{number}: {result}");
    }
    for percentile in ["p50", "p90", "p99", "p999", "max"] {
        assert!(result["latency_us"]["read"][percentile].as_f64().unwrap() > 0.0, "{result}");
    }
    assert!(result["facts"]["io_engine"].is_string());
    assert!(!dir.path().join("probe").exists(), "the file we made is removed");
}

#[test]
fn what_was_not_measured_is_null() {
    let dir = on_disk();
    let result = document(&done(dir.path(), "--direct --seconds 0.1 --format json"));
    assert_eq!(result["latency_us"]["write"]["p99"], Value::Null);
    assert_eq!(result["write_mib_per_s"], 0.0);
}

#[test]
fn people_get_lines_and_a_table() {
    let dir = on_disk();
    let output = done(dir.path(), "--seconds 0.2 --interval 20ms --script 30ms:iodepth=1");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["IOPS", "MiB/s", "p999", "CPU seconds per million", "now iodepth = 1"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn a_wrong_request_has_status_two_and_says_what_is_right() {
    let dir = on_disk();
    for (flags, wanted) in [
        ("--iodepth 2 --io-engine posix", "one request in flight"),
        ("--iodepth 5000", "1 to 1024"),
        ("--block-size 1000", "multiple"),
        ("--block-size big", "4KiB"),
        ("--write-ratio 2", "0 to 1"),
        ("--script 1s:iodept=2", "`iodepth`"),
        ("--seconds 0", "above 0"),
        ("--io-engine magic", "io_uring"),
        ("--direct --no-direct", "--no-direct"),
    ] {
        let output = done(dir.path(), flags);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags}: {text}");
        assert!(text.contains(wanted), "{flags}: {text}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_file_of_others_survives() {
    let dir = on_disk();
    let path = dir.path().join("probe");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    assert_eq!(done(dir.path(), "--write-ratio 1 --seconds 0.1").status.code(), Some(2));
    document(&done(dir.path(), "--seconds 0.1 --format json"));
    assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 7));
    document(&done(dir.path(), "--write-ratio 1 --overwrite --seconds 0.3 --format json"));
    assert!(path.exists() && std::fs::read(&path).unwrap().iter().any(|byte| *byte != 7));
}

#[test]
fn a_kept_file_is_used_again_for_writing() {
    let dir = on_disk();
    document(&done(dir.path(), "--seconds 0.05 --keep --format json"));
    let again = document(&done(dir.path(), "--no-direct --dsync --write-ratio 1 --seconds 0.05 --format json"));
    assert_eq!(again["facts"]["made"], serde_json::json!([]));
    assert_eq!(again["settings"]["direct"], false);
    assert_eq!(again["settings"]["dsync"], true);
    assert!(dir.path().join("probe").exists());
}

#[test]
fn ctrl_c_tells_the_result_so_far() {
    let dir = on_disk();
    let mut child = io(dir.path(), "--seconds 600 --interval 10ms").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let sampled = lines.by_ref().find(|line| line.as_ref().unwrap().contains("IOPS"));
    assert!(sampled.is_some());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(rest.last().unwrap().contains("interrupted"), "{rest:?}");
    assert!(!dir.path().join("probe").exists());
}
