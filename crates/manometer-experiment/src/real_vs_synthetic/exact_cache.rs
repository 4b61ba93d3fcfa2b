//! Exact simulation of LRU caches under a load.

use manometer_analysis::real_vs_synthetic::{BinnedMisses, Estimate, SimulatedCache};
use manometer_cache::{CacheError, PolicySpec, RequestSequence};
use rayon::prelude::*;

use super::load::Load;
use super::recorded_trace::{Key, RecordedTrace};

/// The capacity in bytes of a cache for the share `cache` of all keys and values.
pub(super) fn capacity_bytes(recorded: &RecordedTrace, cache: f64) -> u64 {
    ((recorded.footprint_bytes() as f64 * cache).round() as u64).max(1)
}

/// Simulates `load` on LRU caches that hold the shares `caches` of the bytes of all keys and values of the trace. A read that
/// misses and a write put the key, a delete removes it. With `one_size` each value has the mean size.
///
/// # Errors
/// The load has too many keys for a simulation.
pub(super) fn simulate(
    load: &Load,
    recorded: &RecordedTrace,
    one_size: bool,
    caches: &[f64],
) -> Result<Vec<SimulatedCache>, CacheError> {
    let mean = one_size.then(|| recorded.value_bytes_mean());
    let object = |place: u32| {
        let key = load.key(place, recorded);
        let value_bytes = mean.unwrap_or(key.value_bytes);
        (u64::from(place), Key { value_bytes, ..key }.bytes())
    };
    let objects: Vec<(u64, u64)> = load.requests.iter().map(|one| object(one.key)).collect();
    let sequence = RequestSequence::from_objects(&objects)?;
    drop(objects);
    let lru: PolicySpec = "lru".parse()?;
    let on_cache = |cache: &f64| {
        let cache_bytes = capacity_bytes(recorded, *cache);
        let (bins, put_bytes) = run(load, &sequence, &lru, cache_bytes);
        SimulatedCache {
            load: load.describe(one_size).name,
            cache: *cache,
            cache_bytes,
            miss_ratio: bins.miss_ratio(),
            difference: Estimate::default(),
            bins,
            exchange: cache_bytes as f64 / put_bytes.max(1) as f64,
        }
    };
    Ok(caches.par_iter().map(on_cache).collect())
}

/// The misses, and the bytes that were put into the cache.
fn run(load: &Load, sequence: &RequestSequence, lru: &PolicySpec, cache_bytes: u64) -> (BinnedMisses, u64) {
    let mut cache = lru.create(cache_bytes, sequence, true, 0);
    let (mut bins, mut put_bytes) = (BinnedMisses::default(), 0);
    for (position, own) in load.requests.iter().enumerate() {
        let request = sequence.at(position);
        if own.removes() {
            cache.remove(request.id);
            continue;
        }
        let fits = request.size.max(1) <= cache_bytes;
        let is_hit = fits && cache.request(&request);
        put_bytes += if fits && !is_hit { request.size } else { 0 };
        if own.reads() {
            bins.add(position, load.requests.len(), is_hit);
        }
    }
    (bins, put_bytes)
}

#[cfg(test)]
mod tests {
    use manometer_trace::TraceOperation::{Delete, Get, Put};

    use super::super::load::LoadKind;
    use super::super::recorded_trace::KeyRequest;
    use super::*;

    /// A plain LRU cache of bytes: a list from the oldest to the newest.
    fn misses_of_a_list(load: &Load, recorded: &RecordedTrace, capacity: u64) -> (u64, u64) {
        let mut list: Vec<u32> = Vec::new();
        let bytes = |key: u32| load.key(key, recorded).bytes();
        let (mut reads, mut misses) = (0, 0);
        for request in &load.requests {
            let held = list.iter().position(|key| *key == request.key).map(|at| list.remove(at)).is_some();
            reads += u64::from(request.reads());
            misses += u64::from(request.reads() && !held);
            if request.removes() || bytes(request.key) > capacity {
                continue;
            }
            list.push(request.key);
            while list.iter().map(|key| bytes(*key)).sum::<u64>() > capacity {
                list.remove(0);
            }
        }
        (reads, misses)
    }

    #[test]
    fn misses_are_those_of_a_plain_list() {
        let key = |id| Key { id, key_bytes: 3, value_bytes: 1 + 7 * id % 90 };
        let operation = |number: u32| [Get, Get, Put, Get, Delete, Get, Get][number as usize % 7];
        let requests = (0..4000_u32).map(|number| KeyRequest {
            key: if number % 3 == 0 { number / 3 % 7 } else { number * number % 61 },
            operation: operation(number),
        });
        let recorded = RecordedTrace {
            keys: (0..61).map(key).collect(),
            requests: requests.collect(),
            times_ns: None,
            resized: 0,
            damage: Vec::new(),
        };
        let caches = [0.01, 0.1, 0.4, 1.0];
        for kind in [LoadKind::Trace, LoadKind::Shuffled] {
            let load = kind.make(&recorded, 1);
            for simulated in simulate(&load, &recorded, false, &caches).unwrap() {
                let (reads, misses) = misses_of_a_list(&load, &recorded, simulated.cache_bytes);
                let found = (simulated.bins.reads.iter().sum(), simulated.bins.misses.iter().sum());
                assert_eq!(found, (reads, misses), "{simulated:?}");
            }
        }
    }

    #[test]
    fn one_size_is_the_mean_of_all_keys() {
        let recorded = RecordedTrace {
            keys: (0..10).map(|id| Key { id, key_bytes: 10, value_bytes: if id == 0 { 910 } else { 10 } }).collect(),
            requests: (0..1000).map(|number| KeyRequest { key: number % 10, operation: Get }).collect(),
            times_ns: None,
            resized: 0,
            damage: Vec::new(),
        };
        let load = LoadKind::Trace.make(&recorded, 1);
        let miss_ratio =
            |one_size, cache| simulate(&load, &recorded, one_size, &[cache]).unwrap()[0].miss_ratio.unwrap();
        // Ten keys in turn miss where nine fit, and only at first where all do.
        assert_eq!((miss_ratio(true, 0.9), miss_ratio(true, 1.0)), (1.0, 0.01));
        assert!(miss_ratio(false, 0.5) < 0.2, "the large object does not fit, and the small ones stay");
    }
}
