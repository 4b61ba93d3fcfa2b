//! The analysis of a recording: its `summary.json`.

use std::collections::BTreeMap;

use manometer_measure::event::RunStatus;
use manometer_measure::latency_log::response_tag;
use manometer_measure::plan::{BetterDirection, Criterion};
use manometer_measure::{Event, PhaseKind, Recording};

use crate::criterion::is_latency;
use crate::estimate::IntervalEstimate;
use crate::fairness::{Tenant, fairness};
use crate::fidelity::Fidelity;
use crate::findings::evaluate_rules;
use crate::interleaved::block_states::BlockStateTest;
use crate::interleaved::{Block, difference_p_value, paired};
use crate::latencies::latencies;
use crate::phase_result::{PhaseResult, baseline, evaluate_phases, workload_settings};
use crate::pressure::{Performance, baseline_pressure, pressure};
use crate::recording_data::RecordingData;
use crate::rounds_result::{RoundsResult, StateKind};
use crate::scale::{self, PressureScale, ScalePoint};
use crate::summary::{
    BlockStateSummary, BlockSummary, CarryOverSummary, Fairness, InterleavedSummary, NeighbourSummary, PhaseSummary,
    RunSummary,
};
use crate::verdict::{goal_result, headline, judge, judged_by, main_operation, with_criterion};

/// Analyses `recording`. What was not measured is null with its reason; damage is reported as findings. A recording that
/// opens always has a summary.
pub fn summarise(recording: &Recording) -> RunSummary {
    let data = RecordingData::read(recording);
    let recording = &*judged_by(recording, &data);
    let results = evaluate_phases(recording, &data);
    let scale = pressure_scale(&results);
    let rule = if recording.plan.interleaved.is_some() { scale::ROUNDS_RULE } else { scale::RULE };
    let pressures = pressures(recording, &data, &results);
    let findings = evaluate_rules(recording, &data, &results);
    let verdict = judge(&findings, &results, is_latency(&recording.plan.criterion));
    let headline = headline(recording, &results, &verdict, &scale);
    RunSummary {
        manometer: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: recording.plan.experiment.clone(),
        status: status_name(recording.status()).to_owned(),
        criterion: recording.plan.criterion.clone(),
        headline: headline.sentence,
        claim: headline.claim,
        claim_phase: headline.phase,
        goal: recording.plan.goal.map(|goal| goal_result(recording, goal, &results, (&verdict, &scale))),
        verdict,
        interleaved: interleaved(recording, &data, &results),
        scale_rule: rule.to_owned(),
        phases: results
            .iter()
            .map(|result| phase_summary(recording, &data, &results, &pressures, result, &scale))
            .collect(),
        scale: scale.steps,
        untested: scale.untested,
        scale_tests: scale.tests,
        replays: replays(recording),
        findings,
    }
}

/// The pressures of one phase by metric.
type Pressures = BTreeMap<String, IntervalEstimate>;

