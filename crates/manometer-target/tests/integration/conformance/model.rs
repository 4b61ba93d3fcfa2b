//! Any sequence of requests has the same results as on a sorted map in memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use manometer_target::engine::{EngineSession, ScanDirection};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::subject::{Subject, every_ordered_engine_on_disk, get};

/// Few cases, because some engines sync each put.
const CASES: u32 = 8;
const STEPS: usize = 50;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
enum Step {
    Put(Vec<u8>, Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Get(Vec<u8>),
    Scan { start: Option<Vec<u8>>, backward: bool, most: usize },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    // Few byte values, so that keys collide, including the smallest and the largest.
    let key = || prop::collection::vec(prop::sample::select(vec![0, 1, b'a', b'b', 0xFE, 0xFF]), 1..4);
    let value = || {
        prop_oneof![
            8 => prop::collection::vec(any::<u8>(), 0..100),
            1 => (any::<u8>(), 0..20_000_usize).prop_map(|(byte, len)| vec![byte; len]),
        ]
    };
    prop_oneof![
        8 => (key(), value()).prop_map(|(key, value)| Step::Put(key, value)),
        2 => (key(), value()).prop_map(|(key, value)| Step::Merge(key, value)),
        4 => key().prop_map(Step::Delete),
        4 => key().prop_map(Step::Get),
        4 => (prop::option::of(key()), any::<bool>(), 1..20_usize)
            .prop_map(|(start, backward, most)| Step::Scan { start, backward, most }),
        1 => Just(Step::Reopen),
    ]
}

#[test]
fn an_engine_on_disk_does_as_a_sorted_map_does() {
    every_ordered_engine_on_disk(|subject| {
        let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
        let steps = prop::collection::vec(step(), 1..STEPS);
        let result = TestRunner::new(config).run(&steps, |steps| run(subject.info, &steps));
        result.unwrap_or_else(|error| panic!("{}: {error}", subject.info.name));
    });
}

fn run(info: &'static manometer_target::engine::EngineInfo, steps: &[Step]) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let subject = Subject::within(info, folder.path());
    let mut model = Model::new();
    for steps in steps.split(|step| matches!(step, Step::Reopen)) {
        let engine = subject.open();
        let mut session = engine.session();
        for step in steps {
            take(&mut *session, &mut model, step)?;
        }
        let all = scan(&mut *session, None, false, usize::MAX);
        prop_assert_eq!(all, model.clone().into_iter().collect::<Vec<_>>());
    }
    Ok(())
}

fn take(session: &mut dyn EngineSession, model: &mut Model, step: &Step) -> Result<(), TestCaseError> {
    match step {
        Step::Put(key, value) => {
            session.put(key, value).unwrap();
            model.insert(key.clone(), value.clone());
        }
        Step::Merge(key, value) => {
            session.merge(key, value).unwrap();
            model.insert(key.clone(), value.clone());
        }
        Step::Delete(key) => {
            session.delete(key).unwrap();
            model.remove(key);
        }
        Step::Get(key) => prop_assert_eq!(get(session, key), model.get(key).cloned()),
        Step::Scan { start, backward, most } => {
            let found = scan(session, start.as_deref(), *backward, *most);
            prop_assert_eq!(found, expected(model, start.as_deref(), *backward, *most));
        }
        Step::Reopen => {}
    }
    Ok(())
}

fn scan(session: &mut dyn EngineSession, start: Option<&[u8]>, backward: bool, most: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let direction = if backward { ScanDirection::Backward } else { ScanDirection::Forward };
    let mut found = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    session.scan(start, direction, &mut visit).unwrap();
    found
}

fn expected(model: &Model, start: Option<&[u8]>, backward: bool, most: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let records = model.iter().map(|(key, value)| (key.clone(), value.clone()));
    match (start, backward) {
        (None, false) => records.take(most).collect(),
        (None, true) => records.rev().take(most).collect(),
        (Some(start), false) => records.filter(|(key, _)| key.as_slice() >= start).take(most).collect(),
        (Some(start), true) => records.rev().filter(|(key, _)| key.as_slice() <= start).take(most).collect(),
    }
}
