use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::channel;

use manometer_measure::{Column, MonotonicClock};
use manometer_target::engine::{EngineError, Session, SortedRecords, State, Visit};

use super::*;
use crate::protocol::{Control, Existing, Sample};
use crate::replay::{OnMiss, Share, TraceFile};
use crate::settings::WorkloadSettings;

/// What a replay told, up to its end.
#[derive(Debug, Default)]
struct Said {
    facts: Settings,
    samples: Vec<Sample>,
    notes: Vec<String>,
    replayed: Option<Replayed>,
}

impl Said {
    fn requests(&self, operation: &str) -> u64 {
        self.samples.iter().filter_map(|sample| sample.operations.get(operation)).map(|one| one.requests).sum()
    }

    fn missing(&self, operation: &str) -> u64 {
        self.samples.iter().filter_map(|sample| sample.operations.get(operation)).map(|one| one.missing).sum()
    }

    fn replayed(&self) -> &Replayed {
        self.replayed.as_ref().unwrap()
    }
}

/// A trace of `text`, and the settings that replay it on `engine`.
fn scene(text: &str, engine: &str) -> (tempfile::TempDir, ReplaySettings) {
    let dir =
        tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR").to_owned() + "/../../target").or_else(|_| tempfile::tempdir());
    let dir = dir.unwrap();
    let trace = dir.path().join("trace.txt");
    std::fs::write(&trace, text).unwrap();
    let file = TraceFile { trace, ..TraceFile::default() };
    (dir, ReplaySettings { engine: engine.to_owned(), file, ..ReplaySettings::default() })
}

fn job(directory: PathBuf, settings: &ReplaySettings) -> Job {
    Job {
        name: "replay".to_owned(),
        directory,
        existing: Existing::Remake,
        interval_ms: 100,
        seed: 1,
        removes: false,
        workload: WorkloadSettings::Replay(settings.clone()),
    }
}

/// Replays to the trace's end, with `lines` told beforehand.
fn run_with(dir: &tempfile::TempDir, settings: &ReplaySettings, lines: &[Control]) -> Result<Said, ReplayError> {
    let (controls, controlled) = channel();
    lines.iter().for_each(|line| controls.send(line.clone()).unwrap());
    let mut said = Said::default();
    let mut sink = |message| {
        match message {
            Message::Ready { facts } => said.facts = facts,
            Message::Sample(sample) => said.samples.push(sample),
            Message::Note { text, .. } | Message::Refused { reason: text, .. } => said.notes.push(text),
            Message::Replayed { replayed, .. } => said.replayed = Some(*replayed),
            _ => {}
        }
        Ok(())
    };
    let controls_in = Controls::new(controlled);
    run(&job(dir.path().join("data"), settings), settings, &controls_in, &mut sink, &MonotonicClock)?;
    drop(controls);
    Ok(said)
}

fn run_whole(dir: &tempfile::TempDir, settings: &ReplaySettings) -> Said {
    run_with(dir, settings, &[Control::Go]).unwrap()
}

/// `requests` reads of some keys by some clients, as Twitter's traces are written, one each `gap_us`.
fn clients(requests: u64) -> String {
    let line = |number: u64| format!("{},key{},8,100,{},get,0\n", number / 1_000, number % 50, number % 70);
    (0..requests).map(line).collect()
}

#[test]
fn an_open_replay_sends_every_request_at_its_time() {
    let text: String =
        (0..200).map(|number| format!("read,{},{}.{},10\n", number % 9, number / 10, number % 10)).collect();
    let (dir, settings) = scene(&text, "null");
    let said = run_whole(&dir, &settings);
    let replayed = said.replayed();
    assert_eq!((replayed.requests, replayed.sent, replayed.errors, replayed.order_violations), (200, 200, 0, 0));
    let kept = replayed.dispatch.as_ref().unwrap();
    assert_eq!((kept.error.len(), kept.due.last_ns), (200, 19_900_000));
    assert!(kept.sent.last_ns >= kept.due.last_ns && replayed.length_ns >= kept.due.last_ns);
    assert_eq!(said.requests("read"), 200);
    assert!(said.facts.contains_key("scheduling") && said.facts.contains_key("margin_us"));
}

