//! The results of each phase of a recording: performance, pressure, steady state.

use std::collections::BTreeMap;

use manometer_measure::plan::{Plan, Settings};
use manometer_measure::{Phase, PhaseKind, PlannedWorkload, Recording};

use crate::criterion::ThroughputUnit;
use crate::criterion_series::{SOLO, criterion_series, no_samples};
use crate::estimate::IntervalEstimate;
use crate::interleaved::{Block, block_series, blocks_of, paired, pressure_of_rounds};
use crate::measured_time::MeasuredTime;
use crate::needed_length::{self, ComparedPhases};
use crate::phase_outcome::{PhaseOutcome, phase_outcome};
use crate::pressure::{Performance, baseline_pressure, pressure};
use crate::recording_data::RecordingData;
use crate::statistics::SampleMean;
use crate::statistics::holm::adjusted;
use crate::statistics::memory::sample_means;
use crate::steady_state::{SteadyStateTest, WarmUp, visible_warm_up};
use crate::time_series::{TimeSeries, throughput};

/// A phase of the plan with everything that was computed from it.
pub(crate) struct PhaseResult<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) outcome: PhaseOutcome,
    pub(crate) performance: Performance,
    /// The criterion, one number per sample interval, or per block of an interleaved plan; empty where it was not measured.
    pub(crate) values: Vec<f64>,
    /// Its blocks, in the order of their rounds; none in a ladder.
    pub(crate) blocks: Vec<Block>,
    pub(crate) pressure: IntervalEstimate,
    pub(crate) steady_state: Option<SteadyStateTest>,
    pub(crate) warm_up: Option<WarmUp>,
    pub(crate) neighbours: BTreeMap<String, Performance>,
    /// Whether the primary runs alone in it, with the settings of `w0`.
    pub(crate) repeats_baseline: bool,
}

impl PhaseResult<'_> {
    /// The phase's id.
    pub(crate) fn id(&self) -> &str {
        &self.phase.id
    }

    /// Whether something in it differs from `w0`: a neighbour runs, or the primary has other settings.
    pub(crate) fn is_under_pressure(&self) -> bool {
        self.phase.kind == PhaseKind::Pressure && !self.repeats_baseline
    }

    /// Whether the performance of any workload was measured.
    pub(crate) fn is_measured(&self) -> bool {
        let all = std::iter::once(&self.performance).chain(self.neighbours.values());
        all.into_iter().any(|performance| performance.estimate.mean.is_some())
    }

    /// For how long it was measured, in seconds; 0 where it was not.
    pub(crate) fn length_s(&self) -> f64 {
        self.outcome.time().map_or(0.0, MeasuredTime::seconds)
    }

    /// The shortest length of the phase that has a confidence interval, in seconds; `None` without samples.
    pub(crate) fn shortest_s(&self) -> Option<f64> {
        let count = self.values.len();
        let needed = SampleMean::samples_needed(&self.values) as f64;
        (count > 0 && needed.is_finite()).then(|| needed * self.length_s() / count as f64)
    }

    /// The intervals in which it was measured, in seconds since the start of the recording; empty where it was not.
    pub(crate) fn stretches_s(&self, recording: &Recording) -> Vec<(f64, f64)> {
        let windows = self.outcome.time().map_or(&[][..], MeasuredTime::windows);
        windows.iter().map(|window| window.bounds_s(recording)).collect()
    }
}

/// The result of every phase of the plan except the warm-up.
pub(crate) fn evaluate_phases<'a>(recording: &'a Recording, data: &RecordingData) -> Vec<PhaseResult<'a>> {
    let phases = recording.plan.phases.iter().filter(|phase| phase.kind != PhaseKind::Warmup);
    let measured: Vec<MeasuredPhase<'_>> = phases.map(|phase| measure(recording, data, phase)).collect();
    let mut results = evaluate(recording, measured);
    let pressures: Vec<IntervalEstimate> =
        results.iter().map(|result| primary_pressure(recording, &results, result)).collect();
    results.iter_mut().zip(pressures).for_each(|(result, pressure)| result.pressure = pressure);
    correct_drifts(&mut results);
    results
}

/// Corrects the tests for drift over the phases (Holm): of twenty steady ones, one drifts by chance.
fn correct_drifts(results: &mut [PhaseResult<'_>]) {
    let mut tests: Vec<&mut SteadyStateTest> =
        results.iter_mut().filter_map(|result| result.steady_state.as_mut()).collect();
    let p_values: Vec<f64> = tests.iter().map(|test| test.drift_p_value).collect();
    tests.iter_mut().zip(adjusted(&p_values)).for_each(|(test, p_value)| test.drift_p_value = p_value);
}

/// A series, or why there is none.
type Measurement = Result<TimeSeries, String>;

/// A phase with its series.
struct MeasuredPhase<'a> {
    phase: &'a Phase,
    outcome: PhaseOutcome,
    criterion: Measurement,
    /// Its blocks; none in a ladder.
    blocks: Vec<Block>,
    /// By neighbour: its throughput.
    neighbours: BTreeMap<String, Measurement>,
}

