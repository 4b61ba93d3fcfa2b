//! Tests of replays on real engines.

use std::path::PathBuf;
use std::sync::mpsc::channel;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, MonotonicClock, ReplayOutcome};
use manometer_session::control::Controls;
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_session::worker_loop;
use manometer_target::engine::EngineError;
use manometer_testing::{Cause, scratch_directory, skip};
use manometer_workload::interface::ClientShare;
use manometer_workload::replay::{MissAction, ReplayError, ReplayModel, ReplaySettings, START, Timing, TraceFile};
use manometer_workload::sample::Sample;
use manometer_workload::settings::WorkloadSettings;

use crate::support::kind_error;

/// The messages and the result of a replay.
#[derive(Debug, Default)]
struct ReplayOutput {
    facts: Settings,
    samples: Vec<Sample>,
    notes: Vec<String>,
    replayed: Option<ReplayOutcome>,
}

impl ReplayOutput {
    fn requests(&self, operation: &str) -> u64 {
        self.samples.iter().filter_map(|sample| sample.operations.get(operation)).map(|one| one.requests).sum()
    }

    fn missing(&self, operation: &str) -> u64 {
        self.samples.iter().filter_map(|sample| sample.operations.get(operation)).map(|one| one.missing).sum()
    }

    fn replayed(&self) -> &ReplayOutcome {
        self.replayed.as_ref().unwrap()
    }
}

/// A directory with the trace `text`, and settings that replay it on `engine`.
fn scene(text: &str, engine: &str) -> (tempfile::TempDir, ReplaySettings) {
    let dir = tempfile::tempdir_in(scratch_directory()).unwrap();
    let trace = dir.path().join("trace.txt");
    std::fs::write(&trace, text).unwrap();
    let file = TraceFile { trace, ..TraceFile::default() };
    (dir, ReplaySettings { engine: engine.to_owned(), file, ..ReplaySettings::default() })
}

fn job(directory: PathBuf, settings: &ReplaySettings) -> Job {
    Job {
        name: "replay".to_owned(),
        directory,
        existing: DatabaseReuse::Remake,
        interval_ms: 100,
        seed: 1,
        removes: false,
        waits: false,
        clients: None,
        share: None,
        workload: WorkloadSettings::Replay(settings.clone()),
    }
}

/// Replays the trace to its end, with `lines` sent before.
fn run_with(
    dir: &tempfile::TempDir,
    settings: &ReplaySettings,
    lines: &[Control],
) -> Result<ReplayOutput, ReplayError> {
    let (controls, controlled) = channel();
    lines.iter().for_each(|line| controls.send(line.clone()).unwrap());
    let mut output = ReplayOutput::default();
    let mut sink = |message| {
        match message {
            Message::Ready { facts } => output.facts = facts,
            Message::Sample(sample) => output.samples.push(sample),
            Message::Note { text, .. } | Message::Refused { reason: text, .. } => output.notes.push(text),
            Message::Replayed { replayed, .. } => output.replayed = Some(*replayed),
            _ => {}
        }
        Ok(())
    };
    let controls_in = Controls::new(controlled);
    let ended = worker_loop::run(&job(dir.path().join("data"), settings), &controls_in, &mut sink, &MonotonicClock);
    ended.map_err(kind_error::<ReplayError>)?;
    drop(controls);
    Ok(output)
}

fn run_whole(dir: &tempfile::TempDir, settings: &ReplaySettings) -> ReplayOutput {
    run_with(dir, settings, &[Control::Go]).unwrap()
}

/// `requests` reads by some clients, one every `gap_us`, in Twitter's format.
fn clients(requests: u64) -> String {
    let line = |number: u64| format!("{},key{},8,100,{},get,0\n", number / 1_000, number % 50, number % 70);
    (0..requests).map(line).collect()
}

#[test]
fn an_open_replay_sends_every_request_at_its_time() {
    let text: String =
        (0..200).map(|number| format!("read,{},{}.{},10\n", number % 9, number / 10, number % 10)).collect();
    let (dir, settings) = scene(&text, "null");
    let output = run_whole(&dir, &settings);
    let replayed = output.replayed();
    assert_eq!((replayed.requests, replayed.sent, replayed.errors, replayed.order_violations), (200, 200, 0, 0));
    let kept = replayed.dispatch.as_ref().unwrap();
    assert_eq!((kept.error.len(), kept.due.last_ns), (200, 19_900_000));
    assert!(kept.sent.last_ns >= kept.due.last_ns && replayed.length_ns >= kept.due.last_ns);
    assert_eq!(output.requests("read"), 200);
    assert!(output.facts.contains_key("scheduling") && output.facts.contains_key("margin_us"));
}

