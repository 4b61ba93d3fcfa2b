//! A trace against synthetic loads: what the replays might have measured.

use manometer_analysis::real_vs_synthetic::{
    Arrivals, BinnedMisses, CacheReplay, ComparedLoad, Estimate, HotSpots, LATEST, LoadComparison, MeasuredNodes,
    NodeLoad, ONE_SIZE, SHUFFLED, SPREAD_SIZES, STATIONARY, SimulatedCache, SlabComparison, TRACE, Throughput,
    ThroughputRun, UNIFORM, ZIPF, ZipfFits, engine_decompositions, engine_result, engine_spreads, headline,
    hot_spot_decomposition, miss_difference, node_seconds, simulated_decompositions, slab_decompositions, slab_results,
    steps_to_zipf, throughput_results,
};
use manometer_measure::event::{Finding, Severity};

const LOADS: [(&str, f64); 5] = [(TRACE, 0.3), (SHUFFLED, 0.44), (ZIPF, 0.42), (UNIFORM, 0.75), (LATEST, 0.18)];

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

/// A tenth of 200 reads of each bin miss for each tenth of `miss_ratio`, in turn one more and one less.
fn simulated(load: &str, cache: f64, miss_ratio: f64) -> SimulatedCache {
    let mut bins = BinnedMisses::default();
    for (bin, (reads, misses)) in bins.reads.iter_mut().zip(&mut bins.misses).enumerate() {
        *reads = 200;
        *misses = (200.0 * miss_ratio) as u64 + [0, 2, 1, 1][(bin * bin / 3) % 4];
    }
    SimulatedCache {
        load: load.to_owned(),
        cache,
        cache_bytes: (cache * 4e7) as u64,
        miss_ratio: bins.miss_ratio(),
        difference: Estimate::default(),
        bins,
        exchange: 0.02,
    }
}

/// Both engines, five loads, five caches, three repeats; slabs and hot spots as well.
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
        one_size: false,
        drawn_from: (name != TRACE && name != SHUFFLED).then_some(15_500),
        exponent,
    };
    let loads: Vec<ComparedLoad> =
        LOADS.iter().map(|(name, _)| load(name, [ZIPF, LATEST].contains(name).then_some(0.91))).collect();
    let at = |cache: f64| LOADS.map(|(load, ratio)| simulated(load, cache, ratio * (1.0 - cache) / 0.9 + 0.1));
    let mut caches: Vec<SimulatedCache> = CACHES.into_iter().flat_map(at).collect();
    let traces: Vec<SimulatedCache> = caches.iter().filter(|one| one.load == TRACE).cloned().collect();
    for own in &mut caches {
        let trace = traces.iter().find(|trace| trace.cache == own.cache);
        own.difference = trace.map(|trace| miss_difference(trace, own, CACHES.len())).unwrap_or_default();
    }
    let engines: Vec<_> = ["redis", "memcached"]
        .iter()
        .map(|engine| engine_result(engine, "1.0", 50_000_000, &CACHES, &loads, &replays, &caches))
        .collect();
    let node_loads = node_loads();
    let measured = MeasuredNodes {
        nodes: node_loads[0].clone(),
        peak_above_computed: node_loads[0].peak_above(&node_loads[0]),
        sent: 54_000,
        errors: 0,
        late: 12,
    };
    let hot_spots = HotSpots {
        nodes: 10,
        speed: 2.0,
        requests_per_s: 9000,
        loads: node_loads,
        measured: vec![measured],
        reason: None,
    };
    let steps = steps_to_zipf(false, false);
    let mut decompositions = simulated_decompositions(&caches, &CACHES, &steps);
    decompositions.extend(engines.iter().flat_map(|engine| engine_decompositions(engine, &replays, &CACHES, &steps)));
    decompositions.extend(hot_spot_decomposition(&hot_spots.loads.iter().collect::<Vec<_>>(), "computed", &steps));
    decompositions.extend(slab_decompositions("memcached", &replays, SPREAD_SIZES, ONE_SIZE));
    let headline = headline(&decompositions);
    let note = Finding::new("trace-damaged", Severity::Warning, "a <b>note</b>".to_owned());
    LoadComparison {
        manometer: "0.1.0",
        experiment: "real against synthetic".to_owned(),
        status: "complete",
        headline: headline.text,
        grade: headline.grade,
        zipf: ZipfFits {
            all_keys_exponent: 0.91,
            all_keys_distance: 0.02,
            curve_exponent: 1.02,
            curve_rmse: 0.01,
            head: None,
        },
        simulated: caches,
        decompositions,
        engine_spreads: engine_spreads(&engines),
        engines,
        loads,
        hot_spots: Some(hot_spots),
        slabs: Some(SlabComparison {
            classes: 3,
            value_bytes_mean: 900,
            cache_bytes: 64 << 20,
            loads: slab_results(&replays),
        }),
        throughput: Some(throughput()),
        findings: vec![note],
        replays,
    }
}

/// Two numbers of threads, three repeats of two seconds.
fn throughput() -> Throughput {
    let run = |load: &str, threads: u32, repeat: u32, ops_per_s: f64| ThroughputRun {
        load: load.to_owned(),
        threads,
        repeat,
        ops_per_s,
        series: (0..10).map(|place| ops_per_s * (1.0 + f64::from(place - 4) / 50.0)).collect(),
        errors: 0,
    };
    let both = |threads: u32, repeat: u32| {
        let rate = 9000.0 * f64::from(threads).sqrt() + 10.0 * f64::from(repeat * repeat);
        [run(TRACE, threads, repeat, rate), run(STATIONARY, threads, repeat, 0.98 * rate)]
    };
    let runs: Vec<ThroughputRun> = (1..=3).flat_map(|repeat| [both(1, repeat), both(10, repeat)].concat()).collect();
    Throughput {
        engine: "redis".to_owned(),
        interval_s: 0.2,
        read_share: 1.0,
        records: 14_000,
        value_bytes: 200,
        exponent: 0.91,
        results: throughput_results(&runs, TRACE),
        runs,
    }
}

/// Six seconds of 9000 requests.
fn node_loads() -> Vec<NodeLoad> {
    let load = |name: &str, arrivals, step: u64, length: fn(u64) -> u64| {
        let slots: Vec<u16> = (0..54_000_u64).map(|at| (at * at / step % 16_384) as u16).collect();
        let seconds = (0..54_000_u64).map(|at| (length(at) / 9000) as u32);
        NodeLoad::new(name, arrivals, &node_seconds(&slots, seconds, 16_384, 10, 6))
    };
    let even = |at| at;
    vec![
        load(TRACE, Arrivals::Recorded, 7, |at| at * at / 54_000),
        load(TRACE, Arrivals::Constant, 7, even),
        load(TRACE, Arrivals::Poisson, 7, |at| at + at % 90),
        load(SHUFFLED, Arrivals::Constant, 11, even),
        load(ZIPF, Arrivals::Constant, 13, even),
        load(UNIFORM, Arrivals::Constant, 3, even),
    ]
}