#[test]
fn full_speed_has_no_schedule() {
    let (dir, settings) = scene(&clients(5_000), "null");
    for (model, threads) in [(Model::ClosedConservative, None), (Model::ClosedUnordered, Some(3))] {
        let settings = ReplaySettings { model, threads, time: Timing::Full, ..settings.clone() };
        let said = run_whole(&dir, &settings);
        assert_eq!((said.replayed().sent, said.replayed().dispatch.is_none()), (5_000, true), "{model:?}");
        assert_eq!(said.requests("read"), 5_000);
        assert!(!said.facts.contains_key("margin_us"));
    }
}

#[test]
fn a_look_aside_cache_is_filled_after_misses() {
    let (dir, settings) = scene("read,a,1,30\nread,b,2,40\nread,a,3,30\ndelete,a,4,\nread,a,5,30\n", "map");
    let settings = ReplaySettings { on_miss: OnMiss::Put, threads: Some(1), ..settings };
    let said = run_whole(&dir, &settings);
    assert_eq!((said.requests("read"), said.missing("read"), said.requests("fill")), (4, 3, 3));
    assert_eq!((said.requests("delete"), said.replayed().errors), (1, 0));
}

#[test]
fn what_the_trace_needs_is_loaded() {
    let text = "read,a,1,30\nread,b,2,40\ninsert,c,3,10\nread,c,4,10\nupdate,d,5,20\n";
    let (dir, settings) = scene(text, "map");
    let settings = ReplaySettings { load: true, threads: Some(1), ..settings };
    let said = run_whole(&dir, &settings);
    assert_eq!((said.requests("read"), said.missing("read")), (3, 0));
    assert_eq!(said.facts["records"], 3);
    assert_eq!(said.replayed().errors, 0);
    let without = ReplaySettings { load: false, ..settings };
    assert_eq!(run_whole(&dir, &without).missing("read"), 2);
}

#[test]
fn a_trace_that_ends_early_and_one_that_is_cut_are_told_apart() {
    let (dir, settings) = scene("read,a,0,\nread,b,3600000,\n", "null");
    let said = run_with(&dir, &settings, &[Control::Go, Control::Stop]).unwrap();
    assert!(said.replayed().cut && said.replayed().dropped() == 0);
    let (dir, settings) = scene("read,a,0,\nread,b,1,\n", "null");
    let said = run_whole(&dir, &settings);
    assert!(!said.replayed().cut);
}

/// As many requests of one client as no lane holds, the later ones not due within this test.
fn one_client(requests: u64) -> String {
    (0..requests).map(|number| format!("{},{number},8,10,1,get,0\n", number / 1_000 * 3_600)).collect()
}

#[test]
fn threads_without_requests_do_not_hold_up_the_end() {
    let (dir, settings) = scene(&one_client(100_000), "null");
    let settings = ReplaySettings { model: Model::ClosedPerClient, threads: Some(16), ..settings };
    let said = run_with(&dir, &settings, &[Control::Go, Control::Stop]).unwrap();
    assert!(said.replayed().cut && said.replayed().sent <= 1_000);
}

#[test]
fn a_thread_that_panics_ends_the_replay_of_the_others() {
    let (dir, settings) = scene(&one_client(100_000), "null");
    let settings = ReplaySettings { model: Model::ClosedPerClient, threads: Some(16), ..settings };
    // The engine that checks knows none of the keys, and panics.
    let engine = Checking { owners: Mutex::default(), owner_of: HashMap::new(), violations: AtomicU32::new(0) };
    let plan = ReplayPlan::new(&settings).unwrap();
    let (controls, controlled) = channel();
    controls.send(Control::Go).unwrap();
    let controls_in = Controls::new(controlled);
    let mut sink = |_| Ok(());
    let mut watch = Watch::new(&controls_in, &mut sink);
    let job = job(dir.path().join("data"), &settings);
    let ended = replay(&plan, &job, &engine, &MonotonicClock, &mut watch, false);
    assert!(matches!(ended, Err(ReplayError::Panicked)), "{ended:?}");
}

