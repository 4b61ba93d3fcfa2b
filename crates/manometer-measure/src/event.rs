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
    /// The rounds of an interleaved plan begin.
    RoundsStarted,
    /// The rounds of an interleaved plan end.
    RoundsEnded,
    /// The measurement of a block begins, after its washout.
    BlockStarted {
        /// The id of its phase in the plan.
        phase: String,
        /// Its round, from 1.
        round: u32,
    },
    /// The measurement of a block ends.
    BlockEnded {
        /// The id of its phase in the plan.
        phase: String,
        /// Its round, from 1.
        round: u32,
    },
    /// A block was not measured to its end, and no later one ran.
    BlockGap {
        /// The id of its phase in the plan.
        phase: String,
        /// Its round, from 1.
        round: u32,
        /// The reason.
        reason: String,
    },
    /// The confidence interval of some pressure is too wide: further rounds follow.
    RoundsAdded {
        /// How many.
        rounds: u32,
        /// The width of the widest interval; null without an interval.
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
    /// The phases it concerns, if it concerns several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// What it threatens; the analysis sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threat: Option<Threat>,
    /// What it means and what to do, for people.
    pub text: String,
}

impl Finding {
    /// A finding of the rule `id` about the whole recording; what it threatens is set by the analysis.
    pub fn new(id: &str, severity: Severity, text: impl Into<String>) -> Self {
        Self { id: id.to_owned(), severity, phase: None, phases: Vec::new(), threat: None, text: text.into() }
    }

    /// The same about `phases` only.
    #[must_use]
    pub fn in_phases<P: Into<String>>(self, phases: impl IntoIterator<Item = P>) -> Self {
        let mut phases: Vec<String> = phases.into_iter().map(Into::into).collect();
        let phase = if phases.len() == 1 { phases.pop() } else { None };
        Self { phase, phases, ..self }
    }

    /// The phases it concerns; none if it concerns the whole recording.
    pub fn phase_ids(&self) -> impl Iterator<Item = &str> {
        self.phase.iter().chain(&self.phases).map(String::as_str)
    }
}

/// What a finding threatens, and how strongly.
///
/// The order ranks threats: the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Threat {
    /// How strongly.
    pub strength: ThreatStrength,
    /// What.
    pub to: ThreatTarget,
}

/// How strongly a finding threatens a conclusion, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreatStrength {
    /// It limits how far the conclusion can be generalised.
    Minor,
    /// It may have changed the conclusion.
    Serious,
    /// It rules the conclusion out.
    Fatal,
}

/// The conclusion that a finding threatens, the narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreatTarget {
    /// High percentiles of latencies.
    Tail,
    /// The results of the phases that the finding names.
    Phase,
    /// That the result is about storage.
    Storage,
    /// All of the result.
    Result,
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
        let line = r#"{"t_ns":5,"event":"finding","id":"x","severity":"info","phase":"w1","text":"y"}"#;
        let Event::Finding(read) = serde_json::from_str::<EventLine>(line).unwrap().event else { panic!("{line}") };
        assert_eq!(read, Finding::new("x", Severity::Info, "y").in_phases(["w1"]));
    }

    #[test]
    fn a_finding_names_one_phase_or_several() {
        let finding = Finding::new("not-steady", Severity::Warning, "");
        let ids = |finding: &Finding| finding.phase_ids().map(str::to_owned).collect::<Vec<_>>();
        assert!(ids(&finding).is_empty());
        let one = finding.clone().in_phases(["w1"]);
        assert_eq!((one.phase.as_deref(), one.phases.len(), ids(&one)), (Some("w1"), 0, vec!["w1".to_owned()]));
        let several = finding.in_phases(["w0", "w1"]);
        assert_eq!((several.phase.as_deref(), ids(&several).len()), (None, 2));
    }

    #[test]
    fn a_stronger_threat_ranks_above_a_wider_one() {
        let threat = |strength, to| Threat { strength, to };
        let ranked = [
            threat(ThreatStrength::Minor, ThreatTarget::Result),
            threat(ThreatStrength::Serious, ThreatTarget::Tail),
            threat(ThreatStrength::Serious, ThreatTarget::Storage),
            threat(ThreatStrength::Fatal, ThreatTarget::Phase),
        ];
        assert!(ranked.is_sorted());
    }
}
