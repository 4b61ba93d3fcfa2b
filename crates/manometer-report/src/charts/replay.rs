//! The replays of a recording, for the charts of their fidelity.

use manometer_analysis::fidelity::Fidelity;
use manometer_measure::{Dispatch, Event};

use crate::recording_reader::RecordingReader;

/// A replay that kept a schedule.
pub(super) struct Replay<'a> {
    /// The workload.
    pub(super) workload: &'a str,
    /// Its dispatch.
    pub(super) dispatch: &'a Dispatch,
    /// Its fidelity to the trace.
    pub(super) fidelity: Fidelity,
}

/// The two lines of a chart that lays trace and replay over one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Trace,
    Replay,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Trace, Self::Replay];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Replay => "replay",
        }
    }
}

/// The replays that kept a schedule; those at full speed have none.
pub(super) fn replays<'a>(reader: &RecordingReader<'a>) -> Vec<Replay<'a>> {
    let replays = reader.recording.events.iter().filter_map(|line| match &line.event {
        Event::Replayed { workload, replayed } => Some((workload, replayed)),
        _ => None,
    });
    replays
        .filter_map(|(workload, replayed)| {
            let dispatch = replayed.dispatch.as_ref()?;
            Some(Replay { workload, dispatch, fidelity: Fidelity::of(replayed) })
        })
        .collect()
}