#[test]
fn only_the_start_can_be_set_and_only_before_it() {
    let (dir, settings) = scene("read,a,0,\nread,b,1,\n", "null");
    let set = |name: &str, value: u64| Control::Set([(name.to_owned(), value.into())].into_iter().collect());
    let start_ns = MonotonicClock.now_ns();
    let said = run_with(&dir, &settings, &[set("factor", 2), set("start_ns", start_ns), Control::Go]).unwrap();
    assert!(said.notes[0].contains("only `start_ns`"), "{:?}", said.notes);
    let kept = said.replayed().dispatch.as_ref().unwrap();
    assert!(kept.late > 0, "a start that has passed makes requests late, and they are sent at once");
    assert_eq!(said.replayed().sent, 2);
}

#[test]
fn at_full_speed_no_request_is_sent_before_the_start() {
    let (dir, settings) = scene("read,a,0,\nread,b,1,\n", "null");
    let settings = ReplaySettings { model: Model::ClosedConservative, time: Timing::Full, ..settings };
    let plan = ReplayPlan::new(&settings).unwrap();
    let asked = Checking { owners: Mutex::default(), owner_of: HashMap::new(), violations: AtomicU32::new(0) };
    let (controls, controlled) = channel();
    // The end of time: all that could be sent is held until the stop.
    let start = Control::Set([("start_ns".to_owned(), u64::MAX.into())].into_iter().collect());
    [start, Control::Go, Control::Stop].into_iter().for_each(|line| controls.send(line).unwrap());
    let controls_in = Controls::new(controlled);
    let mut sink = |_| Ok(());
    let mut watch = Watch::new(&controls_in, &mut sink);
    let job = job(dir.path().join("data"), &settings);
    let replayed = replay(&plan, &job, &asked, &MonotonicClock, &mut watch, false).unwrap();
    assert_eq!((replayed.sent, replayed.cut), (0, true));
    let start_ns = MonotonicClock.now_ns() + 50_000_000;
    let set = Control::Set([("start_ns".to_owned(), start_ns.into())].into_iter().collect());
    let said = run_with(&dir, &settings, &[set, Control::Go]).unwrap();
    assert_eq!(said.replayed().sent, 2);
    assert!(MonotonicClock.now_ns() >= start_ns);
}

#[test]
fn shares_make_the_whole() {
    let (dir, settings) = scene(&clients(1_000), "null");
    for model in [Model::Open, Model::ClosedPerClient] {
        let parts: Vec<u64> = (0..3)
            .map(|part| {
                let share = Some(Share { part, of: 3 });
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
        println!("skipped: this build has no redb");
        return;
    }
    let (dir, settings) = scene("read,a,1,30\ninsert,b,2,40\nread,b,3,40\n", "redb");
    let settings = ReplaySettings { load: true, model: Model::ClosedConservative, ..settings };
    match run_with(&dir, &settings, &[Control::Go]) {
        Ok(said) => assert_eq!((said.missing("read"), said.replayed().errors), (0, 0)),
        Err(ReplayError::Engine(EngineError::Memory(_))) => println!("skipped: the folder lies in memory"),
        Err(error) => panic!("{error}"),
    }
}

/// An engine that checks the order of what it is asked, and takes its time.
struct Checking {
    /// Of each owner: how many of its requests are being answered, and the number of the last.
    owners: Mutex<HashMap<u64, (u32, u64)>>,
    /// From a key to its owner and the request's number: every key is asked for once.
    owner_of: HashMap<Vec<u8>, (u64, u64)>,
    violations: AtomicU32,
}

impl Checking {
    /// So many more requests for `key` are being answered.
    fn step(&self, key: &[u8], more: i32) {
        let (owner, number) = self.owner_of[key];
        let mut owners = self.owners.lock().unwrap();
        let (running, last) = owners.entry(owner).or_insert((0, 0));
        let broken = more > 0 && (*running > 0 || *last > number);
        (*running, *last) = (running.wrapping_add_signed(more), number.max(*last));
        if broken {
            self.violations.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct CheckingSession<'a>(&'a Checking);

impl Session for CheckingSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        self.0.step(key, 1);
        std::thread::yield_now();
        self.0.step(key, -1);
        Ok(None)
    }

    fn put(&mut self, _: &[u8], _: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }

    fn delete(&mut self, _: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }

    fn scan(
        &mut self,
        _: Option<&[u8]>,
        _: manometer_target::engine::Direction,
        _: &mut Visit<'_>,
    ) -> Result<(), EngineError> {
        Ok(())
    }
}

struct Silent;

impl State for Silent {
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }

    fn sample(&mut self, _: &dyn Clock) -> std::collections::BTreeMap<String, f64> {
        std::collections::BTreeMap::new()
    }
}

impl Engine for Checking {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(CheckingSession(self))
    }

    fn load_sorted(&self, _: &mut dyn SortedRecords) -> Result<(), EngineError> {
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn state(&self) -> Box<dyn State + '_> {
        Box::new(Silent)
    }

    fn facts(&self) -> Settings {
        Settings::new()
    }
}

