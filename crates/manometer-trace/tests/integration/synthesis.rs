//! Tests that a generated trace is like the trace its model was fitted to.

use std::collections::BTreeMap;

use manometer_trace::character::{Character, CharacterOptions};
use manometer_trace::synthesis::error::error;
use manometer_trace::synthesis::fit::FirstPass;
use manometer_trace::synthesis::{FitError, Generator, TraceModel};
use manometer_trace::{Record, TraceError, TraceOperation, TraceReader};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_distr::{Distribution as _, Exp1, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;

struct Listed<'a>(std::slice::Chunks<'a, Record>);

impl TraceReader for Listed<'_> {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        batch.extend_from_slice(self.0.next().unwrap_or_default());
        Ok(batch.len())
    }
}

fn fitted(records: &[Record]) -> (TraceModel, Character) {
    let mut character = Character::new(CharacterOptions::default());
    let first = FirstPass::read(&mut Listed(records.chunks(1000)), &mut character).unwrap();
    (first.fit(&mut Listed(records.chunks(1000)), &character).unwrap(), character)
}

fn made(model: &TraceModel, requests: u64) -> Vec<Record> {
    let mut generator = Generator::new(model, requests, 1).unwrap();
    let (mut batch, mut records) = (Vec::new(), Vec::new());
    while generator.read(&mut batch).unwrap() > 0 {
        records.append(&mut batch);
    }
    records
}

fn distance(trace: &Character, made: &[Record]) -> FitError {
    let mut character = Character::new(CharacterOptions::default());
    character.add(made);
    error(trace, &character)
}

/// A key-value trace: Zipf, sizes by key, a tenth of updates, bursts.
fn zipf_trace(requests: usize, drift: u64) -> Vec<Record> {
    let (zipf, mut random) = (Zipf::new(20_000.0, 0.9).unwrap(), Xoshiro256PlusPlus::seed_from_u64(5));
    let mut time = 0.0;
    (0..requests as u64)
        .map(|number| {
            let gap: f64 = Exp1.sample(&mut random);
            let rate = if number / 5000 % 3 == 0 { 5000.0 } else { 1000.0 };
            time += gap / rate;
            let key = zipf.sample(&mut random) as u64 + number.checked_div(drift).unwrap_or(0) * 1000;
            let operation = if random.random_bool(0.1) { TraceOperation::Update } else { TraceOperation::Get };
            Record {
                time_ns: Some((time * 1e9) as u64),
                value_size: Some(100 + key % 3),
                key_size: Some(16),
                ..Record::new(operation, key)
            }
        })
        .collect()
}

#[test]
fn what_is_made_is_like_the_trace() {
    for drift in [0, 10_000] {
        let trace = zipf_trace(200_000, drift);
        let (model, character) = fitted(&trace);
        let made = made(&model, model.requests);
        let far = distance(&character, &made);
        assert_eq!(made.len(), trace.len());
        assert!(far.miss_ratio_max < 0.06 && far.miss_ratio_mean < 0.02, "drift {drift}: {far:?}");
        assert!(far.popularity < 0.03 && (far.keys_ratio - 1.0).abs() < 0.03, "drift {drift}: {far:?}");
        assert!(far.inter_arrival.unwrap() < 0.06 && (far.dispersion_ratio.unwrap() - 1.0).abs() < 0.1, "{far:?}");
        let share = |records: &[Record]| {
            records.iter().filter(|record| record.operation == TraceOperation::Update).count() as f64
                / records.len() as f64
        };
        assert!((share(&made) - 0.1).abs() < 0.01);
        assert!(
            made.iter().all(|record| record.key_size == Some(16) && (100..=102).contains(&record.value_size.unwrap()))
        );
        assert!(made.is_sorted_by_key(|record| record.time_ns));
    }
}

