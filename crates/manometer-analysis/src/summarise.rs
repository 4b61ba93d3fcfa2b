//! A recording -> what it means.

use std::collections::BTreeMap;

use manometer_measure::event::Status;
use manometer_measure::histogram::PERCENTILES;
use manometer_measure::latency_log::response_tag;
use manometer_measure::plan::{Better, Settings};
use manometer_measure::{Event, LatencyHistogram, Phase, PhaseKind, Recording, Workload};

use crate::criterion::{Metric, Throughput};
use crate::fairness::{Tenant, fairness};
use crate::fidelity::Fidelity;
use crate::findings;
use crate::headline;
use crate::phases::{Fate, fate};
use crate::pressure::{Performance, no_pressure, own_pressure, pressure};
use crate::scale::{self, Rung};
use crate::series::{Series, latency, latency_intervals, throughput};
use crate::sources::Sources;
use crate::steady::{Steadiness, WarmUp, visible_warm_up};
use crate::summary::{Fairness, LatencySummary, NeighbourSummary, PhaseSummary, Ratio, Summary};

const NS_PER_US: f64 = 1e3;

/// A phase with all that was computed of it.
pub(crate) struct Judged<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) fate: Fate,
    pub(crate) performance: Performance,
    /// The criterion, one number per sample interval; empty where it was not measured.
    pub(crate) values: Vec<f64>,
    pub(crate) pressure: Ratio,
    pub(crate) steadiness: Option<Steadiness>,
    pub(crate) warm_up: Option<WarmUp>,
    neighbours: BTreeMap<String, Performance>,
}

/// Computes everything that `recording` says, and nothing that it does not: what was not measured is null
/// with its reason. Damage is told as findings; a recording that opens always has a summary.
pub fn summarise(recording: &Recording) -> Summary {
    let sources = Sources::read(recording);
    let judged = judge_all(recording, &sources);
    let scale = scale::steps(&rungs(&judged));
    Summary {
        manometer: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: recording.plan.experiment.clone(),
        status: status_word(recording.status()).to_owned(),
        criterion: recording.plan.criterion.clone(),
        headline: headline::headline(recording, &sources, &judged),
        scale_rule: scale::RULE.to_owned(),
        phases: judged.iter().map(|one| phase_summary(recording, &sources, &judged, one)).collect(),
        scale,
        replays: replays(recording),
        findings: findings::findings(recording, &sources, &judged),
    }
}

/// How like its trace each workload was that replayed one and came to say so.
fn replays(recording: &Recording) -> BTreeMap<String, Fidelity> {
    let told = recording.events.iter().filter_map(|line| match &line.event {
        Event::Replayed { workload, replayed } => Some((workload.clone(), Fidelity::of(replayed))),
        _ => None,
    });
    told.collect()
}

/// Every phase of the plan with what was computed of it, warm-up left out.
pub(crate) fn judge_all<'a>(recording: &'a Recording, sources: &Sources) -> Vec<Judged<'a>> {
    let phases = recording.plan.phases.iter().filter(|phase| phase.kind != PhaseKind::Warmup);
    let mut judged: Vec<Judged<'_>> = phases.map(|phase| judge(recording, sources, phase)).collect();
    let pressures: Vec<Ratio> = judged.iter().map(|one| primary_pressure(recording, &judged, one)).collect();
    judged.iter_mut().zip(pressures).for_each(|(one, pressure)| one.pressure = pressure);
    judged
}

fn status_word(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::Complete) => "complete",
        Some(Status::Interrupted) => "interrupted",
        Some(Status::Failed) => "failed",
        None => "cut",
    }
}

fn judge<'a>(recording: &'a Recording, sources: &Sources, phase: &'a Phase) -> Judged<'a> {
    let fate = fate(recording, sources, phase);
    let series = criterion_series(recording, sources, phase, &fate);
    let length_s = fate.window().map_or(0.0, |window| window.seconds());
    let unit = &recording.plan.criterion.unit;
    let neighbours = recording.plan.neighbours().filter(|neighbour| phase.running.contains(&neighbour.name));
    Judged {
        phase,
        performance: match &series {
            Ok(series) => Performance::of(&series.values, unit),
            Err(reason) => Performance::missing(unit, reason),
        },
        pressure: Ratio::default(),
        steadiness: series.as_ref().ok().and_then(|series| Steadiness::of(series, length_s)),
        warm_up: series.as_ref().ok().and_then(visible_warm_up),
        neighbours: neighbours
            .map(|neighbour| (neighbour.name.clone(), neighbour_performance(recording, sources, neighbour, &fate)))
            .collect(),
        values: series.map(|series| series.values).unwrap_or_default(),
        fate,
    }
}

