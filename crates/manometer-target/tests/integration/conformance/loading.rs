//! Loading sorted records, and the facts and state that an engine reports.

use std::ops::ControlFlow;

use manometer_measure::{Column, ManualClock};
use manometer_target::engine::{Capability, ScanDirection};

use super::subject::{Counted, every_engine, every_engine_on_disk, every_engine_with_memory, get, record};

const RECORDS: u32 = 5_000;

#[test]
fn every_record_that_was_loaded_is_found() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        engine.load_sorted(&mut Counted::up_to(RECORDS)).unwrap();
        engine.settle().unwrap();
        engine.check_background().unwrap();
        let mut session = engine.session();
        for number in 0..RECORDS {
            let (key, value) = record(number, 100);
            assert_eq!(get(&mut *session, &key), Some(value), "{number}");
        }
        assert_eq!(get(&mut *session, &record(RECORDS, 100).0), None);
        let (key, _) = record(17, 100);
        session.put(&key, b"new").unwrap();
        assert_eq!(get(&mut *session, &key).as_deref(), Some(b"new".as_slice()));
    });
}

#[test]
fn what_was_loaded_is_there_when_it_is_opened_again() {
    every_engine_on_disk(|subject| {
        let engine = subject.open();
        engine.load_sorted(&mut Counted::up_to(RECORDS)).unwrap();
        engine.settle().unwrap();
        drop(engine);
        let engine = subject.open();
        let mut session = engine.session();
        for number in (0..RECORDS).step_by(7) {
            let (key, value) = record(number, 100);
            assert_eq!(get(&mut *session, &key), Some(value), "{number}");
        }
        if subject.can(Capability::Scan) {
            let mut visited = 0;
            let mut count = |_: &[u8], _: &[u8]| {
                visited += 1;
                ControlFlow::Continue(())
            };
            session.scan(None, ScanDirection::Forward, &mut count).unwrap();
            assert_eq!(visited, RECORDS);
        }
    });
}

#[test]
fn loading_stops_on_request() {
    every_engine(|subject| {
        let engine = subject.open();
        let mut records = Counted { keep_going: ControlFlow::Break(()), ..Counted::up_to(25_000) };
        engine.load_sorted(&mut records).unwrap();
        assert!(records.next < records.end, "{} of {}", records.next, records.end);
    });
}

#[test]
fn loading_nothing_is_not_an_error() {
    every_engine(|subject| {
        let engine = subject.open();
        engine.load_sorted(&mut Counted::up_to(0)).unwrap();
        engine.settle().unwrap();
        let mut session = engine.session();
        session.put(b"a", b"b").unwrap();
    });
}

#[test]
fn a_state_has_the_columns_that_it_claims() {
    every_engine(|subject| {
        let engine = subject.open();
        engine.load_sorted(&mut Counted::up_to(1_000)).unwrap();
        let mut state = engine.state_sampler();
        assert_eq!(state.columns().is_empty(), !subject.can(Capability::State));
        let mut columns = 0;
        for second in 1..3 {
            engine.session().put(b"user1", &[1; 1_000]).unwrap();
            let row = state.sample(&ManualClock::at(second * 1_000_000_000));
            columns = row.len();
            for (name, value) in row {
                assert!(state.columns().iter().any(|column| column.name == name), "{name} is no column");
                assert!(value.is_finite() && value >= 0.0, "{name} = {value}");
            }
        }
        assert_eq!(columns > 0, subject.can(Capability::State));
        for column in state.columns() {
            assert!(!column.unit.is_empty());
            assert!(subject.info.column_meaning(&column.name).is_some(), "{} has no meaning", column.name);
        }
    });
}

#[test]
fn an_engine_reports_its_options_and_the_durability_of_a_put() {
    every_engine(|subject| {
        assert!(!subject.info.durability.is_empty());
        assert!(!(subject.info.version)().is_empty());
        let engine = subject.open();
        let facts = engine.facts();
        let counts_pages = |column: &Column| ["file_pages", "page_count"].contains(&column.name.as_str());
        if engine.state_sampler().columns().iter().any(counts_pages) {
            let page = facts.get("page_bytes").or_else(|| facts.get("options")?.get("page_size"));
            assert!(page.is_some(), "nobody knows how much the pages are: {facts:?}");
        }
        if let Some(durability) = facts.get("durability") {
            assert_eq!(durability, subject.info.durability, "with the defaults");
        }
        if let Some(options) = facts.get("options") {
            let options = options.as_object().unwrap();
            assert!(!options.is_empty() && options.values().all(|value| !value.is_null()), "{options:?}");
        }
    });
}
