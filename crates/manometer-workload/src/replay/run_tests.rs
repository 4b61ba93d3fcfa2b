use std::collections::HashMap;
use std::sync::atomic::Ordering;

use manometer_measure::{Column, MonotonicClock};
use manometer_target::engine::{EngineError, EngineSession, OpenRequest, ScanVisitor, SortedRecords, StateSampler};

use super::*;
use crate::interface::testing::RunToEnd;
use crate::replay::TraceFile;

/// A directory with the trace `text`, and settings that replay it on `engine`.
fn scene(text: &str, engine: &str) -> (tempfile::TempDir, ReplaySettings) {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace.txt");
    std::fs::write(&trace, text).unwrap();
    let file = TraceFile { trace, ..TraceFile::default() };
    (dir, ReplaySettings { engine: engine.to_owned(), file, ..ReplaySettings::default() })
}

const SEEDS: ReplaySeeds = ReplaySeeds { times: 1, requests: 1 };

/// An engine that answers slowly and checks the order of its requests.
struct Checking {
    /// For each owner, the number of its requests in flight and the number of the last one.
    owners: Mutex<HashMap<u64, (u32, u64)>>,
    /// From a key to its owner and the request's number. Each key is requested once.
    owner_of: HashMap<Vec<u8>, (u64, u64)>,
    violations: AtomicU32,
}

impl Checking {
    /// Changes the number of requests for `key` in flight by `more`.
    fn step(&self, key: &[u8], more: i32) {
        let (ordering_id, number) = self.owner_of[key];
        let mut owners = self.owners.lock().unwrap();
        let (running, last) = owners.entry(ordering_id).or_insert((0, 0));
        let broken = more > 0 && (*running > 0 || *last > number);
        (*running, *last) = (running.wrapping_add_signed(more), number.max(*last));
        if broken {
            self.violations.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct CheckingSession<'a>(&'a Checking);

impl EngineSession for CheckingSession<'_> {
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
        _: manometer_target::engine::ScanDirection,
        _: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        Ok(())
    }
}

struct Silent;

impl StateSampler for Silent {
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }

    fn sample(&mut self, _: &dyn Clock) -> std::collections::BTreeMap<String, f64> {
        std::collections::BTreeMap::new()
    }
}

impl Engine for Checking {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(CheckingSession(self))
    }

    fn load_sorted(&self, _: &mut dyn SortedRecords) -> Result<(), EngineError> {
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(Silent)
    }

    fn facts(&self) -> Settings {
        Settings::new()
    }
}

/// The number of order violations of each owner that the engine counts, and the outcome that the replay reports.
fn order_broken(model: ReplayModel, threads: u32, ordering_id: impl Fn(u64) -> u64) -> (u32, ReplayOutcome) {
    const REQUESTS: u64 = 3_000;
    let line = |number: u64| format!("0,{number},8,10,{},get,0\n", number % 11);
    let text: String = (0..REQUESTS).map(line).collect();
    let (_dir, settings) = scene(&text, "null");
    let time = if model == ReplayModel::ClosedUnordered { Timing::Full } else { Timing::Original };
    let settings = ReplaySettings { model, time, threads: Some(threads), ..settings };
    let mut key = Vec::new();
    let mut owner_of = HashMap::new();
    for number in 0..REQUESTS {
        crate::replay::request::write_key(number, 8, &mut key);
        owner_of.insert(key.clone(), (ordering_id(number), number));
    }
    let engine = Checking { owners: Mutex::default(), owner_of, violations: AtomicU32::new(0) };
    let plan = ReplayPlan::new(&settings).unwrap();
    let replayed = replay(&plan, SEEDS, &engine, &MonotonicClock, &mut RunToEnd, false).unwrap();
    assert_eq!(replayed.sent, REQUESTS);
    (engine.violations.into_inner(), replayed)
}

#[test]
fn ordered_models_keep_the_order_of_whom_they_say() {
    let (broken, replayed) = order_broken(ReplayModel::ClosedConservative, 1, |_| 0);
    assert_eq!((broken, replayed.order_violations, replayed.ordered), (0, 0, true));
    let (broken, replayed) = order_broken(ReplayModel::ClosedPerClient, 4, |number| number % 11);
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
    // In order, but sent before the one before it was answered. Requests of other owners may be in flight.
    for (key, more, violations) in
        [(b"b", 1, 1), (b"c", 1, 1), (b"b", 1, 2), (b"b", -1, 2), (b"b", -1, 2), (b"b", 1, 2)]
    {
        engine.step(key, more);
        assert_eq!(engine.violations.load(Ordering::Relaxed), violations, "{key:?} {more}");
    }
}