/// The criterion in `phase`, one number per sample interval, or why there is none.
fn criterion_series(recording: &Recording, sources: &Sources, phase: &Phase, fate: &Fate) -> Result<Series, String> {
    let primary = recording.plan.primary().ok_or("the experiment has no primary")?;
    if phase.kind == PhaseKind::Solo {
        return Err("the primary does not run while a neighbour is measured alone".to_owned());
    }
    let window = fate.window()?;
    match Metric::of(&recording.plan.criterion).map_err(|error| error.to_string())? {
        Metric::Throughput(what) => {
            let samples = sources.samples(&primary.name).ok_or_else(|| no_samples(&primary.name))?;
            Ok(throughput(samples, what, window, recording.plan.interval_s))
        }
        Metric::Latency { operation, response, percentile, ns_per_unit } => {
            let bounds_s = (recording.seconds(window.begin_ns), recording.seconds(window.end_ns));
            let tag = if response { sources.latency.response_tag(&operation) } else { operation };
            Ok(latency(&sources.latency, &tag, percentile, ns_per_unit, bounds_s))
        }
    }
}

fn no_samples(workload: &str) -> String {
    format!("the recording has no readable samples of `{workload}`")
}

fn neighbour_performance(recording: &Recording, sources: &Sources, neighbour: &Workload, fate: &Fate) -> Performance {
    let unit = &neighbour.unit;
    let series = fate.window().map_err(str::to_owned).and_then(|window| {
        let what = Throughput::of_unit(unit).map_err(|error| error.to_string())?;
        let samples = sources.samples(&neighbour.name).ok_or_else(|| no_samples(&neighbour.name))?;
        Ok(throughput(samples, what, window, recording.plan.interval_s))
    });
    match series {
        Ok(series) => Performance::of(&series.values, unit),
        Err(reason) => Performance::missing(unit, &reason),
    }
}

/// `w0`: the first phase without neighbours that was measured.
pub(crate) fn baseline<'a, 'b>(judged: &'a [Judged<'b>]) -> Option<&'a Judged<'b>> {
    judged.iter().find(|one| one.phase.kind == PhaseKind::Baseline && one.performance.told.mean.is_some())
}