fn measure<'a>(recording: &'a Recording, data: &RecordingData, phase: &'a Phase) -> MeasuredPhase<'a> {
    let outcome = phase_outcome(recording, data, phase);
    let stretches = outcome.time().map_err(str::to_owned).and_then(|time| {
        let series = criterion_series(recording, data, phase, time)?;
        Ok((time, series))
    });
    let blocks = match &stretches {
        Ok((time, series)) => blocks_of(recording, phase, time, series),
        Err(_) => Vec::new(),
    };
    let is_whole = blocks.is_empty();
    let criterion = stretches.map(|(time, series)| if is_whole { time.joined(series) } else { block_series(&blocks) });
    let neighbours = recording.plan.neighbours().filter(|neighbour| phase.running.contains(&neighbour.name));
    let neighbours = neighbours.map(|one| (one.name.clone(), neighbour_series(recording, data, one, &outcome)));
    let neighbours = neighbours.collect();
    MeasuredPhase { phase, criterion, blocks, neighbours, outcome }
}

/// The performances of all phases: what each workload did in all of them shares one memory.
fn evaluate<'a>(recording: &'a Recording, measured: Vec<MeasuredPhase<'a>>) -> Vec<PhaseResult<'a>> {
    let criterion: Vec<Option<&Measurement>> = measured.iter().map(|phase| Some(&phase.criterion)).collect();
    let performances = performances(&criterion, &recording.plan.criterion.unit, recording.plan.interval_s);
    let performances =
        performances.into_iter().zip(&measured).map(|(performance, measured)| match measured.blocks[..] {
            [] => performance,
            // What a phase of blocks needs is rounds, which its pressure says.
            [..] => performance.map(Performance::without_needed_length),
        });
    let performances: Vec<Option<Performance>> = performances.collect();
    let mut neighbours: Vec<BTreeMap<String, Performance>> = measured.iter().map(|_| BTreeMap::new()).collect();
    for neighbour in recording.plan.neighbours() {
        let series: Vec<Option<&Measurement>> =
            measured.iter().map(|phase| phase.neighbours.get(&neighbour.name)).collect();
        let own = self::performances(&series, &neighbour.unit, recording.plan.interval_s);
        for (phase, performance) in neighbours.iter_mut().zip(own) {
            phase.extend(performance.map(|performance| (neighbour.name.clone(), performance)));
        }
    }
    let results = measured.into_iter().zip(performances).zip(neighbours);
    results
        .map(|((measured, performance), neighbours)| result(&recording.plan, measured, performance, neighbours))
        .collect()
}

fn result<'a>(
    plan: &Plan,
    measured: MeasuredPhase<'a>,
    performance: Option<Performance>,
    neighbours: BTreeMap<String, Performance>,
) -> PhaseResult<'a> {
    let least_steady = if plan.primary().is_some() { None } else { least_steady(&measured) };
    let MeasuredPhase { phase, outcome, criterion, blocks, .. } = measured;
    let length_s = outcome.time().map_or(0.0, MeasuredTime::seconds);
    let whole = criterion.as_ref().ok().filter(|_| blocks.is_empty());
    PhaseResult {
        phase,
        performance: performance.unwrap_or_default(),
        pressure: IntervalEstimate::default(),
        // Blocks are compared within their rounds: that the host drifts from round to round does not matter.
        steady_state: whole.and_then(|series| SteadyStateTest::of(series, length_s)).or(least_steady),
        warm_up: whole.and_then(visible_warm_up),
        neighbours,
        repeats_baseline: repeats_baseline(plan, phase),
        values: criterion.map(|series| series.values).unwrap_or_default(),
        blocks,
        outcome,
    }
}

/// The test of the neighbour that is least steady in a phase, where its result rests on neighbours alone; one that is not in
/// steady state before one that is.
fn least_steady(measured: &MeasuredPhase<'_>) -> Option<SteadyStateTest> {
    let length_s = measured.outcome.time().map_or(0.0, MeasuredTime::seconds);
    let series = measured.neighbours.values().filter_map(|series| series.as_ref().ok());
    let tests = series.filter_map(|series| SteadyStateTest::of(series, length_s));
    tests.max_by(|one, other| {
        let by_rounds = one.rounds.range.total_cmp(&other.rounds.range);
        other.is_steady().cmp(&one.is_steady()).then(by_rounds)
    })
}

