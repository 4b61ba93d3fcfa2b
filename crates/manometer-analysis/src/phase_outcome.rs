//! When each phase of the plan was measured, or why it was not.

use manometer_measure::event::RunStatus;
use manometer_measure::{Event, Phase, Recording};

use crate::recording_data::RecordingData;
use crate::time_series::TimeWindow;

/// How far a phase was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PhaseOutcome {
    /// From its start to its end.
    Complete(TimeWindow),
    /// Up to the last sample, because the recording ends within the phase.
    Truncated(TimeWindow),
    /// It started and was not measured; why.
    Gap(String),
    /// It never started; why.
    NotRun(String),
}

impl PhaseOutcome {
    /// The measured time, or why there is none.
    pub(crate) fn window(&self) -> Result<TimeWindow, &str> {
        match self {
            Self::Complete(window) | Self::Truncated(window) => Ok(*window),
            Self::Gap(reason) | Self::NotRun(reason) => Err(reason),
        }
    }
}

/// The progress of a phase while the events are read in order.
enum PhaseProgress {
    NotStarted,
    Running(u64),
    Ended(TimeWindow),
    Gap(String),
}

/// The outcome of `phase`. If it ran more than once (a resumed run), the last time counts. A phase without an end is
/// measured up to the last sample of its workloads, or up to the next phase or the end of the run.
pub(crate) fn phase_outcome(recording: &Recording, data: &RecordingData, phase: &Phase) -> PhaseOutcome {
    let mut progress = PhaseProgress::NotStarted;
    let mut next_event_ns = u64::MAX;
    for line in &recording.events {
        match &line.event {
            Event::PhaseStarted { phase: id } if *id == phase.id => {
                (progress, next_event_ns) = (PhaseProgress::Running(line.t_ns), u64::MAX);
            }
            Event::PhaseEnded { phase: id } if *id == phase.id => {
                if let PhaseProgress::Running(begin_ns) = progress {
                    progress = PhaseProgress::Ended(TimeWindow { begin_ns, end_ns: line.t_ns });
                }
            }
            Event::PhaseGap { phase: id, reason } if *id == phase.id => progress = PhaseProgress::Gap(reason.clone()),
            Event::PhaseStarted { .. } | Event::Finished { .. } => next_event_ns = next_event_ns.min(line.t_ns),
            _ => {}
        }
    }
    match progress {
        PhaseProgress::NotStarted => PhaseOutcome::NotRun(not_run_reason(recording.status()).to_owned()),
        PhaseProgress::Gap(reason) => PhaseOutcome::Gap(reason),
        PhaseProgress::Ended(window) => PhaseOutcome::Complete(window),
        PhaseProgress::Running(begin_ns) => match data.last_sample_ns(&phase.running) {
            Some(last_ns) if last_ns > begin_ns => {
                PhaseOutcome::Truncated(TimeWindow { begin_ns, end_ns: last_ns.min(next_event_ns) })
            }
            _ => PhaseOutcome::Gap("the recording ends before the first sample of the phase".to_owned()),
        },
    }
}

fn not_run_reason(status: Option<RunStatus>) -> &'static str {
    match status {
        Some(RunStatus::Complete) => "the recording has no start of this phase",
        Some(RunStatus::Interrupted) => "the run was interrupted before this phase",
        Some(RunStatus::Failed) => "the run failed before this phase",
        None => "the recording ends before this phase",
    }
}