fn primary_pressure(recording: &Recording, judged: &[Judged<'_>], one: &Judged<'_>) -> Ratio {
    if one.phase.kind == PhaseKind::Solo {
        return no_pressure("the primary does not run while a neighbour is measured alone");
    }
    let Some(alone) = baseline(judged) else {
        return no_pressure("the phase without neighbours was not measured");
    };
    let against_itself = pressure(&alone.performance, &alone.performance, recording.plan.criterion.better);
    if one.phase.id == alone.phase.id && against_itself.value.is_some() {
        return own_pressure();
    }
    pressure(&alone.performance, &one.performance, recording.plan.criterion.better)
}

/// Solo phases measure no primary, and what has no pressure has no place: neither is on the scale.
fn rungs(judged: &[Judged<'_>]) -> Vec<Rung> {
    judged
        .iter()
        .filter_map(|one| {
            let pressure = one.pressure.value?;
            Some(Rung { id: one.phase.id.clone(), pressure, performance: one.performance.measured })
        })
        .collect()
}

fn phase_summary(recording: &Recording, sources: &Sources, judged: &[Judged<'_>], one: &Judged<'_>) -> PhaseSummary {
    let window = one.fate.window().ok();
    let bounds_s = window.map(|window| (recording.seconds(window.begin_ns), recording.seconds(window.end_ns)));
    let neighbours = one.neighbours.iter().map(|(name, performance)| {
        let pressure = neighbour_pressure(judged, one, name, performance);
        (name.clone(), NeighbourSummary { performance: performance.told.clone(), pressure })
    });
    PhaseSummary {
        id: one.phase.id.clone(),
        label: one.phase.label.clone(),
        kind: one.phase.kind,
        start_s: bounds_s.map(|bounds_s| bounds_s.0),
        end_s: bounds_s.map(|bounds_s| bounds_s.1),
        steady: one.steadiness.map(|steadiness| steadiness.steady()),
        settings: one.phase.settings.clone(),
        performance: one.performance.told.clone(),
        pressure: one.pressure.clone(),
        neighbours: neighbours.collect(),
        fairness: phase_fairness(recording, judged, one),
        latency_us: match bounds_s {
            Some(bounds_s) if one.phase.kind != PhaseKind::Solo => latencies(sources, bounds_s, str::to_owned),
            _ => BTreeMap::new(),
        },
        response_us: match bounds_s {
            Some(bounds_s) if one.phase.kind != PhaseKind::Solo => latencies(sources, bounds_s, response_tag),
            _ => BTreeMap::new(),
        },
    }
}

/// What the phase costs the neighbour `name` against the first measured phase in which it ran alone with
/// the same settings.
fn neighbour_pressure(judged: &[Judged<'_>], one: &Judged<'_>, name: &str, performance: &Performance) -> Ratio {
    let Some(solo) = solo_of(judged, one, name) else {
        return no_pressure("it was not measured alone with these settings: say `solo = true`");
    };
    if solo.phase.id == one.phase.id && performance.told.mean.is_some_and(|mean| mean > 0.0) {
        return own_pressure();
    }
    let Some(reference) = solo.neighbours.get(name) else { return no_pressure("it was not measured alone") };
    pressure(reference, performance, Better::Higher)
}

/// The phase in which the neighbour `name` ran alone with the settings that it has in `one`.
fn solo_of<'a, 'b>(judged: &'a [Judged<'b>], one: &Judged<'_>, name: &str) -> Option<&'a Judged<'b>> {
    judged.iter().find(|other| {
        other.phase.kind == PhaseKind::Solo
            && other.phase.running == [name]
            && own_settings(&other.phase.settings, name) == own_settings(&one.phase.settings, name)
    })
}

/// How evenly the primary and its neighbours suffer in a phase.
fn phase_fairness(recording: &Recording, judged: &[Judged<'_>], one: &Judged<'_>) -> Option<Fairness> {
    let primary = recording.plan.primary().filter(|_| one.phase.kind == PhaseKind::Pressure)?;
    let mean = |performance: &Performance| performance.told.mean;
    let same = |alone: &&Judged<'_>| {
        own_settings(&alone.phase.settings, &primary.name) == own_settings(&one.phase.settings, &primary.name)
    };
    let first = Tenant {
        name: primary.name.clone(),
        alone: baseline(judged).filter(same).and_then(|alone| mean(&alone.performance)),
        beside: mean(&one.performance),
        less_is_better: recording.plan.criterion.better == Better::Lower,
    };
    let neighbours = one.neighbours.iter().map(|(name, beside)| Tenant {
        name: name.clone(),
        alone: solo_of(judged, one, name).and_then(|solo| mean(solo.neighbours.get(name)?)),
        beside: mean(beside),
        less_is_better: false,
    });
    fairness(&std::iter::once(first).chain(neighbours).collect::<Vec<_>>())
}

/// The settings of the workload `name` alone: the keys `name.…`.
pub(crate) fn own_settings<'a>(settings: &'a Settings, name: &str) -> BTreeMap<&'a str, &'a serde_json::Value> {
    let own = settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(name)?.strip_prefix('.')?, value)));
    own.collect()
}

/// The latencies of each of the primary's operations, over all requests of the phase together, from the tag that
/// `tag` makes of the operation.
pub(crate) fn latencies(
    sources: &Sources,
    bounds_s: (f64, f64),
    tag: impl Fn(&str) -> String,
) -> BTreeMap<String, LatencySummary> {
    let mut summaries = BTreeMap::new();
    for operation in sources.latency.operations() {
        let mut all = LatencyHistogram::new();
        let tag = tag(&operation);
        latency_intervals(&sources.latency, &tag, bounds_s).for_each(|interval| all.add(&interval.histogram()));
        if !all.is_empty() {
            summaries.insert(operation, latency_summary(&all));
        }
    }
    summaries
}

fn latency_summary(histogram: &LatencyHistogram) -> LatencySummary {
    let in_us = |ns: Option<u64>| ns.map(|ns| ns as f64 / NS_PER_US);
    let [p50, p90, p99, p999] = PERCENTILES.map(|(_, share)| in_us(histogram.quantile_ns(share)));
    LatencySummary { p50, p90, p99, p999, max: in_us(histogram.max_ns()), samples: histogram.len() }
}
