//! Runs a comparison: exact simulation of every load, then every load on every engine and cache.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_analysis::real_vs_synthetic::findings::{
    CACHES_TOO_SMALL, CLOCK_OF_SECONDS, REPLAY_FAILED, SIZES_VARY, TRACE_DAMAGED, findings, has_other_keys,
};
use manometer_analysis::real_vs_synthetic::{
    self as results, CacheReplay, ComparedLoad, Decomposition, EngineResult, HotSpots, LoadComparison, NodeLoad,
    ONE_SIZE, SPREAD_SIZES, SimulatedCache, SlabComparison, ZipfFits,
};
use manometer_measure::event::Finding;
use manometer_measure::{Directory, Grade};
use tempfile::TempDir;

use super::cache;
use super::cluster;
use super::engine_trials::{CacheEngine, EnginePlan};
use super::error::RealVsSyntheticError;
use super::exact_cache::simulate;
use super::hot_spots;
use super::load::{Exponents, LoadKind, LoadMaker, replayed_loads, simulated_loads};
use super::progress::ComparisonProgress;
use super::recorded_trace::RecordedTrace;
use super::slabs::SlabSpread;
use super::throughput;
use super::zipf_fit;
use crate::file::RealVsSynthetic;

/// The most replays of a comparison: fewer where all values of the trace have one size, or all requests one operation.
pub fn planned_replays_max(settings: &RealVsSynthetic) -> u32 {
    let loads = if settings.value_size.is_some() { 7 } else { 8 };
    let curves = settings.engines.len() as u32 * settings.caches.len() as u32 * loads;
    let slabs = if settings.slabs.is_some() { 2 } else { 0 };
    settings.repeats * (curves + slabs)
}