#[test]
fn full_speed_has_no_schedule() {
    let (dir, settings) = scene(&clients(5_000), "null");
    for (model, threads) in [(ReplayModel::ClosedConservative, None), (ReplayModel::ClosedUnordered, Some(3))] {
        let settings = ReplaySettings { model, threads, time: Timing::Full, ..settings.clone() };
        let output = run_whole(&dir, &settings);
        assert_eq!((output.replayed().sent, output.replayed().dispatch.is_none()), (5_000, true), "{model:?}");
        assert_eq!(output.requests("read"), 5_000);
        assert!(!output.facts.contains_key("margin_us"));
    }
}

#[test]
fn a_look_aside_cache_is_filled_after_misses() {
    let (dir, settings) = scene("read,a,1,30\nread,b,2,40\nread,a,3,30\ndelete,a,4,\nread,a,5,30\n", "map");
    let settings = ReplaySettings { on_miss: MissAction::Put, threads: Some(1), ..settings };
    let output = run_whole(&dir, &settings);
    assert_eq!((output.requests("read"), output.missing("read"), output.requests("fill")), (4, 3, 3));
    assert_eq!((output.requests("delete"), output.replayed().errors), (1, 0));
}

#[test]
fn what_the_trace_needs_is_loaded() {
    let text = "read,a,1,30\nread,b,2,40\ninsert,c,3,10\nread,c,4,10\nupdate,d,5,20\n";
    let (dir, settings) = scene(text, "map");
    let settings = ReplaySettings { load: true, threads: Some(1), ..settings };
    let output = run_whole(&dir, &settings);
    assert_eq!((output.requests("read"), output.missing("read")), (3, 0));
    assert_eq!(output.facts["records"], 3);
    assert_eq!(output.replayed().errors, 0);
    let without = ReplaySettings { load: false, ..settings };
    assert_eq!(run_whole(&dir, &without).missing("read"), 2);
}

#[test]
fn a_trace_that_ends_early_and_a_cut_replay_are_distinguished() {
    let (dir, settings) = scene("read,a,0,\nread,b,3600000,\n", "null");
    let output = run_with(&dir, &settings, &[Control::Go, Control::Stop]).unwrap();
    assert!(output.replayed().interrupted && output.replayed().dropped() == 0);
    let (dir, settings) = scene("read,a,0,\nread,b,1,\n", "null");
    let output = run_whole(&dir, &settings);
    assert!(!output.replayed().interrupted);
}

/// More requests of one client than a lane holds; the later ones are not due within this test.
fn one_client(requests: u64) -> String {
    (0..requests).map(|number| format!("{},{number},8,10,1,get,0\n", number / 1_000 * 3_600)).collect()
}

#[test]
fn threads_without_requests_do_not_hold_up_the_end() {
    let (dir, settings) = scene(&one_client(100_000), "null");
    let settings = ReplaySettings { model: ReplayModel::ClosedPerClient, threads: Some(16), ..settings };
    let output = run_with(&dir, &settings, &[Control::Go, Control::Stop]).unwrap();
    assert!(output.replayed().interrupted && output.replayed().sent <= 1_000);
}

#[test]
fn only_the_start_can_be_set_and_only_before_it() {
    let (dir, settings) = scene("read,a,0,\nread,b,1,\n", "null");
    let set = |name: &str, value: u64| Control::Set([(name.to_owned(), value.into())].into_iter().collect());
    let start_ns = MonotonicClock.now_ns();
    let output = run_with(&dir, &settings, &[set("factor", 2), set(START, start_ns), Control::Go]).unwrap();
    assert!(output.notes[0].contains("only `start_ns`"), "{:?}", output.notes);
    let kept = output.replayed().dispatch.as_ref().unwrap();
    assert!(kept.late > 0, "a start that has passed makes requests late, and they are sent at once");
    assert_eq!(output.replayed().sent, 2);
}

#[test]
fn at_full_speed_no_request_is_sent_before_the_start() {
    let (dir, settings) = scene("read,a,0,\nread,b,1,\n", "null");
    let settings = ReplaySettings { model: ReplayModel::ClosedConservative, time: Timing::Full, ..settings };
    // A start time that never comes: every request waits until the stop.
    let never = Control::Set([(START.to_owned(), u64::MAX.into())].into_iter().collect());
    let output = run_with(&dir, &settings, &[never, Control::Go, Control::Stop]).unwrap();
    let replayed = output.replayed();
    assert_eq!((replayed.sent, replayed.interrupted), (0, true));
    let start_ns = MonotonicClock.now_ns() + 50_000_000;
    let set = Control::Set([(START.to_owned(), start_ns.into())].into_iter().collect());
    let output = run_with(&dir, &settings, &[set, Control::Go]).unwrap();
    assert_eq!(output.replayed().sent, 2);
    assert!(MonotonicClock.now_ns() >= start_ns);
}

