//! Tests of sampling, control lines and pacing.

use manometer_measure::{LatencyHistogram, Rate};
use serde_json::json;

use manometer_session::control::Controls;
use manometer_session::error::SessionError;
use manometer_session::protocol::{Control, Message};
use manometer_session::worker_loop::with_session;
use manometer_workload::io::{self, FileReuse, IoJob, IoSettings};

use super::device::{SECOND_NS, START_NS, drive, steady};

fn depth(iodepth: u32) -> IoSettings {
    IoSettings { iodepth, ..IoSettings::default() }
}

fn setting_changes(messages: &[Message]) -> Vec<(u64, serde_json::Value)> {
    let changes = |message: &Message| match message {
        Message::Setting { t_ns, settings } => Some((*t_ns, json!(settings))),
        _ => None,
    };
    messages.iter().filter_map(changes).collect()
}

fn refusals(messages: &[Message]) -> Vec<(&str, &str)> {
    let mut refused = Vec::new();
    for message in messages {
        if let Message::Refused { line, reason } = message {
            refused.push((line.as_str(), reason.as_str()));
        }
    }
    refused
}

#[test]
fn the_set_number_of_requests_is_kept_in_flight() {
    for iodepth in [1, 4, 32] {
        let run = drive(depth(iodepth), steady(100_000), &[(0, "go")], 3);
        run.result.as_ref().unwrap();
        assert_eq!(run.log.most_in_flight, iodepth as usize);
        let per_second = 10_000 * u64::from(iodepth);
        assert!(run.requests("read")[1].abs_diff(per_second) <= u64::from(iodepth), "{:?}", run.requests("read"));
        assert!(run.requests("write").iter().all(|requests| *requests == 0));
        let latency = LatencyHistogram::from_base64(&run.samples()[1].operations["read"].latency).unwrap();
        assert!(latency.quantile_ns(0.5).unwrap().abs_diff(100_000) < 100);
    }
}

#[test]
fn samples_end_on_the_beat_and_the_last_is_cut_short() {
    let run = drive(depth(1), steady(300_000), &[(0, "go")], 3);
    let ends: Vec<_> = run.samples().iter().map(|sample| sample.t_ns).collect();
    assert_eq!(ends[..3], [42 * SECOND_NS, 43 * SECOND_NS, 44 * SECOND_NS]);
    assert_eq!(run.samples()[0].length_ns, 42 * SECOND_NS - START_NS);
    let total: u64 = run.samples().iter().map(|sample| sample.length_ns).sum();
    assert_eq!(total, ends.last().unwrap() - START_NS, "nothing is missing or counted twice");
}

#[test]
fn samples_come_without_requests_and_from_a_device_that_stalls() {
    let waiting = drive(depth(4), steady(1), &[], 3);
    assert!(waiting.log.requests.is_empty());
    let stalled = drive(depth(4), steady(u64::MAX), &[(0, "go")], 3);
    assert_eq!(stalled.log.requests.len(), 4);
    for run in [waiting, stalled] {
        run.result.as_ref().unwrap();
        assert_eq!(run.requests("read")[..3], [0, 0, 0]);
        assert!(run.samples()[..3].iter().all(|sample| sample.t_ns % SECOND_NS == 0));
        assert!(run.samples().iter().all(|sample| sample.operations["read"].latency.is_empty()));
    }
}

#[test]
fn a_stop_is_handled_while_the_device_stalls() {
    let run = drive(depth(4), steady(u64::MAX), &[(0, "go"), (1, "set iodepth=8"), (2, "stop")], 9);
    run.result.unwrap();
    assert!(setting_changes(&run.messages).is_empty(), "the change never came into force");
}

#[test]
fn requests_pause_and_go_on() {
    let run = drive(depth(2), steady(1_000_000), &[(0, "go"), (1, "wait"), (3, "go")], 5);
    let requests = run.requests("read");
    assert!(requests[1] <= 20 && requests[2] == 0 && requests[4] >= 1900, "{requests:?}");
}

#[test]
fn a_change_comes_into_force_when_the_flight_has_landed() {
    let lines = [(0, "go"), (1, "set iodepth=8 block_size=8KiB write_ratio=1")];
    let run = drive(depth(2), steady(1_000_000), &lines, 4);
    run.result.as_ref().unwrap();
    let changes = setting_changes(&run.messages);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].1, json!({ "iodepth": 8, "block_size": "8KiB", "write_ratio": 1.0 }));
    assert_eq!(run.log.opened.len(), 2);
    let samples = run.samples();
    assert_eq!(samples[3].operations["read"].requests, 0);
    let written = &samples[3].operations["write"];
    assert_eq!(written.bytes, written.requests * 8192);
    assert!(written.requests >= 7900, "{}", written.requests);
}

