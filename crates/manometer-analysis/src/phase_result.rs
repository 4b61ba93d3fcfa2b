//! The results of each phase of a recording: performance, pressure, steady state.

use std::collections::BTreeMap;

use manometer_measure::plan::Settings;
use manometer_measure::{Phase, PhaseKind, Recording, Workload};

use crate::criterion::{Metric, ThroughputUnit};
use crate::needed_length;
use crate::phase_outcome::{PhaseOutcome, phase_outcome};
use crate::pressure::{Performance, baseline_pressure, pressure};
use crate::recording_data::RecordingData;
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

    /// When it was measured, in seconds since the start of the recording.
    pub(crate) fn bounds_s(&self, recording: &Recording) -> Option<(f64, f64)> {
        let window = self.outcome.window().ok()?;
        Some((recording.seconds(window.begin_ns), recording.seconds(window.end_ns)))
    }
}

/// The result of every phase of the plan except the warm-up.
pub(crate) fn evaluate_phases<'a>(recording: &'a Recording, data: &RecordingData) -> Vec<PhaseResult<'a>> {
    let phases = recording.plan.phases.iter().filter(|phase| phase.kind != PhaseKind::Warmup);
    let mut results: Vec<PhaseResult<'_>> = phases.map(|phase| evaluate(recording, data, phase)).collect();
    let pressures: Vec<IntervalEstimate> =
        results.iter().map(|result| primary_pressure(recording, &results, result)).collect();
    results.iter_mut().zip(pressures).for_each(|(result, pressure)| result.pressure = pressure);
    results
}

fn evaluate<'a>(recording: &'a Recording, data: &RecordingData, phase: &'a Phase) -> PhaseResult<'a> {
    let outcome = phase_outcome(recording, data, phase);
    let series = criterion_series(recording, data, phase, &outcome);
    let length_s = outcome.window().map_or(0.0, |window| window.seconds());
    let unit = &recording.plan.criterion.unit;
    let neighbours = recording.plan.neighbours().filter(|neighbour| phase.running.contains(&neighbour.name));
    PhaseResult {
        phase,
        performance: performance(&series, unit, recording.plan.interval_s),
        pressure: IntervalEstimate::default(),
        steady_state: series.as_ref().ok().and_then(|series| SteadyStateTest::of(series, length_s)),
        warm_up: series.as_ref().ok().and_then(visible_warm_up),
        neighbours: neighbours
            .map(|neighbour| (neighbour.name.clone(), neighbour_performance(recording, data, neighbour, &outcome)))
            .collect(),
        values: series.map(|series| series.values).unwrap_or_default(),
        outcome,
    }
}

/// The performance of `series`, or why there is none.
fn performance(series: &Result<TimeSeries, String>, unit: &str, interval_s: f64) -> Performance {
    let series = match series {
        Ok(series) => series,
        Err(reason) => return Performance::missing(unit, reason),
    };
    let mut performance = Performance::of(&series.values, unit);
    if performance.sample_mean.is_none() && performance.estimate.mean.is_some() {
        performance.estimate.needed = needed_length::for_interval(&series.values, series.interval_s(interval_s));
    }
    performance
}

/// The criterion in `phase`, one number per sample interval, or why there is none.
fn criterion_series(
    recording: &Recording,
    data: &RecordingData,
    phase: &Phase,
    outcome: &PhaseOutcome,
) -> Result<TimeSeries, String> {
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

fn neighbour_performance(
    recording: &Recording,
    data: &RecordingData,
    neighbour: &Workload,
    outcome: &PhaseOutcome,
) -> Performance {
    let series = outcome.window().map_err(str::to_owned).and_then(|window| {
        let unit = ThroughputUnit::of(&neighbour.unit).map_err(|error| error.to_string())?;
        let samples = data.samples(&neighbour.name).ok_or_else(|| no_samples(&neighbour.name))?;
        Ok(throughput(samples, unit, window, recording.plan.interval_s))
    });
    performance(&series, &neighbour.unit, recording.plan.interval_s)
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
    let length_s = |result: &PhaseResult<'_>| result.outcome.window().map_or(0.0, |window| window.seconds());
    IntervalEstimate {
        needed: needed_length::for_pressure(
            (&baseline.performance, length_s(baseline)),
            (&result.performance, length_s(result)),
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
