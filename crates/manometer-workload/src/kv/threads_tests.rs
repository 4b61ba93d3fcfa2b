use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_measure::plan::Settings;
use manometer_measure::{Column, MonotonicClock};
use manometer_target::engine::{
    EngineError, EngineSession, OpenRequest, ScanDirection, ScanVisitor, SortedRecords, StateSampler,
};

use super::*;
use crate::kv::headroom::{headroom, measure};
use crate::kv::{KvPlan, KvSettings};

/// An engine whose every answer is a panic.
struct Broken;

impl Engine for Broken {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(Broken)
    }

    fn load_sorted(&self, _: &mut dyn SortedRecords) -> Result<(), EngineError> {
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(Broken)
    }

    fn facts(&self) -> Settings {
        Settings::new()
    }
}

impl EngineSession for Broken {
    fn get(&mut self, _: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        panic!("as it is meant to")
    }

    fn put(&mut self, _: &[u8], _: &[u8]) -> Result<(), EngineError> {
        panic!("as it is meant to")
    }

    fn delete(&mut self, _: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }

    fn scan(&mut self, _: Option<&[u8]>, _: ScanDirection, _: &mut ScanVisitor<'_>) -> Result<(), EngineError> {
        Ok(())
    }
}

impl StateSampler for Broken {
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

fn plan(threads: u32) -> KvPlan {
    KvPlan::new(&KvSettings { engine: "null".to_owned(), threads: Some(threads), ..KvSettings::default() }).unwrap()
}

#[test]
fn a_thread_that_panics_is_known_while_the_others_wait() {
    let plans = PlanHistory::new(plan(3));
    let result = run_threads(&plans, 1, Arrivals::default(), &Broken, &MonotonicClock, |threads| {
        assert_eq!(threads.at_work(), 3);
        threads.gate.open();
        // Without the guard this loop would not end.
        while threads.at_work() > 0 {
            MonotonicClock.sleep(1_000_000);
        }
        assert!(threads.has_failed());
        Ok(())
    });
    assert!(matches!(result, Err(KvError::Panicked)), "{result:?}");
}

#[test]
fn the_clients_own_speed_is_that_of_the_engine_that_keeps_nothing() {
    assert_eq!(headroom(&plan(1), 1, &MonotonicClock), None, "it would be measured twice");
    assert!(measure(&plan(2), 1, &MonotonicClock).unwrap() > 0.0);
    let settings = KvSettings { engine: "null".to_owned(), rate: Some("2".parse().unwrap()), ..KvSettings::default() };
    assert!(measure(&KvPlan::new(&settings).unwrap(), 1, &MonotonicClock).unwrap() > 0.0);
}

/// An engine without storage that holds up the first read until released.
struct Holding {
    inner: Box<dyn Engine>,
    held: AtomicBool,
    released: AtomicBool,
}

struct HoldingSession<'a>(&'a Holding, Box<dyn EngineSession + 'a>);

impl Engine for Holding {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(HoldingSession(self, self.inner.session()))
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        self.inner.load_sorted(records)
    }

    fn settle(&self) -> Result<(), EngineError> {
        self.inner.settle()
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        self.inner.state_sampler()
    }

    fn facts(&self) -> Settings {
        self.inner.facts()
    }
}

impl EngineSession for HoldingSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        if !self.0.held.swap(true, Ordering::SeqCst) {
            while !self.0.released.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
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

#[test]
fn a_thread_in_the_background_that_waits_does_not_stand_for_one_that_is_under_way() {
    let workload = "readwhilewriting".to_owned();
    let settings = KvSettings { engine: "null".to_owned(), workload, threads: Some(2), ..KvSettings::default() };
    let plan = KvPlan::new(&settings).unwrap();
    let request = OpenRequest { directory: Path::new("/"), options: &plan.options, value_bytes: plan.value_bytes() };
    let inner = (plan.engine.open)(&request).unwrap();
    let engine = Holding { inner, held: AtomicBool::new(false), released: AtomicBool::new(false) };
    let plans = PlanHistory::new(plan);
    let wait_until = |happened: &dyn Fn() -> bool| {
        while !happened() {
            std::thread::yield_now();
        }
    };
    run_threads(&plans, 1, Arrivals::default(), &engine, &MonotonicClock, |threads| {
        threads.gate.open();
        wait_until(&|| engine.held.load(Ordering::SeqCst));
        threads.gate.close();
        wait_until(&|| threads.gate.parked() == 2);
        assert!(!threads.are_parked(), "one of two readers is under way");
        engine.released.store(true, Ordering::SeqCst);
        wait_until(&|| threads.are_parked());
        assert_eq!(threads.gate.parked(), 3);
        Ok::<_, KvError>(())
    })
    .unwrap();
}
