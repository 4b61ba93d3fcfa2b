//! `events.jsonl`: the events of a run, in order.

use serde::{Deserialize, Serialize};

use crate::dispatch::ReplayOutcome;
use crate::plan::Settings;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventLine {
    /// The time, in nanoseconds of `CLOCK_MONOTONIC`.
    pub t_ns: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The recording begins.
    Started,
    /// The settings of a phase are applied and settled: its measurement begins.
    PhaseStarted {
        /// The phase's id in the plan.
        phase: String,
    },
    /// The measurement of a phase ends.
    PhaseEnded {
        /// The phase's id in the plan.
        phase: String,
    },
    /// The confidence interval of a phase is too wide: the phase is extended.
    PhaseProlonged {
        /// The phase's id in the plan.
        phase: String,
        /// By how many seconds.
        by_s: f64,
        /// The width of the interval: of the pressure, or relative to the performance; null without an interval.
        width: Option<f64>,
        /// The width to reach.
        wanted: f64,
    },
    /// A phase was not measured, or not to its end.
    PhaseGap {
        /// The phase's id in the plan.
        phase: String,
        /// The reason.
        reason: String,
    },
    /// A workload applied new settings.
    Setting {
        /// The workload.
        workload: String,
        /// The settings that changed and their new values.
        settings: Settings,
    },
    /// A workload is prepared.
    Ready {
        /// The workload.
        workload: String,
        /// What it detected and chose, such as its I/O engine.
        facts: Settings,
    },
    /// A note from a workload, such as the start of an external program.
    Note {
        /// The workload.
        workload: String,
        /// The text, for people.
        text: String,
    },
    /// A replay ended.
    Replayed {
        /// The workload.
        workload: String,
        /// Its outcome.
        replayed: Box<ReplayOutcome>,
    },
    /// A workload failed.
    Error {
        /// The workload.
        workload: String,
        /// The error message.
        text: String,
    },
    /// A foreign process used storage during the phase that ends at this moment.
    #[serde(alias = "stranger")]
    ForeignProcess {
        /// Its process id.
        pid: u32,
        /// Its command, as the kernel names it.
        command: String,
        /// Bytes that it read from any device in the phase.
        read_bytes: u64,
        /// Bytes that it wrote to any device in the phase.
        written_bytes: u64,
    },
    /// A finding about the run.
    Finding(Finding),
    /// The recording ends.
    Finished {
        /// How it ended.
        status: RunStatus,
    },
}

/// A statement about the result that its reader must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id, stable, for machines: `phase-too-short`.
    pub id: String,
    /// Its severity.
    pub severity: Severity,
    /// The phase it concerns, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What it means and what to do, for people.
    pub text: String,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information.
    Info,
    /// The numbers need care.
    Warning,
    /// The numbers are incomplete or wrong.
    Error,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every phase ran.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// A workload or the conductor failed.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_earlier_recordings_are_read() {
        let line = r#"{"t_ns":5,"event":"stranger","pid":7,"command":"dd","read_bytes":1,"written_bytes":2}"#;
        let read: EventLine = serde_json::from_str(line).unwrap();
        assert!(matches!(read.event, Event::ForeignProcess { pid: 7, .. }), "{read:?}");
        assert_eq!(serde_json::to_value(&read).unwrap()["event"], "foreign_process");
    }
}
