//! Simulates arrangements under loads on all cores, and compares their caches with more devices of the origin.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::block_requests::BlockRequests;
use super::comparison::{ComparisonMetric, OriginComparison, smallest_counts};
use super::series::TierInterval;
use super::settings::Arrangement;
use super::simulation::{TierLoad, TierResult, TierRun, run_with_progress};
use crate::CacheError;

/// The steps of progress of one simulation.
const STEPS: u64 = 1000;

/// A load and its name.
#[derive(Debug, Clone)]
pub struct NamedLoad {
    /// The name.
    pub name: String,
    /// The load.
    pub load: TierLoad,
}

/// An arrangement, whose swept cache sizes are included, and the loads to simulate it under.
#[derive(Debug, Clone)]
pub struct ArrangementLoads {
    /// The arrangement.
    pub arrangement: Arrangement,
    /// The loads.
    pub loads: Vec<NamedLoad>,
}

/// The result of an arrangement under a load.
#[derive(Debug, Clone)]
pub struct TierOutcome {
    /// The arrangement.
    pub arrangement: Arrangement,
    /// The load.
    pub load: NamedLoad,
    /// The result.
    pub result: TierResult,
    /// The course, the warm-up included.
    pub series: Vec<TierInterval>,
    /// The requests that the host sent to the devices in the measured time.
    pub block_requests: BlockRequests,
    /// The comparison with more devices of the origin, if the arrangement requests one.
    pub comparison: Option<OriginComparison>,
}

/// The progress of simulations, in steps.
pub trait SimulationProgress: Sync {
    /// More steps will follow.
    fn add_steps(&self, steps: u64);
    /// Steps are done.
    fn advance(&self, steps: u64);
}

/// The loads of an arrangement's own workloads: those of these names, or all.
///
/// # Errors
/// The arrangement has no workload of that name.
pub fn workload_loads(arrangement: &Arrangement, names: &[String]) -> Result<Vec<NamedLoad>, CacheError> {
    let workloads = &arrangement.workloads;
    let names = if names.is_empty() { workloads.keys().collect() } else { names.iter().collect::<Vec<_>>() };
    let load = |name: &String| match workloads.get(name) {
        Some(settings) => Ok(NamedLoad { name: name.clone(), load: TierLoad::Workload(settings.clone()) }),
        None => Err(CacheError::Invalid(format!(
            "there is no workload `{name}`: there are {}",
            workloads.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ))),
    };
    names.into_iter().map(load).collect()
}

/// Simulates every arrangement, and each of its swept caches, under each of its loads, in this order.
///
/// # Errors
/// A load does not fit an arrangement.
pub fn simulate_all(
    requested: &[ArrangementLoads],
    progress: &dyn SimulationProgress,
) -> Result<Vec<TierOutcome>, CacheError> {
    let scenarios: Vec<Scenario> = requested.iter().enumerate().flat_map(scenarios).collect();
    progress.add_steps(scenarios.len() as u64 * STEPS);
    let simulated = scenarios.into_par_iter().with_max_len(1).map(|Scenario { arrangement, load, group }| {
        let TierRun { result, series, block_requests, .. } = simulate(&arrangement, load, progress)?;
        let load = load.clone();
        Ok((group, TierOutcome { arrangement, load, result, series, block_requests, comparison: None }))
    });
    let mut outcomes = simulated.collect::<Result<Vec<_>, CacheError>>()?;
    let mut groups: BTreeMap<(usize, usize), Vec<&mut TierOutcome>> = BTreeMap::new();
    for (group, outcome) in &mut outcomes {
        groups.entry(*group).or_default().push(outcome);
    }
    let groups: Vec<Vec<&mut TierOutcome>> = groups.into_values().collect();
    groups.into_par_iter().with_max_len(1).try_for_each(|mut group| compare(&mut group, progress))?;
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// An arrangement under a load. Those of one group differ only in the size of the cache.
struct Scenario<'a> {
    arrangement: Arrangement,
    load: &'a NamedLoad,
    group: (usize, usize),
}

fn scenarios((number, requested): (usize, &ArrangementLoads)) -> Vec<Scenario<'_>> {
    let arrangement = &requested.arrangement;
    let all = std::iter::once(arrangement.clone()).chain(arrangement.swept());
    let under_each = |arrangement: Arrangement| {
        let loads = requested.loads.iter().enumerate();
        loads.map(move |(at, load)| Scenario { arrangement: arrangement.clone(), load, group: (number, at) })
    };
    all.flat_map(under_each).collect()
}

fn simulate(
    arrangement: &Arrangement,
    load: &NamedLoad,
    progress: &dyn SimulationProgress,
) -> Result<TierRun, CacheError> {
    let mut done = 0;
    let mut report = |share: f64| {
        let steps = (share * STEPS as f64) as u64;
        progress.advance(steps.saturating_sub(done));
        done = done.max(steps);
    };
    let result = run_with_progress(arrangement, &load.load, &mut report)
        .map_err(|error| CacheError::Invalid(format!("{}, {}: {error}", arrangement.name, load.name)));
    report(1.0);
    result
}

/// Compares the outcomes of a group. Without a cache, all of them are one simulation.
fn compare(group: &mut [&mut TierOutcome], progress: &dyn SimulationProgress) -> Result<(), CacheError> {
    let Some((arrangement, load)) = group.first().map(|first| (first.arrangement.clone(), first.load.clone())) else {
        return Ok(());
    };
    let Some(equal) = arrangement.equal else { return Ok(()) };
    let by = ComparisonMetric::of(&load.load);
    let results: Vec<TierResult> = group.iter().map(|outcome| outcome.result.clone()).collect();
    let is_as_good = |one: &TierResult, other: &TierResult| by.is_as_good(one, other);
    let counts = smallest_counts(equal, &results, is_as_good, |count, raid| {
        let other = arrangement.without_cache(count, raid);
        if other.validate().is_err() {
            return Ok(None);
        }
        progress.add_steps(STEPS);
        simulate(&other, &load, progress).map(|run| Some(run.result))
    })?;
    for (outcome, count) in group.iter_mut().zip(counts) {
        outcome.comparison = Some(OriginComparison { equal, by, count });
    }
    Ok(())
}