#[test]
fn shares_make_the_whole() {
    let (dir, settings) = scene(&clients(1_000), "null");
    for model in [ReplayModel::Open, ReplayModel::ClosedPerClient] {
        let parts: Vec<u64> = (0..3)
            .map(|part| {
                let share = Some(ClientShare { part, of: 3 });
                let settings = ReplaySettings { model, share, ..settings.clone() };
                run_whole(&dir, &settings).replayed().sent
            })
            .collect();
        assert_eq!(parts.iter().sum::<u64>(), 1_000, "{model:?}: {parts:?}");
        assert!(parts.iter().all(|part| *part > 0), "{parts:?}");
    }
}

#[test]
fn a_database_on_disk_is_left_as_it_was_made() {
    if manometer_target::engine::find("redb").is_err() {
        skip(Cause::Engine, "this build has no redb");
        return;
    }
    let (dir, settings) = scene("read,a,1,30\ninsert,b,2,40\nread,b,3,40\n", "redb");
    let settings = ReplaySettings { load: true, model: ReplayModel::ClosedConservative, ..settings };
    match run_with(&dir, &settings, &[Control::Go]) {
        Ok(output) => assert_eq!((output.missing("read"), output.replayed().errors), (0, 0)),
        Err(ReplayError::Engine(EngineError::InMemoryFileSystem(_))) => {
            skip(Cause::BlockDevice, "the tests' directory lies in memory")
        }
        Err(error) => panic!("{error}"),
    }
}

/// The result of replaying `text` on redb, request after request; nothing where that cannot be.
fn on_redb(text: &str) -> Option<ReplayOutput> {
    if manometer_target::engine::find("redb").is_err() {
        skip(Cause::Engine, "this build has no redb");
        return None;
    }
    let (dir, settings) = scene(text, "redb");
    let settings = ReplaySettings { model: ReplayModel::ClosedConservative, time: Timing::Full, ..settings };
    match run_with(&dir, &settings, &[Control::Go]) {
        Ok(output) => Some(output),
        Err(ReplayError::Engine(EngineError::InMemoryFileSystem(_))) => {
            skip(Cause::BlockDevice, "the tests' directory lies in memory");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Bytes that `operation` transferred.
fn bytes_of(output: &ReplayOutput, operation: &str) -> u64 {
    output.samples.iter().filter_map(|sample| sample.operations.get(operation)).map(|one| one.bytes).sum()
}

/// Six records of 40 bytes under the keys `a` to `f`, and then `requests`.
fn with_records(requests: &str) -> String {
    let puts: String = ["a", "b", "c", "d", "e", "f"].map(|key| format!("{key},put,40,,\n")).concat();
    format!("key,op,value_size,scan_length,ttl\n{puts}{requests}")
}

#[test]
fn a_scan_reads_as_many_records_as_recorded_from_the_recorded_key_on() {
    const RECORD: u64 = 41;
    for (scan, records) in
        [("b,scan,,3,\n", 3), ("b,scan,,,\n", 1), ("d,scan,,9,\n", 3), ("b,scan,,0,\n", 0), ("g,scan,,2,\n", 0)]
    {
        let Some(output) = on_redb(&with_records(scan)) else { return };
        assert_eq!((bytes_of(&output, "scan"), output.replayed().errors), (records * RECORD, 0), "{scan}");
        assert_eq!(output.missing("scan"), u64::from(records == 0), "{scan}");
    }
}

#[test]
fn what_an_engine_does_not_take_is_counted_as_left_out() {
    let Some(output) = on_redb(&with_records("a,put,50,,300\nx,scan,,2,\n")) else { return };
    let sent = |what: &str| {
        let row = output.replayed().sent_as.iter().find(|row| row.what == what).unwrap();
        (row.as_recorded, row.otherwise, row.left_out)
    };
    assert_eq!((sent("keys"), sent("value sizes")), ((8, 0, 0), (7, 0, 0)));
    assert_eq!((sent("times to live"), sent("scan lengths")), ((0, 0, 1), (1, 0, 0)));
}
