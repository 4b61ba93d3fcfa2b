//! The state of a run, read from the recording that it is writing.

use std::path::{Path, PathBuf};

use manometer_analysis::criterion::ThroughputUnit;
use manometer_analysis::summarise;
use manometer_analysis::time_series::{TimeWindow, throughput};
use manometer_measure::event::{Event, RunStatus};
use manometer_measure::{LatencyHistogram, Phase, PlannedWorkload, Recording};
use serde::Serialize;

/// The number of samples in a strip.
const STRIP: u64 = 40;
/// The end of a latency log that is read: some lines of every operation.
const LATENCY_BYTES: u64 = 64 << 10;
/// The most findings that are named.
const MOST_NAMED: usize = 3;
/// Findings that every recording has whose run goes on.
const UNFINISHED: [&str; 3] = ["cut-short", "phase-gap", "phase-cut"];

/// A run at a moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RunState {
    pub(super) experiment: String,
    /// How it ended; none while it goes on.
    pub(super) status: Option<RunStatus>,
    /// The phase that is measured, or was last.
    pub(super) phase: Option<PhaseState>,
    /// The time left in all phases, in seconds.
    pub(super) left_s: f64,
    pub(super) workloads: Vec<WorkloadState>,
    /// What the phases measured so far show; none before the first pressure.
    pub(super) so_far: Option<String>,
}

/// A phase or a block that is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct PhaseState {
    pub(super) id: String,
    pub(super) label: String,
    /// The round of an interleaved plan.
    pub(super) round: Option<u32>,
    /// The time left in it, in seconds.
    pub(super) left_s: f64,
}

/// A workload in its last samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct WorkloadState {
    pub(super) name: String,
    pub(super) unit: String,
    /// Its rates, the newest last.
    pub(super) rates: Vec<f64>,
    pub(super) p99_us: Option<f64>,
}

/// Reads the state of one run again and again.
#[derive(Debug)]
pub(super) struct RunWatch {
    dir: PathBuf,
    /// The number of phases and blocks that had been measured when `so_far` was computed, and what it was.
    judged: Option<(usize, Option<String>)>,
}

/// The recording in `dir`: its own, or that of the last run of a set.
pub(super) fn recording_in(dir: &Path) -> Option<PathBuf> {
    let is_recording = |dir: &PathBuf| dir.join("plan.json").is_file();
    if is_recording(&dir.to_owned()) {
        return Some(dir.to_owned());
    }
    let runs = std::fs::read_dir(dir.join("runs")).ok()?.flatten().map(|entry| entry.path());
    runs.filter(is_recording).max()
}

impl RunWatch {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, judged: None }
    }

    /// The state at `now_ns` of the monotonic clock; none while the recording cannot be read.
    pub(super) fn state(&mut self, now_ns: u64) -> Option<RunState> {
        let recording = Recording::open(&self.dir).ok()?;
        let status = recording.status();
        let (phase, left_s) = phase_and_left(&recording, if status.is_some() { None } else { Some(now_ns) });
        let workloads = recording.plan.workloads.iter().map(|one| workload_state(&recording, one)).collect();
        let so_far = self.so_far(&recording);
        Some(RunState { experiment: recording.plan.experiment, status, phase, left_s, workloads, so_far })
    }

    /// The claim of the phases so far with what limits it. Computed again when a phase, or a round, has ended.
    fn so_far(&mut self, recording: &Recording) -> Option<String> {
        let is_end = |event: &Event| matches!(event, Event::PhaseEnded { .. } | Event::Finished { .. });
        let ended = recording.events.iter().filter(|line| is_end(&line.event));
        let rounds = recording.events.iter().filter_map(|line| match &line.event {
            Event::BlockEnded { round, .. } => Some(*round as usize),
            _ => None,
        });
        let ended = ended.count() + rounds.max().unwrap_or_default();
        if let Some((_, so_far)) = self.judged.as_ref().filter(|(judged, _)| *judged == ended) {
            return so_far.clone();
        }
        let summary = summarise(recording);
        let has_pressure = summary.phases.iter().any(|phase| phase.pressure.value.is_some_and(|value| value != 0.0));
        let findings = summary.findings.iter().map(|finding| finding.id.as_str());
        let named: Vec<&str> = findings.filter(|id| !UNFINISHED.contains(id)).take(MOST_NAMED).collect();
        let limits = if named.is_empty() { String::new() } else { format!(" (limits: {})", named.join(", ")) };
        let so_far = has_pressure.then(|| format!("{}{limits}", summary.claim));
        self.judged = Some((ended, so_far.clone()));
        so_far
    }
}

