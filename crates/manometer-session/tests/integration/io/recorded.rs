//! Tests of recorded block traces.

use manometer_measure::{ByteSize, LatencyHistogram, ReplayOutcome};
use manometer_target::file::IoOperation;

use manometer_session::control::Controls;
use manometer_session::protocol::{Control, Message};
use manometer_workload::io::{BlockReplaySettings, FileReuse, IoError, IoJob, IoSettings, validate};
use manometer_workload::replay::{ReplayModel, Timing};

use super::device::{RunResult, SECOND_NS, drive, steady};
use super::run_job;

/// The trace `text` in blkreplay's format, with times in seconds.
fn trace(text: &str) -> (tempfile::TempDir, IoSettings) {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("trace.load");
    std::fs::write(
        &path,
        format!("Copyright nobody\n\nstart ; sector; length ; op ;  replay_delay ; replay_duration\n{text}"),
    )
    .unwrap();
    let recorded = BlockReplaySettings { trace: Some(path), ..BlockReplaySettings::default() };
    (dir, IoSettings { file_size: ByteSize(1 << 20), iodepth: 4, replay: recorded, ..IoSettings::default() })
}

/// A request of 8 sectors each half second, every third of them a write.
fn halves(requests: u32) -> String {
    let line = |at: u32| {
        let op = if at % 3 == 2 { 'W' } else { 'R' };
        format!("{}.{}00000000 ; {} ; 8 ; {op} ; 0.0 ; 0.0\n", at / 2, 5 * (at % 2), at * 8)
    };
    (0..requests).map(line).collect()
}

