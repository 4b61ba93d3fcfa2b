//! Traces of which the right advice is known.

use manometer_cache::advise::{CacheAnalysis, MemoryReason, PolicyOutcome, PolicySample, SMALL_MACHINE_MEMORY};
use manometer_cache::curve::CurvePoint;
use manometer_measure::human::{bytes, percent};
use manometer_trace::{ReadOptions, TraceReader, open_stream};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{ExactMisses, about, analyse, sentences};

fn trace(keys: &[u64]) -> Box<dyn TraceReader> {
    read(keys.iter().map(|key| format!("{key}\n")).collect())
}

/// Requests for keys with sizes.
fn sized(objects: &[(u64, u64)]) -> Box<dyn TraceReader> {
    let lines = objects.iter().enumerate().map(|(time, (key, size))| format!("{time},{key},{size},get\n"));
    read(format!("time,key,size,op\n{}", lines.collect::<String>()))
}

fn read(text: String) -> Box<dyn TraceReader> {
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

/// Half and twice the memory are just that, with the misses of an exact simulation.
fn assert_half_and_twice(found: &CacheAnalysis, opens: &(dyn Fn() -> Box<dyn TraceReader> + Sync)) {
    let memory = &found.memory;
    let size = memory.recommended.capacity;
    for (point, capacity) in [(memory.half, size / 2), (memory.twice, 2 * size)] {
        let exact = ExactMisses::of(opens, found, capacity).ratio(&memory.policy);
        assert_eq!(point.map(|point| (point.capacity, point.miss_ratio)), Some((capacity, exact)));
    }
}

#[test]
fn half_the_memory_is_half_and_twice_is_twice() {
    for (keys, seed) in [(400, 1), (900, 2), (5000, 3)] {
        // Popularity that falls, so that curves bend anywhere.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let requests: Vec<u64> =
            (0..20_000).map(|_| (f64::from(keys) * random.random::<f64>().powi(3)) as u64).collect();
        let found = analyse(&|| trace(&requests));
        assert_half_and_twice(&found, &|| trace(&requests));
        let objects: Vec<(u64, u64)> = requests.iter().map(|key| (*key, 100 + key * 7919 % 5000)).collect();
        let found = analyse(&|| sized(&objects));
        assert!(found.basis.by_size);
        assert_half_and_twice(&found, &|| sized(&objects));
    }
}

#[test]
fn where_no_key_comes_again_no_memory_is_recommended() {
    let keys: Vec<u64> = (0..50_000).collect();
    let found = analyse(&|| trace(&keys));
    assert_eq!((found.memory.reason, found.policy.outcome), (MemoryReason::NoHits, PolicyOutcome::NoHits));
    let said = sentences(&found);
    assert!(about(&said, "memory").starts_with("No memory is recommended: no cache reduces misses"));
    assert_eq!(about(&said, "policy"), "No policy is advised: with all objects cached, 100.0 % miss.");
    assert!(said.iter().all(|sentence| sentence.about != "sensitivity"), "{said:?}");
}

#[test]
fn of_a_loop_the_cliff_is_said() {
    let keys: Vec<u64> = (0..100_000).map(|request| request % 1500).collect();
    let found = analyse(&|| trace(&keys));
    assert_eq!((found.memory.recommended.capacity, found.memory.all.capacity), (1500, 1500));
    let said = sentences(&found);
    let text = about(&said, "memory");
    assert!(text.contains("lru then misses 1.5 %: only compulsory (cold) misses."), "{text}");
    assert!(text.contains("only 5.86 MiB and more help, with 5.75 MiB LRU misses 100.0 %."), "{text}");
    assert!(about(&said, "sensitivity").contains("would miss 100.0 % instead of 1.5 %"));
    assert_half_and_twice(&found, &|| trace(&keys));
}

#[test]
fn a_huge_object_does_not_make_the_memory_larger_than_small_ones_need() {
    // All requests but the last are for small objects.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut objects: Vec<(u64, u64)> = (0..5000)
        .map(|at| if at % 2 == 0 { (1000 + at, 64) } else { (random.random_range(0..4), 100 + at % 2 * 28) })
        .collect();
    objects.extend([(9_999_999, 8 << 20); 2]);
    let found = analyse(&|| sized(&objects));
    let (memory, said) = (&found.memory, sentences(&found));
    let text = about(&said, "memory");
    let shown = |capacity: u64| percent(ExactMisses::of(&|| sized(&objects), &found, capacity).ratio("lru"));
    let size = memory.recommended.capacity;
    assert!(size < 4096, "{text}");
    assert_eq!(shown(size), percent(memory.recommended.miss_ratio));
    assert_ne!(shown(size / 2), shown(size), "half is not enough: {}", about(&said, "sensitivity"));
    assert_eq!(memory.all.bytes, found.footprint as u64);
    assert!(memory.all_fit() || !text.contains("up to") || text.contains(&bytes(memory.all.bytes)), "{text}");
    assert_half_and_twice(&found, &|| sized(&objects));
}

#[test]
fn all_objects_fit_though_they_shrink() {
    let objects: Vec<(u64, u64)> =
        (0..6000).map(|at| (at * at % 499, if at < 5000 { 1000 + at % 7 } else { 10 + at % 3 })).collect();
    let found = analyse(&|| sized(&objects));
    let all = found.memory.all;
    assert!(all.bytes as f64 > found.footprint, "they took more before");
    let exact = ExactMisses::of(&|| sized(&objects), &found, all.capacity);
    assert_eq!((exact.ratio("lru"), exact.relative("fifo")), (all.miss_ratio, 0.0), "nothing is evicted");
}