#[test]
fn ratios_change_without_a_landing() {
    let run = drive(depth(2), steady(1_000_000), &[(0, "go"), (1, "set write_ratio=1")], 3);
    assert_eq!(setting_changes(&run.messages)[0].1, json!({ "write_ratio": 1.0 }));
    assert_eq!(run.log.opened.len(), 1);
    assert!(run.requests("write")[2] > 1900);
}

#[test]
fn what_is_refused_leaves_everything_as_it_was() {
    let lines = [
        (0, "go"),
        (1, "set iodepth=8 write_ratio=2"),
        (1, "set file_size=2GiB"),
        (1, "set iodept=4"),
        (1, "set iodepth=13"),
        (1, "set script=5s:iodepht=1"),
    ];
    let run = drive(depth(2), steady(1_000_000), &lines, 4);
    run.result.as_ref().unwrap();
    let refused = refusals(&run.messages);
    let wanted = ["0 to 1", "start", "`iodepth`", "direct=false", "iodepth"];
    assert_eq!(refused.len(), wanted.len(), "{refused:?}");
    for ((line, reason), (typed, wanted)) in refused.iter().zip(lines[1..].iter().map(|(_, line)| line).zip(wanted)) {
        assert_eq!(line.split_whitespace().count(), typed.split_whitespace().count());
        assert!(reason.contains(wanted), "{line}: {reason}");
    }
    assert!(setting_changes(&run.messages).is_empty());
    assert_eq!(run.log.opened.len(), 1);
    assert_eq!(run.log.most_in_flight, 2);
    assert!(run.requests("read")[3] >= 1990);
}

#[test]
fn the_timetable_counts_from_the_first_go() {
    let script = Some("1500ms: iodepth = 4; 3s: write_ratio = 1; 3s: random_ratio = 0".to_owned());
    let settings = IoSettings { script, ..depth(1) };
    let run = drive(settings, steady(1_000_000), &[(2, "go"), (3, "wait"), (4, "go")], 8);
    run.result.as_ref().unwrap();
    let changes = setting_changes(&run.messages);
    let went_ns = 43 * SECOND_NS;
    assert_eq!(changes.len(), 2);
    let late_ns = [changes[0].0 - went_ns - 1_500_000_000, changes[1].0 - went_ns - 3 * SECOND_NS];
    assert!(late_ns.iter().all(|late_ns| *late_ns <= 20_000_000), "{late_ns:?}");
    assert_eq!(changes[0].1, json!({ "iodepth": 4 }));
    assert_eq!(changes[1].1, json!({ "write_ratio": 1.0, "random_ratio": 0.0 }));
}

#[test]
fn a_new_timetable_replaces_the_old_one() {
    let settings = IoSettings { script: Some("3s: iodepth = 64".to_owned()), ..depth(1) };
    let run = drive(settings, steady(1_000_000), &[(0, "go"), (1, "set script=1s:iodepth=2;1500ms:iodepth=3")], 6);
    let changes = setting_changes(&run.messages);
    assert_eq!(changes.len(), 3, "{changes:?}");
    assert_eq!(changes[2].1, json!({ "iodepth": 3 }));
}

#[test]
fn a_rate_is_kept() {
    let rated = |rate| IoSettings { rate: Some(rate), ..depth(8) };
    let run = drive(rated(Rate::Requests(500.0)), steady(100_000), &[(0, "go")], 4);
    assert!(
        run.requests("read")[1..4].iter().all(|requests| requests.abs_diff(500) <= 1),
        "{:?}",
        run.requests("read")
    );
    let lines = [(0, "go"), (1, "set rate=null"), (2, "set rate=400KiB/s")];
    let run = drive(rated(Rate::Bytes(4 << 20)), steady(1_000_000), &lines, 4);
    let requests = run.requests("read");
    assert!(requests[1] > 7000 && requests[3].abs_diff(100) <= 1, "{requests:?}");
}

#[test]
fn a_session_ends_when_nobody_receives_its_messages() {
    let clock = manometer_measure::MonotonicClock;
    let (controls, receiver) = std::sync::mpsc::channel();
    controls.send(Control::Go).unwrap();
    let mut deaf = |_| Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let settings = IoSettings { file_size: manometer_measure::ByteSize(1 << 20), direct: false, ..depth(1) };
    let job = IoJob::on_file(&dir.path().join("file"), FileReuse::Reuse, settings, 1);
    let result =
        with_session(1_000_000, &Controls::new(receiver), &mut deaf, &clock, |session| io::run(&job, session, &clock));
    assert!(matches!(result, Err(SessionError::Disconnected(_))));
}
