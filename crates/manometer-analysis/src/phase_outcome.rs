//! When each phase of the plan was measured, or why it was not.

use manometer_measure::event::RunStatus;
use manometer_measure::{Event, EventLine, InterleavedRounds, Phase, Recording};

use crate::interleaved::block_windows;
use crate::measured_time::MeasuredTime;
use crate::recording_data::RecordingData;
use crate::time_series::TimeWindow;

/// How long after its last tick the last sample of a phase arrives at the latest, in seconds.
const LATENESS_S: f64 = 0.05;

/// How far a phase was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PhaseOutcome {
    /// From its start to its end.
    Complete(MeasuredTime),
    /// Up to the last sample or the planned end, or to the start of the next phase, because its end is not recorded.
    Truncated(MeasuredTime),
    /// It started and was not measured; why.
    Gap(String),
    /// It never started; why.
    NotRun(String),
}

impl PhaseOutcome {
    /// The measured time, or why there is none.
    pub(crate) fn time(&self) -> Result<&MeasuredTime, &str> {
        match self {
            Self::Complete(time) | Self::Truncated(time) => Ok(time),
            Self::Gap(reason) | Self::NotRun(reason) => Err(reason),
        }
    }
}

/// The progress of a phase while the events are read in order.
enum PhaseProgress {
    NotStarted,
    /// Since when, and until when at most.
    Running {
        begin_ns: u64,
        last_end_ns: u64,
    },
    Ended(TimeWindow),
    /// Another phase started, or the run ended, before its end.
    Superseded(TimeWindow),
    Gap(String),
}

/// The outcome of `phase`. If it ran more than once (a resumed run), the last time counts. A phase without an end is
/// measured up to the last sample of its workloads, but not beyond its planned length, the start of the next phase or the
/// end of the run.
pub(crate) fn phase_outcome(recording: &Recording, data: &RecordingData, phase: &Phase) -> PhaseOutcome {
    if let Some(rounds) = recording.plan.interleaved.as_ref().filter(|rounds| rounds.has(&phase.id)) {
        return outcome_of_blocks(recording, rounds, phase);
    }
    let mut progress = PhaseProgress::NotStarted;
    for line in &recording.events {
        progress = progress.after(phase, line);
    }
    let until_last_sample = |begin_ns: u64, end_ns: u64| match data.last_sample_ns(&phase.running) {
        Some(last_ns) if last_ns > begin_ns => {
            PhaseOutcome::Truncated(TimeWindow { begin_ns, end_ns: last_ns.min(end_ns) }.into())
        }
        _ => PhaseOutcome::Gap("the recording ends before the first sample of the phase".to_owned()),
    };
    match progress {
        PhaseProgress::NotStarted => PhaseOutcome::NotRun(not_run_reason(recording.status()).to_owned()),
        PhaseProgress::Gap(reason) => PhaseOutcome::Gap(reason),
        PhaseProgress::Ended(window) => PhaseOutcome::Complete(window.into()),
        PhaseProgress::Running { begin_ns, last_end_ns: end_ns }
        | PhaseProgress::Superseded(TimeWindow { begin_ns, end_ns }) => until_last_sample(begin_ns, end_ns),
    }
}

impl PhaseProgress {
    /// The progress of `phase` after the event `line`.
    fn after(self, phase: &Phase, line: &EventLine) -> Self {
        let t_ns = line.t_ns;
        match (&line.event, self) {
            (Event::PhaseStarted { phase: id }, _) if *id == phase.id => {
                Self::Running { begin_ns: t_ns, last_end_ns: later(t_ns, phase.duration_s + LATENESS_S) }
            }
            (Event::PhaseProlonged { phase: id, by_s, .. }, Self::Running { begin_ns, last_end_ns })
                if *id == phase.id =>
            {
                Self::Running { begin_ns, last_end_ns: later(last_end_ns, *by_s) }
            }
            (Event::PhaseEnded { phase: id }, Self::Running { begin_ns, .. }) if *id == phase.id => {
                Self::Ended(TimeWindow { begin_ns, end_ns: t_ns })
            }
            (Event::PhaseGap { phase: id, reason }, _) if *id == phase.id => Self::Gap(reason.clone()),
            (Event::PhaseStarted { .. } | Event::Finished { .. }, Self::Running { begin_ns, last_end_ns }) => {
                Self::Superseded(TimeWindow { begin_ns, end_ns: last_end_ns.min(t_ns) })
            }
            (_, unchanged) => unchanged,
        }
    }
}

/// The time `seconds` after `t_ns`.
fn later(t_ns: u64, seconds: f64) -> u64 {
    t_ns.saturating_add((seconds * 1e9).round() as u64)
}

/// The outcome of a phase made of blocks: measured in those that ran to their end.
fn outcome_of_blocks(recording: &Recording, rounds: &InterleavedRounds, phase: &Phase) -> PhaseOutcome {
    let windows: Vec<TimeWindow> = block_windows(recording, phase).into_iter().map(|(_, window)| window).collect();
    let is_whole = windows.len() >= rounds.rounds as usize;
    match MeasuredTime::of(windows) {
        Some(time) if is_whole => PhaseOutcome::Complete(time),
        Some(time) => PhaseOutcome::Truncated(time),
        None => {
            PhaseOutcome::NotRun(block_gap(recording).unwrap_or_else(|| not_run_reason(recording.status())).to_owned())
        }
    }
}

/// Why the rounds of an interleaved plan ended early, as far as it is recorded.
pub(crate) fn block_gap(recording: &Recording) -> Option<&str> {
    recording.events.iter().rev().find_map(|line| match &line.event {
        Event::BlockGap { reason, .. } => Some(reason.as_str()),
        _ => None,
    })
}

fn not_run_reason(status: Option<RunStatus>) -> &'static str {
    match status {
        Some(RunStatus::Complete) => "the recording has no start of this phase",
        Some(RunStatus::Interrupted) => "the run was interrupted before this phase",
        Some(RunStatus::Failed) => "the run failed before this phase",
        None => "the recording ends before this phase",
    }
}