/// Runs the comparison until it is complete or `interrupted`.
///
/// # Errors
/// The trace is not suitable, a server does not start, or the user interrupts the simulation. A replay that fails later is not
/// an error: the comparison reports it, and holds what was measured before.
pub fn run(
    settings: &RealVsSynthetic,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> Result<LoadComparison, RealVsSyntheticError> {
    let recorded = RecordedTrace::read(settings)?;
    watch(ComparisonProgress::TraceRead { requests: recorded.requests.len(), keys: recorded.keys.len() });
    let spread = slab_spread(settings, &recorded)?;
    cluster::check(settings, &recorded)?;
    let Simulated { zipf, loads, caches: simulated } = simulate_all(settings, &recorded, interrupted, watch)?;
    let exponents = exponents(&zipf);

    let folder = create_folder(&settings.directory)?;
    let engines = measure_engines(settings, &recorded, folder.path(), watch)?;
    let replayed = replayed_loads(&recorded, exponents);
    let plan = EnginePlan {
        settings,
        recorded: &recorded,
        engines: &engines,
        loads: &replayed,
        spread: spread.as_ref(),
        folder: folder.path(),
    };
    let (replays, mut failure) = plan.run(interrupted, watch);
    let replayed: Vec<ComparedLoad> =
        loads.iter().filter(|load| replayed.iter().any(|choice| choice.name() == load.name)).cloned().collect();
    let engine_results: Vec<EngineResult> = engines
        .iter()
        .map(|CacheEngine { name, version, footprint }| {
            let bytes = footprint.keys_bytes();
            results::engine_result(name, version, bytes, &settings.caches, &replayed, &replays, &simulated)
        })
        .collect();

    let rate = requests_per_s(settings, &engine_results);
    let mut hot_spots = hot_spots::compute(&recorded, exponents, settings, rate);
    let mut cluster_replays = 0;
    if settings.cluster.is_some() && failure.is_none() {
        cluster_replays = cluster::loads(exponents).len();
        let (path, spots) = (folder.path(), &mut hot_spots);
        failure = cluster::measure(settings, &recorded, exponents, path, spots, interrupted, watch).err();
    }
    let mut throughput = None;
    if let Some(table) = settings.throughput.as_ref().filter(|_| failure.is_none()) {
        let (path, exponent) = (folder.path(), exponents.all_keys);
        let (found, error) = throughput::measure(settings, table, &recorded, exponent, path, interrupted, watch);
        (throughput, failure) = (Some(found), error);
    }
    let mut all_findings = input_findings(&recorded, &engines, settings);
    all_findings.extend(failure.as_ref().map(failure_finding));
    all_findings.extend(findings(&engine_results, &loads, &replays, &zipf));
    let throughput_runs = throughput.as_ref().map_or(0, |throughput| throughput.runs.len());
    let planned_runs = settings.throughput.as_ref().map_or(0, |table| throughput::runs(settings, table));
    let measured = [replays.len(), hot_spots.measured.len(), throughput_runs];
    let status = status(failure.is_some(), measured == [plan.replays(), cluster_replays, planned_runs]);
    let mut decompositions = decompositions(settings, &recorded, &simulated, &engine_results, &replays, &hot_spots);
    if is_threatened(&recorded, &loads) {
        decompositions.iter_mut().for_each(|one| one.grade = one.grade.max(Grade::Indicative));
    }
    let headline = results::headline(&decompositions);
    Ok(LoadComparison {
        manometer: env!("CARGO_PKG_VERSION"),
        experiment: settings.name.clone(),
        status,
        headline: headline.text,
        grade: headline.grade,
        zipf,
        simulated,
        decompositions,
        hot_spots: Some(hot_spots),
        throughput,
        slabs: spread.as_ref().and_then(|spread| slabs(settings, spread, &replays)),
        engine_spreads: results::engine_spreads(&engine_results),
        engines: engine_results,
        loads,
        findings: all_findings,
        replays,
    })
}

/// The exact simulation.
struct Simulated {
    zipf: ZipfFits,
    loads: Vec<ComparedLoad>,
    caches: Vec<SimulatedCache>,
}

/// Simulates the trace, fits Zipf's law to it, and simulates all other loads.
fn simulate_all(
    settings: &RealVsSynthetic,
    recorded: &RecordedTrace,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> Result<Simulated, RealVsSyntheticError> {
    let failed = |error: manometer_cache::CacheError| {
        RealVsSyntheticError::unsuitable(&settings.trace, format!("it cannot be simulated: {error}"))
    };
    let mut made = LoadMaker::new(|kind: LoadKind| kind.make(recorded, settings.seed));
    let trace = simulate(made.load(LoadKind::Trace), recorded, false, &settings.caches);
    let curve: Vec<Option<f64>> = trace.map_err(failed)?.iter().map(|one| one.miss_ratio).collect();
    let zipf = zipf_fit::fit(recorded, &settings.caches, &curve, settings.seed).map_err(failed)?;
    watch(ComparisonProgress::ZipfFitted { all_keys: zipf.all_keys_exponent, curve: zipf.curve_exponent });
    let (mut loads, mut caches) = (Vec::new(), Vec::<SimulatedCache>::new());
    for choice in simulated_loads(recorded, exponents(&zipf)) {
        if interrupted.load(Ordering::Relaxed) {
            return Err(RealVsSyntheticError::Interrupted);
        }
        watch(ComparisonProgress::Simulating { load: &choice.name() });
        let load = made.load(choice.kind);
        loads.push(load.describe(choice.one_size));
        for mut own in simulate(load, recorded, choice.one_size, &settings.caches).map_err(failed)? {
            let trace = caches.iter().find(|other| other.load == results::TRACE && other.cache == own.cache);
            own.difference = trace
                .map_or_else(Default::default, |trace| results::miss_difference(trace, &own, settings.caches.len()));
            caches.push(own);
        }
    }
    Ok(Simulated { zipf, loads, caches })
}

fn exponents(zipf: &ZipfFits) -> Exponents {
    Exponents { all_keys: zipf.all_keys_exponent, curve: zipf.curve_exponent }
}

fn measure_engines(
    settings: &RealVsSynthetic,
    recorded: &RecordedTrace,
    folder: &Path,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> Result<Vec<CacheEngine>, RealVsSyntheticError> {
    let mut engines = Vec::new();
    for engine in &settings.engines {
        let directory = folder.join("footprint");
        let (footprint, version) = cache::measure_footprint(engine, &recorded.keys, settings.threads, &directory)?;
        watch(ComparisonProgress::Footprint { engine, bytes: footprint.keys_bytes() });
        engines.push(CacheEngine { name: engine.clone(), version, footprint });
    }
    Ok(engines)
}

/// The throughput of the trace on the largest cache of the first engine.
fn requests_per_s(settings: &RealVsSynthetic, engines: &[EngineResult]) -> Option<u64> {
    let largest = settings.caches.iter().copied().reduce(f64::max);
    let points = &engines.first()?.curves.first()?.points;
    let rate = points.iter().find(|point| Some(point.cache) == largest)?.ops_per_s.mean?;
    Some(rate.round() as u64)
}

/// How a comparison ended.
fn status(has_failed: bool, is_whole: bool) -> &'static str {
    match (has_failed, is_whole) {
        (true, _) => "failed",
        (false, true) => "complete",
        (false, false) => "interrupted",
    }
}

/// Why the Zipf load differs from the trace, in every result.
fn decompositions(
    settings: &RealVsSynthetic,
    recorded: &RecordedTrace,
    simulated: &[SimulatedCache],
    engines: &[EngineResult],
    replays: &[CacheReplay],
    spots: &HotSpots,
) -> Vec<Decomposition> {
    let (caches, steps) =
        (&settings.caches, results::steps_to_zipf(recorded.sizes_differ(), recorded.operations_differ()));
    let exact = results::simulated_decompositions(simulated, caches, &steps);
    let of_engine = |engine: &EngineResult| results::engine_decompositions(engine, replays, caches, &steps);
    let all = exact.into_iter().chain(engines.iter().flat_map(of_engine));
    all.chain(hot_spot_decompositions(spots)).chain(slab_decompositions(settings, replays)).collect()
}

/// The comparison of value sizes, where the settings have one.
fn slabs(settings: &RealVsSynthetic, spread: &SlabSpread, replays: &[CacheReplay]) -> Option<SlabComparison> {
    Some(SlabComparison {
        classes: spread.classes(),
        value_bytes_mean: spread.value_bytes_mean,
        cache_bytes: settings.slabs.as_ref()?.memory.0,
        loads: results::slab_results(replays),
    })
}

/// What makes hot spots differ, computed and on the cluster.
fn hot_spot_decompositions(spots: &HotSpots) -> impl Iterator<Item = Decomposition> {
    let steps = results::steps_to_zipf(false, false);
    let computed: Vec<&NodeLoad> = spots.loads.iter().collect();
    let measured: Vec<&NodeLoad> = spots.measured.iter().map(|own| &own.nodes).collect();
    let both = [(computed, "computed"), (measured, "Redis Cluster")];
    both.map(|(loads, on)| results::hot_spot_decomposition(&loads, on, &steps)).into_iter().flatten()
}

fn slab_decompositions(settings: &RealVsSynthetic, replays: &[CacheReplay]) -> Vec<Decomposition> {
    if settings.slabs.is_none() {
        return Vec::new();
    }
    results::slab_decompositions("memcached", replays, SPREAD_SIZES, ONE_SIZE)
}

/// The share of requests for keys of several sizes that is not reported.
const RESIZED_SHARE: f64 = 0.01;

/// Whether many values change their size.
fn sizes_vary(recorded: &RecordedTrace) -> bool {
    recorded.resized as f64 > RESIZED_SHARE * recorded.requests.len() as f64
}

/// Whether something may have changed the difference of the Zipf load from the trace: damage, values that change their size,
/// or another number of keys.
fn is_threatened(recorded: &RecordedTrace, loads: &[ComparedLoad]) -> bool {
    let zipf = loads.iter().find(|load| load.name == results::ZIPF);
    !recorded.damage.is_empty() || sizes_vary(recorded) || zipf.is_some_and(|zipf| has_other_keys(zipf, loads))
}

/// Creates a temporary folder in the directory.
fn create_folder(directory: &Path) -> Result<TempDir, RealVsSyntheticError> {
    let failed = |source| RealVsSyntheticError::Io { path: directory.to_owned(), source };
    Directory::create(directory).map_err(failed)?;
    tempfile::Builder::new().prefix("real-vs-synthetic-").tempdir_in(directory).map_err(failed)
}

/// The spread of values over slab classes, where the settings have one.
fn slab_spread(
    settings: &RealVsSynthetic,
    recorded: &RecordedTrace,
) -> Result<Option<SlabSpread>, RealVsSyntheticError> {
    let Some(table) = &settings.slabs else { return Ok(None) };
    let spread = SlabSpread::new(&recorded.keys, table.chunk_max.0);
    spread.map(Some).ok_or_else(|| {
        let reason = format!(
            "its longest key leaves no space for a value in chunks of up to {}: increase `slabs.chunk_max`",
            table.chunk_max
        );
        RealVsSyntheticError::unsuitable(&settings.trace, reason)
    })
}

/// What the person should know of the trace and of the caches.
fn input_findings(recorded: &RecordedTrace, engines: &[CacheEngine], settings: &RealVsSynthetic) -> Vec<Finding> {
    let damage = recorded.damage.iter().map(|damage| TRACE_DAMAGED.finding(None, damage));
    let coarse = engines.iter().filter_map(|CacheEngine { name: engine, footprint, .. }| {
        let sizes: Vec<u64> = settings.caches.iter().map(|cache| footprint.memory_bytes(engine, *cache)).collect();
        let same = sizes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        let sentence = format!(
            "The memory of {engine} is set in whole MiB, at least 2 MiB: {same} of the caches are no larger than the \
             previous one. All keys take {} bytes.",
            footprint.keys_bytes()
        );
        (same > 0).then(|| CACHES_TOO_SMALL.finding(None, &sentence))
    });
    let clock = hot_spots::counts_seconds(recorded).then(|| {
        let sentence = "The times of the trace are whole seconds. Requests are counted per second, and nothing is said of \
                        bursts within a second.";
        CLOCK_OF_SECONDS.finding(None, sentence)
    });
    let sizes = sizes_vary(recorded).then(|| {
        let share = 100.0 * recorded.resized as f64 / recorded.requests.len() as f64;
        let sentence = format!("{share:.0} % of the requests are for keys whose values change their size.");
        SIZES_VARY.finding(None, &sentence)
    });
    damage.chain(coarse).chain(clock).chain(sizes).collect()
}

fn failure_finding(error: &RealVsSyntheticError) -> Finding {
    let sentence = format!("{error}. The results contain only what was measured before.");
    REPLAY_FAILED.finding(None, &sentence)
}
