use manometer_measure::ManualClock;
use manometer_target::engine::ScanVisitor;

use super::*;
use crate::kv::sampler::Sampler;
use crate::replay::lane::{LaneAssignment, enqueue, flush, lanes};
use crate::replay::plan::ReplayPlan;
use crate::replay::{ReplaySettings, TraceFile};

/// A session that finds nothing. On each request and each fill it records whether a request is in flight and how many
/// were counted before.
struct ObservingSession<'a> {
    counters: &'a ReplayCounters,
    seen: &'a Mutex<Vec<(bool, u64)>>,
}

impl ObservingSession<'_> {
    fn check(&self) {
        let counted = Sampler::new(&[KvOperation::Read, KvOperation::Fill], [&self.counters.counted]).take();
        let counted = counted.values().map(|operation| operation.requests).sum();
        self.seen.lock().unwrap().push((self.counters.is_in_flight(), counted));
    }
}

impl EngineSession for ObservingSession<'_> {
    fn get(&mut self, _: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        self.check();
        Ok(None)
    }

    fn put(&mut self, _: &[u8], _: &[u8]) -> Result<(), EngineError> {
        self.check();
        Ok(())
    }

    fn delete(&mut self, _: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }

    fn scan(&mut self, _: Option<&[u8]>, _: ScanDirection, _: &mut ScanVisitor<'_>) -> Result<(), EngineError> {
        Ok(())
    }
}

#[test]
fn a_request_is_under_way_until_what_follows_a_miss_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let file = TraceFile { trace: dir.path().join("trace.txt"), ..TraceFile::default() };
    std::fs::write(&file.trace, "read,a,1,30\nread,b,2,40\n").unwrap();
    let settings =
        ReplaySettings { engine: "null".to_owned(), file, on_miss: MissAction::Put, ..ReplaySettings::default() };
    let plan = ReplayPlan::new(&settings).unwrap();
    for is_paced in [true, false] {
        let (gate, schedule, clock) = (Gate::default(), Schedule::new(20_000, 1), ManualClock::at(0));
        let (first_error, counters, seen) = (Mutex::new(None), ReplayCounters::default(), Mutex::new(Vec::new()));
        let context = ClientContext {
            plan: &plan,
            seed: 1,
            clock: &clock,
            gate: &gate,
            schedule: &schedule,
            first_error: &first_error,
        };
        schedule.begin_at(0);
        gate.open();
        let (mut senders, receivers) = lanes(LaneAssignment::Single);
        for number in 0..2 {
            let read = ReplayRequest::of(KvOperation::Read, number);
            enqueue(&mut senders, 0, ReplayRequest { due_ns: number, number, value_bytes: 30, ..read }).unwrap();
        }
        flush(&mut senders).unwrap();
        drop(senders);
        let session = Box::new(ObservingSession { counters: &counters, seen: &seen });
        let lane = Lane::new(&receivers[0]);
        let source = if is_paced {
            RequestSource::Paced(lane, Box::new(Dispatch::new(plan.resolution)))
        } else {
            RequestSource::Full(lane)
        };
        Client::new(&context, 0, &counters, session, Order::Own(0)).run(source);
        // Each read is followed by its fill: a request is counted once its fill has finished.
        assert_eq!(*seen.lock().unwrap(), [(true, 0), (true, 1), (true, 2), (true, 3)], "paced: {is_paced}");
        assert!(!counters.is_in_flight());
    }
}