#[test]
fn every_request_of_an_unordered_replay_is_sent_once() {
    let (_, replayed) = order_broken(ReplayModel::ClosedUnordered, 4, |_| 0);
    assert!(!replayed.ordered);
}

/// The result of replaying the trace `before`, changed to `after` once it was surveyed.
fn replay_changed(before: &str, after: &str) -> Result<ReplayOutcome, WorkloadError> {
    let (dir, settings) = scene(before, "map");
    let settings = ReplaySettings { model: ReplayModel::ClosedConservative, time: Timing::Full, ..settings };
    let mut plan = ReplayPlan::new(&settings).unwrap();
    std::fs::write(&settings.file.trace, after).unwrap();
    // As if it had changed after it was reopened: only its requests reveal the change.
    plan.stamp = crate::replay::survey_cache::FileStamp::of(&settings.file.trace);
    let request = OpenRequest { directory: dir.path(), options: &plan.options, value_bytes: 10 };
    let engine = (plan.engine.open)(&request).unwrap();
    replay(&plan, SEEDS, &*engine, &MonotonicClock, &mut RunToEnd, false)
}

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
    let error = reopen(&plan.file, plan.stamp).map(drop).unwrap_err();
    assert!(error.to_string().contains("it changed after it was first read"), "{error}");
}

/// Bytes that a thread allocates while it sends `requests` requests, from the first to the last.
fn allocated_by_sending(requests: u64, model: ReplayModel, time: Timing) -> u64 {
    let line = |number: u64| {
        let op = if number.is_multiple_of(3) { "set" } else { "get" };
        format!("{},key{},40,{},7,{op},0\n", number / 100_000, number % 50, 50 + number % 300)
    };
    let (dir, settings) = scene(&(0..requests).map(line).collect::<String>(), "null");
    let settings = ReplaySettings { model, time, threads: Some(1), ..settings };
    let plan = ReplayPlan::new(&settings).unwrap();
    let request = OpenRequest { directory: dir.path(), options: &plan.options, value_bytes: plan.value_bytes_mean };
    let engine = (plan.engine.open)(&request).unwrap();
    let (gate, first_error, schedule, counters) =
        (Gate::default(), Mutex::new(None), Schedule::new(0, 1), ReplayCounters::default());
    let clock = MonotonicClock;
    let context = ClientContext {
        plan: &plan,
        seed: 1,
        clock: &clock,
        gate: &gate,
        schedule: &schedule,
        first_error: &first_error,
    };
    schedule.begin_at(clock.now_ns());
    gate.open();
    let (senders, receivers) = lanes(plan.lane_assignment());
    let leader_followers =
        LeaderFollowers::new(LeaderState { lane: Lane::new(&receivers[0]), dispatch: Dispatch::new(plan.resolution) });
    let reader = reopen(&plan.file, plan.stamp).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| read_ahead(&plan, 1, reader, senders));
        let client = Client::new(&context, 0, &counters, engine.session(), Order::Own(0));
        let source = source(&plan, 0, &receivers, &leader_followers);
        let counted = allocation_counter::measure(|| drop(client.run(source)));
        assert_eq!(counters.totals(), [requests, 0, 0, 0, 0]);
        counted.count_total
    })
}

#[test]
fn nothing_is_allocated_on_the_way() {
    for (model, time) in [
        (ReplayModel::Open, Timing::Original),
        (ReplayModel::ClosedConservative, Timing::Original),
        (ReplayModel::ClosedPerClient, Timing::Original),
        (ReplayModel::ClosedUnordered, Timing::Full),
    ] {
        let allocated = allocated_by_sending(30_000, model, time);
        assert!(allocated < 100, "{model:?}: {allocated} allocations for 30,000 requests");
    }
}

/// More requests of one client than a lane holds; the later ones are not due within this test.
fn one_client(requests: u64) -> String {
    (0..requests).map(|number| format!("{},{number},8,10,1,get,0\n", number / 1_000 * 3_600)).collect()
}

#[test]
fn a_thread_that_panics_ends_the_replay_of_the_others() {
    let (_dir, settings) = scene(&one_client(100_000), "null");
    let settings = ReplaySettings { model: ReplayModel::ClosedPerClient, threads: Some(16), ..settings };
    // The engine knows none of the keys, and panics.
    let engine = Checking { owners: Mutex::default(), owner_of: HashMap::new(), violations: AtomicU32::new(0) };
    let plan = ReplayPlan::new(&settings).unwrap();
    let ended = replay(&plan, SEEDS, &engine, &MonotonicClock, &mut RunToEnd, false);
    let WorkloadError::Failed(error) = ended.unwrap_err() else { panic!("it did not fail") };
    assert!(matches!(error.downcast_ref(), Some(ReplayError::Panicked)), "{error}");
}
