//! When each phase of the plan was measured, if it was.

use manometer_measure::event::Status;
use manometer_measure::{Event, Phase, Recording};

use crate::series::Window;
use crate::sources::Sources;

/// What became of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was measured from its begin to its end.
    Whole(Window),
    /// The recording breaks off in it: it was measured up to the last sample.
    Partly(Window),
    /// It could not be measured; why.
    Gap(String),
    /// It never began; why.
    NotRun(String),
}

impl Fate {
    /// The stretch that was measured.
    pub(crate) fn window(&self) -> Result<Window, &str> {
        match self {
            Self::Whole(window) | Self::Partly(window) => Ok(*window),
            Self::Gap(reason) | Self::NotRun(reason) => Err(reason),
        }
    }
}

enum State {
    Untouched,
    Open(u64),
    Closed(Window),
    Gap(String),
}

/// What became of `phase`. Where it ran more than once (a resumed run), the last time counts; a phase that
/// never ended is measured up to the last sample of the workloads in it, or up to whatever the recording
/// says happened next.
pub(crate) fn fate(recording: &Recording, sources: &Sources, phase: &Phase) -> Fate {
    let mut state = State::Untouched;
    let mut bound_ns = u64::MAX;
    for line in &recording.events {
        match &line.event {
            Event::PhaseStarted { phase: started } if *started == phase.id => {
                (state, bound_ns) = (State::Open(line.t_ns), u64::MAX);
            }
            Event::PhaseEnded { phase: ended } if *ended == phase.id => {
                if let State::Open(begin_ns) = state {
                    state = State::Closed(Window { begin_ns, end_ns: line.t_ns });
                }
            }
            Event::PhaseGap { phase: missed, reason } if *missed == phase.id => state = State::Gap(reason.clone()),
            Event::PhaseStarted { .. } | Event::Finished { .. } => bound_ns = bound_ns.min(line.t_ns),
            _ => {}
        }
    }
    match state {
        State::Untouched => Fate::NotRun(not_run_reason(recording.status()).to_owned()),
        State::Gap(reason) => Fate::Gap(reason),
        State::Closed(window) => Fate::Whole(window),
        State::Open(begin_ns) => match sources.last_sample_ns(&phase.running) {
            Some(last_ns) if last_ns > begin_ns => Fate::Partly(Window { begin_ns, end_ns: last_ns.min(bound_ns) }),
            _ => Fate::Gap("the recording breaks off before its first sample".to_owned()),
        },
    }
}

fn not_run_reason(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::Complete) => "the recording does not say that it ran",
        Some(Status::Interrupted) => "the run was interrupted before",
        Some(Status::Failed) => "the run failed before",
        None => "the recording breaks off before",
    }
}
