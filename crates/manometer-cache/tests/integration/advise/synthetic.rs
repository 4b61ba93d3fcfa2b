//! Traces of which the right advice is known.

use manometer_cache::advise::{PolicyOutcome, PolicySample, SMALL_MACHINE_MEMORY};
use manometer_cache::curve::CurvePoint;
use manometer_trace::{ReadOptions, TraceReader, open_stream};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{ExactMisses, about, analyse, sentences};

fn trace(keys: &[u64]) -> Box<dyn TraceReader> {
    let text: String = keys.iter().map(|key| format!("{key}\n")).collect();
    open_stream(Box::new(std::io::Cursor::new(text.into_bytes())), &ReadOptions::default()).unwrap().reader
}

/// Keys drawn independently: each of `keys` is as likely, but the first `hot`, which have half of the requests.
fn independent(requests: usize, keys: u64, hot: u64, seed: u64) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..requests)
        .map(|_| if random.random() { random.random_range(0..hot) } else { random.random_range(0..keys) })
        .collect()
}

#[test]
fn policies_that_are_equal_have_no_winner() {
    // All keys are as likely, whatever came before: no policy that knows the past can do better than another.
    let mut winners = Vec::new();
    for seed in 0..10 {
        let keys = independent(30_000, 1000, 1000, seed);
        let found = analyse(&|| trace(&keys));
        if found.policy.outcome == PolicyOutcome::Winner {
            winners.push(found.policy.clone());
        }
        assert_ne!(found.policy.outcome, PolicyOutcome::TooShort, "{:?}", found.policy);
    }
    assert!(winners.len() <= 1, "{winners:?}");
}

#[test]
fn a_trace_in_which_lru_is_beaten_has_a_winner() {
    // A scan pushes what is hot out of LRU.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut keys = Vec::new();
    for round in 0..40_000_u64 {
        keys.push(if round % 2 == 0 { random.random_range(0..200) } else { 1000 + round % 1600 });
    }
    let found = analyse(&|| trace(&keys));
    let capacity = found.memory.recommended.capacity;
    let exact = ExactMisses::of(&|| trace(&keys), &found, capacity);
    assert_eq!(found.policy.outcome, PolicyOutcome::Winner, "{capacity}: {:?}", found.policy);
    assert!(exact.relative(&found.policy.policy) < -0.03, "{capacity}: {:?}", found.policy);
    assert!(!found.policy.similar.contains(&"lru".to_owned()));
}

#[test]
fn a_trace_that_is_too_short_is_refused_with_the_length_that_it_needs() {
    // Half of the requests are for keys that never come again: the cache has to hold many to find the others.
    let mut long = independent(60_000, 1500, 1500, 5);
    for (at, key) in long.iter_mut().enumerate().step_by(2) {
        *key = 1_000_000 + at as u64;
    }
    let short = &long[..12_000];
    let found = analyse(&|| trace(short));
    assert_eq!((found.policy.outcome, found.policy.policy.as_str()), (PolicyOutcome::TooShort, "lru"));
    let needed = found.policy.requests_needed.unwrap();
    assert!((12_001..60_000).contains(&needed), "{needed}");
    let said = sentences(&found);
    assert!(about(&said, "policy").contains("too short to compare policies; about "), "{}", about(&said, "policy"));
    // That length is enough for the same size.
    let enough = &long[..(needed + needed / 10) as usize];
    let sample = PolicySample::read(&mut *trace(enough), &found.basis, 1.0).unwrap();
    let size = CurvePoint { capacity: found.memory.recommended.capacity, miss_ratio: 0.0, error: None };
    assert!(sample.rank(&size).unwrap().of("lru").unwrap().error.is_some());
}

#[test]
fn what_fits_into_a_small_memory_needs_no_tier() {
    let keys = independent(6000, 500, 50, 9);
    let found = analyse(&|| trace(&keys));
    assert!(found.footprint * 4096.0 < SMALL_MACHINE_MEMORY as f64);
    let said = sentences(&found);
    assert!(about(&said, "ssd").starts_with("No SSD tier is recommended: all that the trace touches, "));
}
