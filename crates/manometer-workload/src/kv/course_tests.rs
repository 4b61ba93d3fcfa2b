use std::collections::BTreeMap;

use manometer_measure::plan::Settings;
use manometer_measure::{Column, MonotonicClock};
use manometer_target::engine::{Direction, EngineError, Session, SortedRecords, State, Visit};

use super::*;
use crate::kv::headroom::{headroom, measure};
use crate::kv::{KvPlan, KvSettings};

/// An engine whose every answer is a panic.
struct Broken;

impl Engine for Broken {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Broken)
    }

    fn load_sorted(&self, _: &mut dyn SortedRecords) -> Result<(), EngineError> {
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn state(&self) -> Box<dyn State + '_> {
        Box::new(Broken)
    }

    fn facts(&self) -> Settings {
        Settings::new()
    }
}

impl Session for Broken {
    fn get(&mut self, _: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        panic!("as it is meant to")
    }

    fn put(&mut self, _: &[u8], _: &[u8]) -> Result<(), EngineError> {
        panic!("as it is meant to")
    }

    fn delete(&mut self, _: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }

    fn scan(&mut self, _: Option<&[u8]>, _: Direction, _: &mut Visit<'_>) -> Result<(), EngineError> {
        Ok(())
    }
}

impl State for Broken {
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }

    fn sample(&mut self, _: u64) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

fn plan(threads: u32) -> KvPlan {
    KvPlan::new(&KvSettings { engine: "null".to_owned(), threads, ..KvSettings::default() }).unwrap()
}

#[test]
fn a_thread_that_panics_is_known_while_the_others_wait() {
    let plans = Plans::new(plan(3));
    let result = course(&plans, 1, &Broken, &MonotonicClock, |crew| {
        assert_eq!(crew.at_work(), 3);
        crew.gate.open();
        // Without the duty's end nobody would ever leave here.
        while crew.at_work() > 0 {
            MonotonicClock.sleep(1_000_000);
        }
        assert!(crew.has_failed());
        Ok(())
    });
    assert!(matches!(result, Err(KvError::Panicked)), "{result:?}");
}

#[test]
fn the_clients_own_speed_is_that_of_the_engine_that_keeps_nothing() {
    assert_eq!(headroom(&plan(1), 1, &MonotonicClock), None, "it would be measured twice");
    assert!(measure(&plan(2), 1, &MonotonicClock).unwrap() > 0.0);
}
