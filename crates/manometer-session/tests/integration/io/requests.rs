//! Tests of single requests that are short, deferred or failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use manometer_measure::Clock as _;
use manometer_target::file::{IoOperation, Submission};

use manometer_workload::io::{IoError, IoSettings};

use super::device::{Answer, START_NS, drive, steady};

const EIO: i32 = 5;
const EAGAIN: i32 = 11;
const ENOSPC: i32 = 28;

fn sequential(write_ratio: f64) -> IoSettings {
    IoSettings { write_ratio, random_ratio: 0.0, ..IoSettings::default() }
}

/// Request number `which` ends with `result`, all others succeed.
fn odd_one(which: u32, result: i32) -> Answer {
    let count = AtomicU32::new(0);
    Arc::new(move |request: &Submission| {
        let odd = count.fetch_add(1, Ordering::SeqCst) == which;
        (1_000_000, if odd { result } else { request.length as i32 })
    })
}

#[test]
fn the_rest_of_a_short_request_is_sent_and_counted() {
    let run = drive(sequential(0.0), odd_one(2, 1100), &[(0, "go")], 1);
    run.result.as_ref().unwrap();
    let rest = run.log.requests[3];
    assert_eq!((rest.offset, rest.skip, rest.length), (2 * 4096 + 1024, 1024, 3072), "from the last whole sector");
    assert_eq!(run.log.requests[4].offset, 3 * 4096);
    let read = &run.samples()[0].operations["read"];
    assert_eq!(read.retries, 1);
    assert_eq!(read.bytes, read.requests * 4096, "a request in two pieces counts once");
}

#[test]
fn a_request_that_is_put_off_is_sent_again() {
    let run = drive(sequential(1.0), odd_one(0, -EAGAIN), &[(0, "go")], 1);
    run.result.as_ref().unwrap();
    assert_eq!(run.log.requests[0], run.log.requests[1]);
    assert_eq!(run.samples()[0].operations["write"].retries, 1);
}

#[test]
fn a_device_error_ends_the_run_with_its_name() {
    for (write_ratio, result, operation) in [(0.0, -EIO, "read"), (1.0, -ENOSPC, "write")] {
        let run = drive(sequential(write_ratio), odd_one(7, result), &[(0, "go")], 9);
        let error = run.result.unwrap_err();
        let text = error.to_string();
        let IoError::Request { operation: failed, offset, length, source, .. } = error else { panic!("{text}") };
        assert_eq!((failed, offset, length), (operation, 7 * 4096, 4096));
        assert_eq!(source.raw_os_error(), Some(-result));
        assert!(text.contains("/somewhere/0") && text.contains(&source.to_string()), "{text}");
    }
}

#[test]
fn a_request_that_never_gets_done_is_an_error() {
    let run = drive(sequential(0.0), Arc::new(|_| (1000, 0)), &[(0, "go")], 9);
    assert!(matches!(run.result, Err(IoError::Short { operation: "read", offset: 0, done: 0, .. })));
    let run = drive(sequential(0.0), Arc::new(|_| (1000, -EAGAIN)), &[(0, "go")], 9);
    assert!(matches!(run.result, Err(IoError::Request { .. })));
    assert!(run.clock.now_ns() > START_NS);
}

#[test]
fn writes_are_synced_as_often_as_set() {
    let settings = IoSettings { fdatasync_every: 10, files: 2, iodepth: 4, random_ratio: 1.0, ..sequential(1.0) };
    let run = drive(settings, steady(1_000_000), &[(0, "go")], 2);
    run.result.as_ref().unwrap();
    let second = run.samples()[1];
    let (writes, syncs) = (second.operations["write"].requests as f64, second.state["fdatasyncs"]);
    assert!((writes / syncs - 10.0).abs() < 0.1, "{writes} writes, {syncs} syncs");
    let synced: std::collections::BTreeSet<_> = run
        .log
        .requests
        .iter()
        .filter(|request| request.operation == IoOperation::Sync)
        .map(|sync| sync.file)
        .collect();
    assert_eq!(synced.into_iter().collect::<Vec<_>>(), [0, 1]);
}
