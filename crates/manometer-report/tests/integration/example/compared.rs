//! A trace against synthetic loads: what the replays might have measured.

use manometer_analysis::real_vs_synthetic::{
    CacheReplay, ComparedLoad, HotSpots, LoadComparison, ONE_SIZE, SPREAD_SIZES, SlabComparison, TRACE, ZIPF,
    engine_result, engine_spreads, headline, node_load, slab_results,
};
use manometer_measure::event::{Finding, Severity};
use serde_json::json;

const LOADS: [(&str, f64); 4] = [(TRACE, 0.3), (ZIPF, 0.42), ("uniform", 0.75), ("latest", 0.18)];

fn replay(engine: &str, load: &str, cache: f64, repeat: u32, miss_ratio: f64) -> CacheReplay {
    let read_us = 20.0 + 30.0 * miss_ratio + f64::from(repeat) / 10.0;
    CacheReplay {
        engine: engine.to_owned(),
        load: load.to_owned(),
        cache,
        cache_bytes: (cache * 5e7) as u64,
        repeat,
        requests: 100_000,
        errors: 0,
        reads: 100_000,
        missing: (1e5 * miss_ratio) as u64 + u64::from(repeat),
        read_us: Some(read_us),
        write_us: Some(read_us + 4.0),
        ops_per_s: Some(1e6 / read_us),
        error: None,
    }
}

/// Their caches.
const CACHES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 1.0];

/// Both engines, four loads, five caches, three repeats; slabs and hot spots as well.
pub fn compared() -> LoadComparison {
    let mut replays = Vec::new();
    for (engine, worse) in [("redis", 1.0), ("memcached", 1.1)] {
        for (load, ratio) in LOADS {
            for cache in CACHES {
                let ratio = worse * (ratio * (1.0 - cache) + 0.1);
                replays.extend((1..=3).map(|repeat| replay(engine, load, cache, repeat, ratio)));
            }
        }
    }
    for (load, ratio) in [(SPREAD_SIZES, 0.2), (ONE_SIZE, 0.25)] {
        replays.extend((1..=3).map(|repeat| replay("memcached", load, 0.5, repeat, ratio)));
    }
    let load = |name: &str, exponent| ComparedLoad {
        name: name.to_owned(),
        requests: 100_000,
        keys: 14_000,
        drawn_from: (name != TRACE).then_some(15_500),
        exponent,
    };
    let loads = [load(TRACE, None), load(ZIPF, Some(0.91)), load("uniform", None), load("latest", Some(0.91))];
    let engines: Vec<_> = ["redis", "memcached"]
        .iter()
        .map(|engine| engine_result(engine, "1.0", 50_000_000, &CACHES, &loads, &replays))
        .collect();
    let slots = |step: u64| -> Vec<u16> { (0..60_000_u64).map(|at| (at * at / step % 16_384) as u16).collect() };
    let nodes =
        LOADS.iter().zip([7, 11, 13, 3]).map(|((load, _), step)| node_load(load, &slots(step), 16_384, 10, 9000));
    let note = Finding::new("trace-damaged", Severity::Warning, "a <b>note</b>".to_owned());
    LoadComparison {
        manometer: "0.1.0",
        experiment: "real against synthetic".to_owned(),
        status: "complete",
        headline: headline(&engines),
        zipf: json!({"exponent": 0.91}),
        engine_spreads: engine_spreads(&engines),
        engines,
        loads: loads.into(),
        hot_spots: Some(HotSpots { nodes: 10, requests_per_s: 9000, loads: nodes.collect(), reason: None }),
        slabs: Some(SlabComparison {
            classes: 3,
            value_bytes_mean: 900,
            cache_bytes: 64 << 20,
            loads: slab_results(&replays),
        }),
        findings: vec![note],
        replays,
    }
}