fn replayed(run: &RunResult) -> &ReplayOutcome {
    let of = |message: &'_ Message| matches!(message, Message::Replayed { .. });
    match run.messages.iter().rfind(|message| of(message)) {
        Some(Message::Replayed { replayed, .. }) => replayed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_come_at_their_times_and_places_until_the_trace_ends() {
    let (_dir, settings) = trace(&halves(6));
    let run = drive(settings, steady(1_000_000), &[(1, "go")], 99);
    run.result.as_ref().unwrap();
    assert_eq!(run.requests("read").iter().sum::<u64>(), 4);
    assert_eq!(run.requests("write").iter().sum::<u64>(), 2);
    let places: Vec<u64> = run.log.requests.iter().map(|request| request.offset / 4096).collect();
    assert_eq!(places, [0, 1, 2, 3, 4, 5]);
    assert_eq!(run.log.requests[2].operation, IoOperation::Write);
    let replayed = replayed(&run);
    assert_eq!((replayed.requests, replayed.sent, replayed.interrupted, replayed.dropped()), (6, 6, false, 0));
    let kept = replayed.dispatch.as_ref().unwrap();
    assert_eq!((kept.late, kept.due.last_ns, kept.sent.last_ns), (0, 2_500_000_000, 2_500_000_000));
    let response = &run.samples()[1].operations["read"].response;
    assert!(LatencyHistogram::from_base64(response).unwrap().quantile_ns(0.5).unwrap().abs_diff(1_000_000) < 2_000);
}

#[test]
fn a_pause_stands_still_and_a_factor_hurries() {
    let (_dir, settings) = trace(&halves(9));
    let scaled = BlockReplaySettings { time: Some(Timing::Scaled), factor: Some(1.0), ..settings.replay.clone() };
    let settings = IoSettings { replay: scaled, ..settings };
    let lines = [(0, "go"), (1, "wait"), (3, "go"), (4, "set factor=4")];
    let run = drive(settings, steady(1_000_000), &lines, 99);
    run.result.as_ref().unwrap();
    // Control lines are handled within 10 ms of their second.
    let sums: Vec<u64> =
        (0..run.samples().len()).map(|at| run.requests("read")[at] + run.requests("write")[at]).collect();
    assert_eq!(sums[1..3], [0, 0], "it was paused: {sums:?}");
    assert_eq!(sums.iter().sum::<u64>(), 9);
    let kept = replayed(&run).dispatch.as_ref().unwrap();
    assert!(kept.due.last_ns < 4 * SECOND_NS && kept.late == 0, "{}", kept.due.last_ns);
}

#[test]
fn a_device_that_falls_behind_makes_requests_late_and_loses_none() {
    let (_dir, settings) = trace(&"0.500000001 ; 0 ; 8 ; R ; 0.0 ; 0.0\n".repeat(10));
    let run = drive(settings, steady(100_000_000), &[(0, "go")], 99);
    run.result.as_ref().unwrap();
    let replayed = replayed(&run);
    assert_eq!((run.log.most_in_flight, replayed.sent), (4, 10));
    assert_eq!(replayed.dispatch.as_ref().unwrap().late, 6, "those that found no room");
}

#[test]
fn at_full_speed_the_flight_is_kept_full() {
    let (_dir, settings) = trace(&halves(100));
    for (model, iodepth) in [(ReplayModel::ClosedUnordered, 4), (ReplayModel::ClosedConservative, 1)] {
        let recorded = BlockReplaySettings { model: Some(model), time: Some(Timing::Full), ..settings.replay.clone() };
        let settings = IoSettings { iodepth, replay: recorded, ..settings.clone() };
        let run = drive(settings, steady(1_000_000), &[(0, "go")], 99);
        run.result.as_ref().unwrap();
        assert_eq!((run.log.most_in_flight, replayed(&run).sent), (iodepth as usize, 100));
        assert!(replayed(&run).dispatch.is_none());
    }
}

#[test]
fn a_stop_cuts_the_trace() {
    let (_dir, settings) = trace(&halves(100));
    let run = drive(settings, steady(1_000_000), &[(0, "go")], 3);
    run.result.as_ref().unwrap();
    assert!(replayed(&run).interrupted && replayed(&run).sent < 10);
}

#[test]
fn what_no_file_can_answer_is_refused() {
    let (dir, settings) = trace("");
    let path = dir.path().join("other.txt");
    let recorded = BlockReplaySettings { trace: Some(path.clone()), ..BlockReplaySettings::default() };
    let settings = IoSettings { replay: recorded, ..settings };
    for (text, wanted) in [("read,a,1,30\nread,b,2,40\n", "for keys"), ("", "empty")] {
        std::fs::write(&path, text).unwrap();
        let error = settings.writes().unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(error.setting(), "trace");
    }
    let gone = IoSettings {
        replay: BlockReplaySettings { trace: Some("nowhere".into()), ..BlockReplaySettings::default() },
        ..settings
    };
    assert!(matches!(validate(&gone, 4096), Err(IoError::Trace(_))));
}

#[test]
fn a_trace_is_replayed_on_a_file() {
    let lines: String =
        (0..200).map(|at| format!("0.{:09} ; {} ; 24 ; W ; 0.0 ; 0.0\n", at * 100_000, at * 999_999)).collect();
    let (dir, settings) = trace(&lines);
    let settings = IoSettings { direct: false, ..settings };
    assert!(settings.writes().unwrap());
    let job = IoJob::on_file(&dir.path().join("data"), FileReuse::Reuse, settings, 1);
    let (controls, receiver) = std::sync::mpsc::channel();
    controls.send(Control::Go).unwrap();
    let mut messages = Vec::new();
    let mut sink = |message| {
        messages.push(message);
        Ok(())
    };
    run_job(&job, &Controls::new(receiver), &mut sink).unwrap();
    let Some(Message::Replayed { replayed, .. }) = messages.last() else { panic!("{messages:?}") };
    assert_eq!((replayed.sent, replayed.interrupted), (200, false));
    let Some(Message::Ready { facts }) = messages.iter().find(|message| matches!(message, Message::Ready { .. }))
    else {
        panic!("{messages:?}")
    };
    assert!(facts["notes"][0].as_str().unwrap().contains("wrap around to its start"), "{facts:?}");
}
