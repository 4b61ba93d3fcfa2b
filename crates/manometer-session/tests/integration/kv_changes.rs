//! Tests of changing a `kv` workload's settings while it runs, on an instrumented engine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column, MonotonicClock};
use manometer_session::control::Controls;
use manometer_session::protocol::{Control, Message};
use manometer_session::worker_loop::with_session;
use manometer_target::engine::{
    Engine, EngineError, EngineOptions, EngineSession, OpenRequest, ScanDirection, ScanVisitor, SortedRecords,
    StateSampler, find,
};
use manometer_workload::kv::{KvPlan, KvSettings, Requests};
use serde_json::json;

const HOUR_NS: u64 = 3_600_000_000_000;

/// The host's clock plus an offset.
#[derive(Default)]
struct Moved(AtomicU64);

impl Clock for Moved {
    fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns() + self.0.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, deadline_ns: u64) {
        MonotonicClock.sleep_until(deadline_ns.saturating_sub(self.0.load(Ordering::SeqCst)));
    }
}

type Look = dyn FnMut(&Watched) + Send;

/// An engine without storage that holds its readers on demand, and calls a function whenever its state is read.
struct Watched {
    inner: Box<dyn Engine>,
    /// Reads started, and reads answered.
    begun: AtomicU64,
    reads: AtomicU64,
    held: AtomicBool,
    look: Mutex<Box<Look>>,
}

impl Watched {
    fn new(held: bool, look: impl FnMut(&Watched) + Send + 'static) -> Self {
        let request = OpenRequest { directory: Path::new("/"), options: &EngineOptions::default(), value_bytes: 1000 };
        let inner = (find("null").unwrap().open)(&request).unwrap();
        Self {
            inner,
            begun: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            held: AtomicBool::new(held),
            look: Mutex::new(Box::new(look)),
        }
    }

    fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Engine for Watched {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(WatchedSession(self, self.inner.session()))
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        self.inner.load_sorted(records)
    }

    fn settle(&self) -> Result<(), EngineError> {
        self.inner.settle()
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(WatchedState(self))
    }

    fn facts(&self) -> Settings {
        self.inner.facts()
    }
}

struct WatchedSession<'a>(&'a Watched, Box<dyn EngineSession + 'a>);

impl EngineSession for WatchedSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        while self.0.held.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.0.reads.fetch_add(1, Ordering::SeqCst);
        self.1.get(key)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.1.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.1.delete(key)
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        way: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        self.1.scan(start, way, visit)
    }
}

struct WatchedState<'a>(&'a Watched);

impl StateSampler for WatchedState<'_> {
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        (self.0.look.lock().unwrap())(self.0);
        BTreeMap::from([("reads".to_owned(), self.0.reads() as f64)])
    }
}

/// Runs one thread that reads from `engine` at `rate`, while `act` sends control lines and sees the messages so far.
/// Returns all messages except the first.
fn driven<C: Clock>(
    engine: &Watched,
    clock: &C,
    (rate, interval_ms): (Option<&str>, u64),
    act: impl FnOnce(&Sender<Control>, &Mutex<Vec<Message>>) + Send,
) -> Vec<Message> {
    let settings = KvSettings {
        engine: "null".to_owned(),
        workload: "ycsb-c".to_owned(),
        rate: rate.map(|rate| rate.parse().unwrap()),
        ..KvSettings::default()
    };
    let plan = KvPlan::new(&settings).unwrap();
    let (sender, receiver) = channel();
    let messages = Mutex::new(Vec::new());
    let mut sink = |message| {
        messages.lock().unwrap().push(message);
        Ok(())
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            act(&sender, &messages);
            drop(sender);
        });
        let mut mark_changed = || Ok(());
        let facts = Settings::new();
        let (seed, first_arrival, settings) = (1, 0.0, &settings);
        let requests = Requests { plan, settings, seed, first_arrival, facts, mark_changed: &mut mark_changed };
        with_session(interval_ms * 1_000_000, &Controls::new(receiver), &mut sink, clock, |session| {
            requests.send(engine, session, clock)
        })
        .unwrap();
    });
    messages.into_inner().unwrap().split_off(1)
}

fn set(pairs: serde_json::Value) -> Control {
    let serde_json::Value::Object(settings) = pairs else { panic!("{pairs}") };
    Control::Set(settings)
}

