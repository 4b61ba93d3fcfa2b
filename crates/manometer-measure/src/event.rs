//! `events.jsonl`: what happened, as it happened.

use serde::{Deserialize, Serialize};

use crate::dispatch::Replayed;
use crate::plan::Settings;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventLine {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub t_ns: u64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The recording begins.
    Started,
    /// All settings of a phase are in force and have settled: its measurement begins.
    PhaseStarted {
        /// The phase's id in the plan.
        phase: String,
    },
    /// The measurement of a phase ends.
    PhaseEnded {
        /// The phase's id in the plan.
        phase: String,
    },
    /// The interval of a phase is still too wide: it is measured for longer.
    PhaseProlonged {
        /// The phase's id in the plan.
        phase: String,
        /// By how many seconds.
        by_s: f64,
        /// How wide the interval is by now: of the pressure, or a share of the performance; null where there is none.
        width: Option<f64>,
        /// How wide it may be.
        wanted: f64,
    },
    /// A phase could not be measured, or not to its end.
    PhaseGap {
        /// The phase's id in the plan.
        phase: String,
        /// Why.
        reason: String,
    },
    /// A workload put new settings into force.
    Setting {
        /// The workload.
        workload: String,
        /// The settings that changed, with their new values.
        settings: Settings,
    },
    /// A workload is prepared: what it found and chose.
    Ready {
        /// The workload.
        workload: String,
        /// What it found and chose, such as its I/O engine.
        facts: Settings,
    },
    /// Something happened in a workload: an external program was started, say.
    Note {
        /// The workload.
        workload: String,
        /// What, for people.
        text: String,
    },
    /// What became of a replay.
    Replayed {
        /// The workload.
        workload: String,
        /// How its schedule was kept.
        replayed: Box<Replayed>,
    },
    /// A workload failed.
    Error {
        /// The workload.
        workload: String,
        /// What was wrong.
        text: String,
    },
    /// A process that is none of ours used storage during the phase that ends at this moment.
    Stranger {
        /// Its number.
        pid: u32,
        /// Its program, as the kernel names it.
        command: String,
        /// Bytes that it caused to be read in the phase, from any device.
        read_bytes: u64,
        /// Bytes that it caused to be written in the phase, to any device.
        written_bytes: u64,
    },
    /// Something that a reader of the result must know.
    Finding(Finding),
    /// The recording ends.
    Finished {
        /// How.
        status: Status,
    },
}

/// Something that a reader of a result must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind, fixed, for machines: `phase-too-short`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// The phase it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What it means and what to do, for people.
    pub text: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// The numbers need care.
    Warning,
    /// The numbers are incomplete or wrong.
    Error,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every phase ran.
    Complete,
    /// Somebody asked it to stop.
    Interrupted,
    /// A workload or the conductor failed.
    Failed,
}