/// The phase under way with the time left in it, and the time left in all phases; nothing is left without `now_ns`.
fn phase_and_left(recording: &Recording, now_ns: Option<u64>) -> (Option<PhaseState>, f64) {
    let plan = &recording.plan;
    let begun = recording.events.iter().rev().find_map(|line| match &line.event {
        Event::PhaseStarted { phase } => Some((phase, None, line.t_ns)),
        Event::BlockStarted { phase, round } => Some((phase, Some(*round), line.t_ns)),
        _ => None,
    });
    let total_s = plan.duration_s();
    let Some((id, round, began_ns)) = begun else { return (None, if now_ns.is_some() { total_s } else { 0.0 }) };
    let phase = plan.phases.iter().position(|phase| phase.id == *id);
    let length_s = |phase: &Phase| match (&plan.interleaved, round) {
        (Some(rounds), Some(_)) => rounds.measured_s(),
        _ => phase.duration_s,
    };
    let lasts_s = now_ns.map(|now_ns| now_ns.saturating_sub(began_ns) as f64 / 1e9);
    let own_left_s = |phase: &Phase| lasts_s.map_or(0.0, |lasts_s| (length_s(phase) - lasts_s).max(0.0));
    let state = phase.map(|index| {
        let phase = &plan.phases[index];
        PhaseState { id: id.clone(), label: phase.label.clone(), round, left_s: own_left_s(phase) }
    });
    let later_s = if now_ns.is_some() { later_s(recording, phase, round.is_some()) } else { 0.0 };
    let left_s = state.as_ref().map_or(0.0, |state| state.left_s) + later_s;
    (state, left_s)
}

/// The time of all phases and blocks after the one under way, which is the phase at `index` of the plan.
fn later_s(recording: &Recording, index: Option<usize>, is_block: bool) -> f64 {
    let plan = &recording.plan;
    let later = plan.phases.iter().skip(index.map_or(plan.phases.len(), |index| index + 1));
    let Some(rounds) = &plan.interleaved else {
        return later.map(|phase| phase.settle_s + phase.duration_s).sum();
    };
    let order = rounds.orders.first().map_or(&[][..], Vec::as_slice);
    let begun = recording.events.iter().filter(|line| matches!(line.event, Event::BlockStarted { .. })).count();
    let blocks_s = (rounds.rounds as usize * order.len()).saturating_sub(begun) as f64 * rounds.block_s;
    let alone = later.filter(|phase| !is_block && !order.contains(&phase.id));
    blocks_s + alone.map(|phase| phase.settle_s + phase.duration_s).sum::<f64>()
}

fn workload_state(recording: &Recording, workload: &PlannedWorkload) -> WorkloadState {
    let PlannedWorkload { name, unit, .. } = workload;
    let rates = || {
        let samples = recording.samples(name).ok()?;
        let end_ns = *samples.t_ns.last()?;
        let interval_ns = (recording.plan.interval_s * 1e9) as u64;
        let window = TimeWindow { begin_ns: end_ns.saturating_sub(STRIP * interval_ns), end_ns };
        Some(throughput(&samples, ThroughputUnit::of(unit).ok()?, window, recording.plan.interval_s).values)
    };
    WorkloadState {
        name: name.clone(),
        unit: unit.clone(),
        rates: rates().unwrap_or_default(),
        p99_us: p99_us(recording, name),
    }
}

/// The 99th percentile of all operations in the last sample interval that has latencies.
fn p99_us(recording: &Recording, workload: &str) -> Option<f64> {
    let log = recording.latency_end(workload, LATENCY_BYTES).ok()?;
    let last_s = log.intervals.iter().map(|interval| interval.end_s).max_by(f64::total_cmp)?;
    let mut all = LatencyHistogram::new();
    for operation in log.operations() {
        let last = log.intervals_between(&operation, 0.0, f64::MAX).filter(|interval| interval.end_s >= last_s - 0.01);
        last.for_each(|interval| interval.add_to(&mut all));
    }
    Some(all.quantile_ns(0.99)? as f64 / 1e3)
}
