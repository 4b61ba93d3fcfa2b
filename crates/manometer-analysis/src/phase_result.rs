//! The results of each phase of a recording: performance, pressure, steady state.

use std::collections::BTreeMap;

use manometer_measure::plan::Settings;
use manometer_measure::{Phase, PhaseKind, Recording, Workload};

use crate::criterion::{Metric, ThroughputUnit};
use crate::needed_length;
use crate::phase_outcome::{PhaseOutcome, phase_outcome};
use crate::pressure::{Performance, baseline_pressure, pressure};
use crate::recording_data::RecordingData;
use crate::statistics::SampleMean;
use crate::statistics::memory::sample_means;
use crate::steady_state::{SteadyStateTest, WarmUp, visible_warm_up};
use crate::summary::IntervalEstimate;
use crate::time_series::{TimeSeries, latency, throughput};

/// A phase of the plan with everything that was computed from it.
pub(crate) struct PhaseResult<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) outcome: PhaseOutcome,
    pub(crate) performance: Performance,
    /// The criterion, one number per sample interval; empty where it was not measured.
    pub(crate) values: Vec<f64>,
    pub(crate) pressure: IntervalEstimate,
    pub(crate) steady_state: Option<SteadyStateTest>,
    pub(crate) warm_up: Option<WarmUp>,
    pub(crate) neighbours: BTreeMap<String, Performance>,
}

impl PhaseResult<'_> {
    /// The phase's id.
    pub(crate) fn id(&self) -> &str {
        &self.phase.id
    }

    /// How long it was measured, in seconds; 0 where it was not.
    pub(crate) fn length_s(&self) -> f64 {
        self.outcome.window().map_or(0.0, |window| window.seconds())
    }

    /// The shortest length of the phase that has a confidence interval, in seconds; `None` without samples.
    pub(crate) fn shortest_s(&self) -> Option<f64> {
        let count = self.values.len();
        let needed = SampleMean::samples_needed(&self.values) as f64;
        (count > 0 && needed.is_finite()).then(|| needed * self.length_s() / count as f64)
    }

    /// When it was measured, in seconds since the start of the recording.
    pub(crate) fn bounds_s(&self, recording: &Recording) -> Option<(f64, f64)> {
        let window = self.outcome.window().ok()?;
        Some((recording.seconds(window.begin_ns), recording.seconds(window.end_ns)))
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
    results
}

/// A series, or why there is none.
type Measurement = Result<TimeSeries, String>;

/// A phase with its series.
struct MeasuredPhase<'a> {
    phase: &'a Phase,
    outcome: PhaseOutcome,
    criterion: Measurement,
    /// By neighbour: its throughput.
    neighbours: BTreeMap<String, Measurement>,
}

fn measure<'a>(recording: &'a Recording, data: &RecordingData, phase: &'a Phase) -> MeasuredPhase<'a> {
    let outcome = phase_outcome(recording, data, phase);
    let neighbours = recording.plan.neighbours().filter(|neighbour| phase.running.contains(&neighbour.name));
    let neighbours = neighbours.map(|one| (one.name.clone(), neighbour_series(recording, data, one, &outcome)));
    let neighbours = neighbours.collect();
    MeasuredPhase { phase, criterion: criterion_series(recording, data, phase, &outcome), neighbours, outcome }
}

/// The performances of all phases: what each workload did in all of them shares one memory.
fn evaluate<'a>(recording: &'a Recording, measured: Vec<MeasuredPhase<'a>>) -> Vec<PhaseResult<'a>> {
    let criterion: Vec<Option<&Measurement>> = measured.iter().map(|phase| Some(&phase.criterion)).collect();
    let performances = performances(&criterion, &recording.plan.criterion.unit, recording.plan.interval_s);
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
    results.map(|((measured, performance), neighbours)| result(measured, performance, neighbours)).collect()
}

fn result(
    measured: MeasuredPhase<'_>,
    performance: Option<Performance>,
    neighbours: BTreeMap<String, Performance>,
) -> PhaseResult<'_> {
    let MeasuredPhase { phase, outcome, criterion, .. } = measured;
    let length_s = outcome.window().map_or(0.0, |window| window.seconds());
    PhaseResult {
        phase,
        performance: performance.unwrap_or_default(),
        pressure: IntervalEstimate::default(),
        steady_state: criterion.as_ref().ok().and_then(|series| SteadyStateTest::of(series, length_s)),
        warm_up: criterion.as_ref().ok().and_then(visible_warm_up),
        neighbours,
        values: criterion.map(|series| series.values).unwrap_or_default(),
        outcome,
    }
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

/// The criterion in `phase`, one number per sample interval, or why there is none.
fn criterion_series(recording: &Recording, data: &RecordingData, phase: &Phase, outcome: &PhaseOutcome) -> Measurement {
    let primary = recording.plan.primary().ok_or("the experiment has no primary")?;
    if phase.kind == PhaseKind::Solo {
        return Err(SOLO.to_owned());
    }
    let window = outcome.window()?;
    match Metric::of(&recording.plan.criterion).map_err(|error| error.to_string())? {
        Metric::Throughput(unit) => {
            let samples = data.samples(&primary.name).ok_or_else(|| no_samples(&primary.name))?;
            Ok(throughput(samples, unit, window, recording.plan.interval_s))
        }
        Metric::Latency { operation, response, percentile, ns_per_unit } => {
            let bounds_s = (recording.seconds(window.begin_ns), recording.seconds(window.end_ns));
            let tag = if response { data.latency.response_tag(&operation) } else { operation };
            Ok(latency(&data.latency, &tag, percentile, ns_per_unit, bounds_s))
        }
    }
}

const SOLO: &str = "the primary does not run in a solo phase";

fn no_samples(workload: &str) -> String {
    format!("the recording has no readable samples of `{workload}`")
}

fn neighbour_series(
    recording: &Recording,
    data: &RecordingData,
    neighbour: &Workload,
    outcome: &PhaseOutcome,
) -> Measurement {
    let window = outcome.window()?;
    let unit = ThroughputUnit::of(&neighbour.unit).map_err(|error| error.to_string())?;
    let samples = data.samples(&neighbour.name).ok_or_else(|| no_samples(&neighbour.name))?;
    Ok(throughput(samples, unit, window, recording.plan.interval_s))
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
    IntervalEstimate {
        needed: needed_length::for_pressure(
            (&baseline.performance, baseline.length_s()),
            (&result.performance, result.length_s()),
            better,
        ),
        ..pressure(&baseline.performance, &result.performance, better)
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