#[test]
fn more_of_it_goes_on_with_the_keys_that_live() {
    let trace = zipf_trace(50_000, 0);
    let (model, character) = fitted(&trace);
    let long = made(&model, 150_000);
    assert_eq!(long.len(), 150_000);
    assert!(long.is_sorted_by_key(|record| record.time_ns));
    let span = |records: &[Record]| records[records.len() - 1].time_ns.unwrap() as f64;
    assert!((span(&long) / span(&trace) / 3.0 - 1.0).abs() < 0.1);
    // The most popular key stays the most popular.
    let popular = |records: &[Record]| {
        let mut requests: BTreeMap<u64, u64> = BTreeMap::new();
        records.iter().for_each(|record| *requests.entry(record.key).or_default() += 1);
        requests.into_iter().max_by_key(|(_, requests)| *requests).unwrap().0
    };
    assert_eq!(popular(&long[..50_000]), popular(&long[100_000..]));
    assert_eq!(long[..50_000], made(&model, 50_000));
    assert!(distance(&character, &long[..50_000]).miss_ratio_max < 0.08);
}

#[test]
fn a_loop_and_a_single_request_have_models() {
    let endless: Vec<Record> = (0..20_000).map(|number| Record::new(TraceOperation::Get, number % 500)).collect();
    let (model, character) = fitted(&endless);
    let made_of_it = made(&model, 20_000);
    assert!(made_of_it.iter().all(|record| record.time_ns.is_none() && record.value_size.is_none()));
    let far = distance(&character, &made_of_it);
    assert!(far.keys_ratio == 1.0 && far.popularity < 0.01, "{far:?}");
    let (model, _) = fitted(&[Record { time_ns: Some(7), ..Record::new(TraceOperation::Get, u64::MAX) }]);
    assert_eq!(made(&model, 3).len(), 3);
}

#[test]
fn devices_and_nothing_have_no_model() {
    let mut character = Character::new(CharacterOptions::default());
    let mut of = |records: &[Record]| match FirstPass::read(&mut Listed(records.chunks(1000)), &mut character) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("a model of {records:?}"),
    };
    assert!(of(&[]).contains("without requests"));
    assert!(of(&[Record::block(TraceOperation::Read, 0, 0, 512, 512)]).contains("places on devices"));
}

#[test]
fn a_model_from_elsewhere_is_checked() {
    let (model, _) = fitted(&zipf_trace(2000, 0));
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<TraceModel>(&text).unwrap(), model);
    let refused = |change: fn(&mut TraceModel)| {
        let mut model = model.clone();
        change(&mut model);
        Generator::new(&model, 10, 1).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(refused(|model| model.manometer_trace_model = 2).contains("version is 2"));
    assert!(refused(|model| model.requests = 0).contains("`requests`"));
    assert!(refused(|model| model.classes.clear()).contains("`lives`"));
    assert!(refused(|model| model.classes[0].lives[0].keys = u64::MAX).contains("`lives`"));
    let crowd = refused(|model| {
        model.requests = 1 << 40;
        model.classes[0].lives[0].keys = 1 << 26;
    });
    assert!(crowd.contains("live at a time"), "{crowd}");
    assert!(refused(|model| model.classes[0].lives[0].last = 99).contains("part 31"));
    assert!(refused(|model| model.classes[0].requests_per_key = f64::NAN).contains("`requests_per_key`"));
    assert!(refused(|model| model.classes[0].first_operations.clear()).contains("`first_operations`"));
    assert!(refused(|model| model.classes[0].value_sizes[0].weight = -1.0).contains("bucket"));
    assert!(refused(|model| model.arrivals.as_mut().unwrap().window_ns = 0).contains("`window_ns`"));
    assert!(refused(|model| model.arrivals.as_mut().unwrap().requests.clear()).contains("no requests arrive"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_small_trace_has_a_model(
        requests in prop::collection::vec((any::<u64>(), 0_u64..20, any::<Option<u64>>()), 1..300), more in 1_u64..1000,
    ) {
        let put = |(time, key, size)| Record {
            time_ns: Some(time),
            value_size: size,
            ..Record::new(TraceOperation::Put, key)
        };
        let records: Vec<Record> = requests.into_iter().map(put).collect();
        let (model, _) = fitted(&records);
        let made = made(&model, more);
        prop_assert_eq!(made.len() as u64, more);
        prop_assert!(made.is_sorted_by_key(|record| record.time_ns));
    }
}
