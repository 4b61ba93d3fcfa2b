//! The simulations, on all cores.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use manometer_cache::CacheError;
use manometer_cache::tier::workload::{TraceRequests, TraceSettings, read_trace};
use manometer_cache::tier::{Arrangement, TierLoad, TierResult, run_with_progress};
use manometer_trace::open;
use rayon::prelude::*;

use super::args::Args;
use super::comparison::{ComparisonMetric, OriginComparison};

/// A trace that every arrangement replays.
pub(super) struct TraceLoad {
    pub(super) trace: Arc<TraceRequests>,
    settings: TraceSettings,
    name: String,
}

impl TraceLoad {
    pub(super) fn read(path: &Path, args: &Args) -> Result<Self, CacheError> {
        let mut trace = open(path, &args.form.options(false)?)?;
        let requests = read_trace(&mut *trace.reader, args.object_size.0)?;
        if requests.requests.is_empty() {
            return Err(CacheError::Invalid(format!("{} has no requests", path.display())));
        }
        let settings = TraceSettings { threads: args.threads, is_direct: args.direct };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { trace: Arc::new(requests), settings, name })
    }
}

/// An arrangement under a load.
pub(super) struct TierSimulation {
    pub(super) arrangement: Arrangement,
    pub(super) workload: String,
    load: TierLoad,
    /// The index of its file: the simulations of one file differ in the size of the cache.
    file: usize,
}

/// The result of a simulation.
pub(super) struct TierOutcome {
    pub(super) simulation: TierSimulation,
    pub(super) result: TierResult,
    pub(super) comparison: Option<OriginComparison>,
}

/// The simulations of a file: the arrangement, and each of its swept caches, under each load.
pub(super) fn simulations(
    file: usize,
    path: &Path,
    args: &Args,
    trace: Option<&TraceLoad>,
) -> Result<Vec<TierSimulation>, CacheError> {
    let mut arrangement = Arrangement::load(path)?;
    arrangement.scale = if trace.is_some() { 1 } else { args.scale.unwrap_or(arrangement.scale) };
    arrangement.validate().map_err(|text| CacheError::Invalid(format!("{}: {text}", path.display())))?;
    let loads = match trace {
        Some(trace) => vec![(trace.name.clone(), TierLoad::Trace(Arc::clone(&trace.trace), trace.settings))],
        None => workloads(path, &arrangement, &args.workload)?,
    };
    let all = std::iter::once(arrangement.clone()).chain(arrangement.swept());
    Ok(all
        .flat_map(|arrangement| {
            loads.iter().map(move |(workload, load)| TierSimulation {
                arrangement: arrangement.clone(),
                workload: workload.clone(),
                load: load.clone(),
                file,
            })
        })
        .collect())
}

fn workloads(path: &Path, arrangement: &Arrangement, wanted: &[String]) -> Result<Vec<(String, TierLoad)>, CacheError> {
    let known: Vec<&String> = arrangement.workloads.keys().collect();
    let wanted: Vec<&String> = if wanted.is_empty() { known.clone() } else { wanted.iter().collect() };
    let load = |name: &String| match arrangement.workloads.get(name) {
        Some(settings) => Ok((name.clone(), TierLoad::Workload(settings.clone()))),
        None => Err(CacheError::Invalid(format!(
            "{} has no workload `{name}`: it has {}",
            path.display(),
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ))),
    };
    wanted.into_iter().map(load).collect()
}

/// The steps of the progress bar for each simulation.
const STEPS: u64 = 1000;

/// Runs the simulations and the comparisons.
pub(super) fn simulate(simulations: Vec<TierSimulation>) -> Result<Vec<TierOutcome>, CacheError> {
    let bar = ProgressBar::new(simulations.len() as u64 * STEPS).with_style(
        ProgressStyle::with_template("simulating {bar:40} {percent} %, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.tick();
    let simulated = simulations.into_par_iter().with_max_len(1).map(|simulation| {
        let result = run(&simulation.arrangement, &simulation, &bar)?;
        Ok(TierOutcome { simulation, result, comparison: None })
    });
    let simulated = simulated.collect::<Result<Vec<TierOutcome>, CacheError>>();
    let comparison = simulated.and_then(|mut outcomes| {
        compare(&mut outcomes, &bar)?;
        Ok(outcomes)
    });
    bar.finish_and_clear();
    comparison
}

/// Simulates an arrangement under the load of `simulation`.
fn run(arrangement: &Arrangement, simulation: &TierSimulation, bar: &ProgressBar) -> Result<TierResult, CacheError> {
    let mut done = 0;
    let mut report = |share: f64| {
        let steps = (share * STEPS as f64) as u64;
        bar.inc(steps.saturating_sub(done));
        done = done.max(steps);
    };
    let result = run_with_progress(arrangement, &simulation.load, &mut report)
        .map_err(|error| CacheError::Invalid(format!("{}, {}: {error}", arrangement.name, simulation.workload)));
    report(1.0);
    result
}

/// Runs the comparisons. Without a cache, all cache sizes of a file are one simulation.
fn compare(outcomes: &mut [TierOutcome], bar: &ProgressBar) -> Result<(), CacheError> {
    let mut groups: BTreeMap<(usize, String), Vec<&mut TierOutcome>> = BTreeMap::new();
    for outcomes in outcomes.iter_mut().filter(|outcomes| outcomes.simulation.arrangement.equal.is_some()) {
        groups.entry((outcomes.simulation.file, outcomes.simulation.workload.clone())).or_default().push(outcomes);
    }
    groups.into_values().collect::<Vec<_>>().into_par_iter().with_max_len(1).try_for_each(|mut group| {
        for outcomes in &mut group {
            let by = by(&outcomes.simulation);
            outcomes.comparison =
                outcomes.simulation.arrangement.equal.map(|equal| OriginComparison { equal, by, count: None });
        }
        find_equal(&mut group, bar)
    })
}

fn by(simulation: &TierSimulation) -> ComparisonMetric {
    match &simulation.load {
        TierLoad::Trace(_, settings) if settings.is_open() => ComparisonMetric::Latency,
        _ => ComparisonMetric::Throughput,
    }
}

/// Finds the smallest number of devices without a cache that is as fast as each of these; for a trace with its own times,
/// by latency.
fn find_equal(group: &mut [&mut TierOutcome], bar: &ProgressBar) -> Result<(), CacheError> {
    let Some(equal) = group.first().and_then(|outcomes| outcomes.simulation.arrangement.equal) else { return Ok(()) };
    for (count, raid) in equal.counts() {
        let Some(first) =
            group.iter().find(|outcomes| outcomes.comparison.as_ref().is_some_and(|one| one.count.is_none()))
        else {
            break;
        };
        let other = first.simulation.arrangement.without_cache(count, raid);
        // So few devices may be too small for the data.
        if other.validate().is_err() {
            continue;
        }
        bar.inc_length(STEPS);
        let alone = run(&other, &first.simulation, bar)?;
        for TierOutcome { result, comparison, .. } in group.iter_mut().map(|outcomes| &mut **outcomes) {
            if let Some(OriginComparison { by, count: found @ None, .. }) = comparison
                && by.is_as_good(&alone, result)
            {
                *found = Some(count);
            }
        }
    }
    Ok(())
}