/// How often a replay of `model` breaks the order of each owner, as the engine sees it, and what the replay says.
fn order_broken(model: Model, threads: u32, owner: impl Fn(u64) -> u64) -> (u32, Replayed) {
    const REQUESTS: u64 = 3_000;
    let line = |number: u64| format!("0,{number},8,10,{},get,0\n", number % 11);
    let text: String = (0..REQUESTS).map(line).collect();
    let (dir, settings) = scene(&text, "null");
    let time = if model == Model::ClosedUnordered { Timing::Full } else { Timing::Original };
    let settings = ReplaySettings { model, time, threads: Some(threads), ..settings };
    let mut key = Vec::new();
    let mut owner_of = HashMap::new();
    for number in 0..REQUESTS {
        crate::replay::request::write_key(number, 11, &mut key);
        owner_of.insert(key.clone(), (owner(number), number));
    }
    let engine = Checking { owners: Mutex::default(), owner_of, violations: AtomicU32::new(0) };
    let plan = ReplayPlan::new(&settings).unwrap();
    let (controls, controlled) = channel();
    controls.send(Control::Go).unwrap();
    let controls_in = Controls::new(controlled);
    let mut sink = |_| Ok(());
    let mut watch = Watch::new(&controls_in, &mut sink);
    let job = job(dir.path().join("data"), &settings);
    let replayed = replay(&plan, &job, &engine, &MonotonicClock, &mut watch, false).unwrap();
    assert_eq!(replayed.sent, REQUESTS);
    (engine.violations.into_inner(), replayed)
}

#[test]
fn ordered_models_keep_the_order_of_whom_they_say() {
    let (broken, replayed) = order_broken(Model::ClosedConservative, 1, |_| 0);
    assert_eq!((broken, replayed.order_violations, replayed.ordered), (0, 0, true));
    let (broken, replayed) = order_broken(Model::ClosedPerClient, 4, |number| number % 11);
    assert_eq!((broken, replayed.order_violations, replayed.ordered), (0, 0, true));
}

#[test]
fn the_engine_that_checks_sees_when_order_breaks() {
    let owner_of = [(b"a", (0, 0)), (b"b", (0, 1)), (b"c", (1, 2))].map(|(key, owned)| (key.to_vec(), owned));
    let engine =
        Checking { owners: Mutex::default(), owner_of: owner_of.into_iter().collect(), violations: AtomicU32::new(0) };
    let mut session = engine.session();
    for (key, violations) in [(b"b", 0), (b"c", 0), (b"a", 1), (b"b", 1)] {
        session.get(key).unwrap();
        assert_eq!(engine.violations.load(Ordering::Relaxed), violations, "{key:?}");
    }
    // In order, but begun before the one before it was answered; that of another owner may be.
    for (key, more, violations) in
        [(b"b", 1, 1), (b"c", 1, 1), (b"b", 1, 2), (b"b", -1, 2), (b"b", -1, 2), (b"b", 1, 2)]
    {
        engine.step(key, more);
        assert_eq!(engine.violations.load(Ordering::Relaxed), violations, "{key:?} {more}");
    }
}

#[test]
fn every_request_of_an_unordered_replay_is_sent_once() {
    let (_, replayed) = order_broken(Model::ClosedUnordered, 4, |_| 0);
    assert!(!replayed.ordered);
}