fn wait_until(happened: impl Fn() -> bool) {
    while !happened() {
        std::thread::yield_now();
    }
}

/// Waits for a message that satisfies `is_it`.
fn wait_for(messages: &Mutex<Vec<Message>>, is_it: impl Fn(&Message) -> bool) {
    wait_until(|| messages.lock().unwrap().iter().any(&is_it));
}

fn is_setting(message: &Message) -> bool {
    matches!(message, Message::Setting { .. })
}

fn is_sample(message: &Message) -> bool {
    matches!(message, Message::Sample(_))
}

#[test]
fn requests_that_a_change_drops_count_before_it() {
    let engine = Watched::new(true, |_| {});
    let messages = driven(&engine, &MonotonicClock, (Some("1000"), 600_000), |controls, messages| {
        controls.send(Control::Go).unwrap();
        wait_until(|| engine.begun.load(Ordering::SeqCst) > 0);
        // The run waits for the request in flight, and a thousand others come due meanwhile.
        controls.send(set(json!({"rate": null}))).unwrap();
        wait_for(messages, is_setting);
        engine.held.store(false, Ordering::SeqCst);
    });
    let [Message::Sample(before), Message::Setting { .. }, Message::Sample(after)] = messages.as_slice() else {
        panic!("{messages:?}")
    };
    assert!(before.dropped > 500, "{}", before.dropped);
    assert_eq!(after.dropped, 0);
}

#[test]
fn requests_that_a_change_drops_in_a_pause_count_in_no_sample() {
    let engine = Watched::new(true, |_| {});
    let clock = Moved::default();
    let messages = driven(&engine, &clock, (Some("1000"), 600_000), |controls, messages| {
        controls.send(Control::Go).unwrap();
        wait_until(|| engine.begun.load(Ordering::SeqCst) > 0);
        // A few thousand others come due.
        clock.0.store(5_000_000_000, Ordering::SeqCst);
        controls.send(Control::Wait).unwrap();
        wait_for(messages, is_sample);
        controls.send(set(json!({"rate": null}))).unwrap();
        wait_for(messages, is_setting);
        engine.held.store(false, Ordering::SeqCst);
        let reads = engine.reads();
        controls.send(Control::Go).unwrap();
        wait_until(|| engine.reads() > reads);
    });
    let [Message::Sample(before), Message::Note { text, .. }, Message::Setting { .. }, Message::Sample(after)] =
        messages.as_slice()
    else {
        panic!("{messages:?}")
    };
    assert_eq!((before.dropped, after.dropped), (0, 0));
    assert!(text.contains("requests that waited"), "{text}");
}

#[test]
fn the_state_is_read_before_requests_come_due() {
    let clock = Arc::new(Moved::default());
    let moved = Arc::clone(&clock);
    let engine = Watched::new(false, move |_| moved.0.store(HOUR_NS, Ordering::SeqCst));
    let messages = driven(&engine, &*clock, (Some("100"), 600_000), |controls, _| {
        controls.send(Control::Go).unwrap();
        wait_until(|| engine.reads() > 0);
    });
    let dropped: u64 = messages.iter().map(|one| if let Message::Sample(one) = one { one.dropped } else { 0 }).sum();
    assert_eq!(dropped, 0, "reading the state took an hour, in which nothing was due");
}

#[test]
fn requests_flow_while_the_state_is_read_after_a_change() {
    let mut look = 0;
    let engine = Watched::new(false, move |engine| {
        look += 1;
        let before = engine.reads();
        // Threads must not read at the first poll, that of `go`; at the last one they are held again.
        wait_until(|| look != 2 || engine.reads() > before);
    });
    let messages = driven(&engine, &MonotonicClock, (None, 20_000), |controls, messages| {
        controls.send(Control::Go).unwrap();
        wait_until(|| engine.reads() > 0);
        controls.send(set(json!({"read_proportion": 0.5}))).unwrap();
        wait_for(messages, is_setting);
    });
    let [Message::Sample(before), Message::Setting { .. }, Message::Sample(_)] = messages.as_slice() else {
        panic!("{messages:?}")
    };
    assert!(before.state.contains_key("reads") && before.state_t_ns.is_none(), "{before:?}");
}