/// The pressures of each phase by the criterion, and by its companion: the p99 latency of the main operation for a
/// throughput, the throughput for a latency.
fn pressures(recording: &Recording, data: &RecordingData, results: &[PhaseResult<'_>]) -> BTreeMap<String, Pressures> {
    let mut all: BTreeMap<String, Pressures> = BTreeMap::new();
    let mut add = |metric: &str, results: &[PhaseResult<'_>]| {
        for result in results.iter().filter(|result| result.phase.kind != PhaseKind::Solo) {
            all.entry(result.id().to_owned()).or_default().insert(metric.to_owned(), result.pressure.clone());
        }
    };
    add(&recording.plan.criterion.metric, results);
    if let Some(companion) = companion(recording, data, results) {
        let recording = with_criterion(recording, companion.clone());
        let results = evaluate_phases(&recording, data);
        // An import may have counts and no latencies by interval.
        if baseline(&results).is_some() {
            add(&companion.metric, &results);
        }
    }
    all
}

/// The companion of the criterion of `recording`.
fn companion(recording: &Recording, data: &RecordingData, results: &[PhaseResult<'_>]) -> Option<Criterion> {
    let primary = recording.plan.primary()?;
    if is_latency(&recording.plan.criterion) {
        let (metric, unit) = ("throughput".to_owned(), primary.unit.clone());
        return Some(Criterion { metric, unit, better: BetterDirection::Higher });
    }
    let time = baseline(results)?.outcome.time().ok()?;
    let operation = main_operation(data.samples(&primary.name)?, time.windows())?;
    let has_response = data.latency.intervals.iter().any(|interval| interval.operation == response_tag(&operation));
    let kind = if has_response { "response" } else { "latency" };
    let metric = format!("{kind}.{operation}.p99");
    Some(Criterion { metric, unit: "us".to_owned(), better: BetterDirection::Lower })
}

/// The pressure scale; in an interleaved plan by tests of blocks in the same rounds.
fn pressure_scale(results: &[PhaseResult<'_>]) -> PressureScale {
    let points = scale_points(results);
    if results.iter().all(|result| result.blocks.is_empty()) {
        return PressureScale::of(&points);
    }
    let blocks = |id: &str| results.iter().find(|result| result.id() == id).map_or(&[][..], |result| &result.blocks);
    PressureScale::of_rounds(&points, |a, b| difference_p_value(&paired(blocks(a), blocks(b))))
}

fn interleaved(recording: &Recording, data: &RecordingData, results: &[PhaseResult<'_>]) -> Option<InterleavedSummary> {
    let rounds = RoundsResult::of(recording, data, results)?;
    let state = |(kind, state): (StateKind, BlockStateTest)| BlockStateSummary {
        column: kind.column().1.to_owned(),
        p_value: state.p_value,
        after: rounds.table.phases.iter().cloned().zip(state.after).collect(),
    };
    let carry_over = rounds.carry_over.map(|carry_over| CarryOverSummary {
        p_value: carry_over.p_value,
        effects: carry_over.effects.into_iter().collect(),
    });
    Some(InterleavedSummary {
        rounds: rounds.whole_rounds,
        p_values: rounds.p_values.into_iter().collect(),
        carry_over,
        block_states: rounds.states.into_iter().map(state).collect(),
    })
}

/// The blocks of a phase as reported.
fn block_summaries(recording: &Recording, result: &PhaseResult<'_>) -> Vec<BlockSummary> {
    let Some(rounds) = &recording.plan.interleaved else { return Vec::new() };
    let block = |block: &Block| {
        let (start_s, end_s) = block.window.bounds_s(recording);
        BlockSummary {
            round: block.round,
            position: rounds.position(result.id(), block.round),
            after: rounds.preceding(result.id(), block.round).map(str::to_owned),
            start_s,
            end_s,
            mean: block.mean,
        }
    };
    result.blocks.iter().map(block).collect()
}

/// The fidelity of every replay that reported its outcome.
fn replays(recording: &Recording) -> BTreeMap<String, Fidelity> {
    let replays = recording.events.iter().filter_map(|line| match &line.event {
        Event::Replayed { workload, replayed } => Some((workload.clone(), Fidelity::of(replayed))),
        _ => None,
    });
    replays.collect()
}

fn status_name(status: Option<RunStatus>) -> &'static str {
    match status {
        Some(RunStatus::Complete) => "complete",
        Some(RunStatus::Interrupted) => "interrupted",
        Some(RunStatus::Failed) => "failed",
        None => "cut",
    }
}

/// The phases with a pressure; solo phases have none.
fn scale_points(results: &[PhaseResult<'_>]) -> Vec<ScalePoint> {
    let points = results.iter().filter_map(|result| {
        let Performance { estimate, sample_mean } = &result.performance;
        Some(ScalePoint {
            id: result.id().to_owned(),
            pressure: result.pressure.value?,
            performance: sample_mean.ok_or_else(|| estimate.reason.clone().unwrap_or_default()),
        })
    });
    points.collect()
}

fn phase_summary(
    recording: &Recording,
    data: &RecordingData,
    results: &[PhaseResult<'_>],
    pressures: &BTreeMap<String, Pressures>,
    result: &PhaseResult<'_>,
    scale: &PressureScale,
) -> PhaseSummary {
    let stretches_s = result.stretches_s(recording);
    let primary_stretches_s = if result.phase.kind == PhaseKind::Solo { &[][..] } else { &stretches_s };
    let neighbours = result.neighbours.iter().map(|(name, performance)| {
        let pressure = neighbour_pressure(results, result, name, performance);
        (name.clone(), NeighbourSummary { performance: performance.estimate.clone(), pressure })
    });
    PhaseSummary {
        id: result.phase.id.clone(),
        label: result.phase.label.clone(),
        kind: result.phase.kind,
        start_s: stretches_s.first().map(|(start_s, _)| *start_s),
        end_s: stretches_s.last().map(|(_, end_s)| *end_s),
        blocks: block_summaries(recording, result),
        steady: result.steady_state.map(|test| test.is_steady()),
        settings: result.phase.settings.clone(),
        performance: result.performance.estimate.clone(),
        pressure: result.pressure.clone(),
        scale_state: scale.state(result.id()),
        pressures: pressures.get(result.id()).cloned().unwrap_or_default(),
        neighbours: neighbours.collect(),
        fairness: phase_fairness(recording, results, result),
        latency_us: latencies(data, primary_stretches_s, str::to_owned),
        response_us: latencies(data, primary_stretches_s, response_tag),
    }
}

/// The pressure on the neighbour `name` against the first measured solo phase with the same settings of it.
fn neighbour_pressure(
    results: &[PhaseResult<'_>],
    result: &PhaseResult<'_>,
    name: &str,
    performance: &Performance,
) -> IntervalEstimate {
    let Some(solo) = solo_phase(results, result, name) else {
        return IntervalEstimate::missing(
            "the neighbour was not measured alone with these settings: set `solo = true`",
        );
    };
    if solo.id() == result.id() && performance.estimate.mean.is_some_and(|mean| mean > 0.0) {
        return baseline_pressure();
    }
    let Some(alone) = solo.neighbours.get(name) else {
        return IntervalEstimate::missing("the neighbour was not measured alone");
    };
    pressure(alone, performance, BetterDirection::Higher)
}

/// The phase in which the neighbour `name` ran alone with its settings in `result`.
fn solo_phase<'a, 'b>(
    results: &'a [PhaseResult<'b>],
    result: &PhaseResult<'_>,
    name: &str,
) -> Option<&'a PhaseResult<'b>> {
    let settings = workload_settings(&result.phase.settings, name);
    results.iter().find(|other| {
        other.phase.kind == PhaseKind::Solo
            && other.phase.running == [name]
            && workload_settings(&other.phase.settings, name) == settings
    })
}

/// The fairness among the primary and its neighbours in a phase.
fn phase_fairness(recording: &Recording, results: &[PhaseResult<'_>], result: &PhaseResult<'_>) -> Option<Fairness> {
    let primary = recording.plan.primary().filter(|_| result.phase.kind == PhaseKind::Pressure)?;
    let mean = |performance: &Performance| performance.estimate.mean;
    let settings = workload_settings(&result.phase.settings, &primary.name);
    let baseline =
        baseline(results).filter(|baseline| workload_settings(&baseline.phase.settings, &primary.name) == settings);
    let first = Tenant {
        name: primary.name.clone(),
        alone: baseline.and_then(|baseline| mean(&baseline.performance)),
        shared: mean(&result.performance),
        better: recording.plan.criterion.better,
    };
    let neighbours = result.neighbours.iter().map(|(name, shared)| Tenant {
        name: name.clone(),
        alone: solo_phase(results, result, name).and_then(|solo| mean(solo.neighbours.get(name)?)),
        shared: mean(shared),
        better: BetterDirection::Higher,
    });
    fairness(&std::iter::once(first).chain(neighbours).collect::<Vec<_>>())
}