/// What becomes of the trace `before` that is `after` once it has been read first.
fn replay_changed(before: &str, after: &str) -> Result<Replayed, ReplayError> {
    let (dir, settings) = scene(before, "map");
    let settings = ReplaySettings { model: Model::ClosedConservative, time: Timing::Full, ..settings };
    let mut plan = ReplayPlan::new(&settings).unwrap();
    std::fs::write(&settings.file.trace, after).unwrap();
    // As if it were changed after it was opened again, so that only its requests tell.
    plan.stamp = crate::replay::surveyed::Stamp::of(&settings.file.trace);
    let request = OpenRequest { directory: dir.path(), options: &plan.options, value_bytes: 10 };
    let engine = (plan.engine.open)(&request).unwrap();
    let (controls, controlled) = channel();
    controls.send(Control::Go).unwrap();
    let controls_in = Controls::new(controlled);
    let mut sink = |_| Ok(());
    let mut watch = Watch::new(&controls_in, &mut sink);
    let job = job(dir.path().join("data"), &settings);
    replay(&plan, &job, &*engine, &MonotonicClock, &mut watch, false)
}

#[cfg(feature = "map")]
#[test]
fn a_trace_that_changed_between_its_two_readings_is_an_error() {
    let before = "insert,a,0,10\ninsert,b,1,20\n";
    assert_eq!(replay_changed(before, before).unwrap().sent, 2);
    let cases = [
        ("insert,a,0,10\ninsert,b,1,4000000\n", "request 2 takes 4000000 bytes, and the longest took 20"),
        ("insert,a,0,10\n", "it ended after 1 of 2 requests"),
        ("insert,a,0,10\ninsert,b,1,20\ninsert,c,2,20\n", "it had 2 requests and has more"),
    ];
    for (after, wanted) in cases {
        let error = replay_changed(before, after).unwrap_err();
        assert!(error.to_string().contains(wanted) && !error.is_wrong_request(), "{error}");
    }
}

#[test]
fn a_trace_that_changed_before_its_second_reading_is_not_begun() {
    let (_dir, settings) = scene("read,a,0,10\n", "null");
    let plan = ReplayPlan::new(&settings).unwrap();
    std::fs::write(&settings.file.trace, "read,a,0,10\nread,b,1,10\n").unwrap();
    let error = open_again(&plan.file, plan.stamp).map(drop).unwrap_err();
    assert!(error.to_string().contains("it changed after it was first read"), "{error}");
}

/// What a thread allocates while it sends `requests` requests, from its first to its last.
fn allocated_by_sending(requests: u64, model: Model, time: Timing) -> u64 {
    let line = |number: u64| {
        let op = if number.is_multiple_of(3) { "set" } else { "get" };
        format!("{},key{},40,{},7,{op},0\n", number / 100_000, number % 50, 50 + number % 300)
    };
    let (dir, settings) = scene(&(0..requests).map(line).collect::<String>(), "null");
    let settings = ReplaySettings { model, time, threads: Some(1), ..settings };
    let plan = ReplayPlan::new(&settings).unwrap();
    let request = OpenRequest { directory: dir.path(), options: &plan.options, value_bytes: plan.value_bytes_mean };
    let engine = (plan.engine.open)(&request).unwrap();
    let (gate, first_error, schedule, tally) =
        (Gate::default(), Mutex::new(None), Schedule::new(0, 1), Tally::default());
    let clock = MonotonicClock;
    let shared =
        Shared { plan: &plan, seed: 1, clock: &clock, gate: &gate, schedule: &schedule, first_error: &first_error };
    schedule.begin_at(clock.now_ns());
    gate.open();
    let (inlets, outlets) = lanes(plan.dealing());
    let turns = Turns::new(Lead { lane: Lane::new(&outlets[0]), kept: Dispatch::new(plan.grain) });
    let reader = open_again(&plan.file, plan.stamp).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| feed(&plan, plan.dealing(), reader, inlets));
        let client = Client::new(&shared, 0, &tally, engine.session(), Order::Own(0));
        let source = source(&plan, 0, &outlets, &turns);
        let counted = allocation_counter::measure(|| drop(client.run(source)));
        assert_eq!(tally.totals(), [requests, 0, 0]);
        counted.count_total
    })
}

#[test]
fn nothing_is_allocated_on_the_way() {
    for (model, time) in [
        (Model::Open, Timing::Original),
        (Model::ClosedConservative, Timing::Original),
        (Model::ClosedPerClient, Timing::Original),
        (Model::ClosedUnordered, Timing::Full),
    ] {
        let allocated = allocated_by_sending(30_000, model, time);
        assert!(allocated < 100, "{model:?}: {allocated} allocations for 30,000 requests");
    }
}