/// The performances of one workload in the phases in which it runs.
fn performances(phases: &[Option<&Measurement>], unit: &str, interval_s: f64) -> Vec<Option<Performance>> {
    let values = |phase: &Option<&Measurement>| match phase {
        Some(Ok(series)) => series.values.clone(),
        _ => Vec::new(),
    };
    let values: Vec<Vec<f64>> = phases.iter().map(values).collect();
    let means = sample_means(&values.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let phases = phases.iter().zip(means);
    phases.map(|(series, mean)| Some(performance((*series)?, mean, unit, interval_s))).collect()
}

fn performance(series: &Measurement, mean: Option<SampleMean>, unit: &str, interval_s: f64) -> Performance {
    let series = match series {
        Ok(series) => series,
        Err(reason) => return Performance::missing(unit, reason),
    };
    let mut performance = Performance::with(&series.values, mean, unit);
    if performance.sample_mean.is_none() && performance.estimate.mean.is_some() {
        performance.estimate.needed = needed_length::for_interval(&series.values, series.interval_s(interval_s));
    }
    performance
}

fn neighbour_series(
    recording: &Recording,
    data: &RecordingData,
    neighbour: &PlannedWorkload,
    outcome: &PhaseOutcome,
) -> Measurement {
    let time = outcome.time()?;
    let unit = ThroughputUnit::of(&neighbour.unit).map_err(|error| error.to_string())?;
    let samples = data.samples(&neighbour.name).ok_or_else(|| no_samples(&neighbour.name))?;
    let parts = time.windows().iter().map(|window| throughput(samples, unit, *window, recording.plan.interval_s));
    Ok(time.joined(parts.collect()))
}

fn repeats_baseline(plan: &Plan, phase: &Phase) -> bool {
    let baseline = plan.phases.iter().find(|phase| phase.kind == PhaseKind::Baseline);
    let (Some(primary), Some(baseline)) = (plan.primary(), baseline) else { return false };
    let own = |phase| workload_settings(phase, &primary.name);
    phase.running == [primary.name.as_str()] && own(&phase.settings) == own(&baseline.settings)
}

/// `w0`: the first measured phase without neighbours.
pub(crate) fn baseline<'a, 'b>(results: &'a [PhaseResult<'b>]) -> Option<&'a PhaseResult<'b>> {
    results.iter().find(|result| result.phase.kind == PhaseKind::Baseline && result.performance.estimate.mean.is_some())
}

fn primary_pressure(recording: &Recording, results: &[PhaseResult<'_>], result: &PhaseResult<'_>) -> IntervalEstimate {
    if result.phase.kind == PhaseKind::Solo {
        return IntervalEstimate::missing(SOLO);
    }
    let Some(baseline) = baseline(results) else {
        return IntervalEstimate::missing("the phase without neighbours (w0) was not measured");
    };
    let better = recording.plan.criterion.better;
    let own = pressure(&baseline.performance, &baseline.performance, better);
    if result.id() == baseline.id() && own.value.is_some() {
        return baseline_pressure();
    }
    let compared = compared_phases(recording, baseline, result);
    let pressure = match &compared {
        ComparedPhases::Rounds { rounds, .. } => pressure_of_rounds(rounds, better),
        ComparedPhases::Ladder { .. } => pressure(&baseline.performance, &result.performance, better),
    };
    let needed = pressure.value.and_then(|value| {
        let width = needed_length::greatest_width(value, better);
        compared.needed(width, better, &needed_length::narrow_purpose(width))
    });
    IntervalEstimate { needed, ..pressure }
}

/// `baseline` and `result`, as their pressure is computed from them.
pub(crate) fn compared_phases<'a>(
    recording: &Recording,
    baseline: &'a PhaseResult<'_>,
    result: &'a PhaseResult<'_>,
) -> ComparedPhases<'a> {
    match &recording.plan.interleaved {
        Some(plan) if !baseline.blocks.is_empty() => ComparedPhases::Rounds {
            rounds: paired(&baseline.blocks, &result.blocks),
            block_s: plan.measured_s(),
            balanced: plan.balanced_rounds(),
        },
        _ => ComparedPhases::Ladder {
            baseline: (&baseline.performance, baseline.length_s()),
            phase: (&result.performance, result.length_s()),
        },
    }
}

/// The settings of `workload`: the keys `workload.…` without that prefix.
pub(crate) fn workload_settings<'a>(
    settings: &'a Settings,
    workload: &str,
) -> BTreeMap<&'a str, &'a serde_json::Value> {
    let own = settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(workload)?.strip_prefix('.')?, value)));
    own.collect()
}
