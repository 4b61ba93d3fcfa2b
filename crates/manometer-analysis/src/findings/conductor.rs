//! What the conductor and the workloads told themselves while they ran.

use manometer_measure::Event;
use manometer_measure::event::{Finding, Severity};

use super::evidence::Evidence;
use super::{Rule, finding};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "worker-failed",
        severity: Severity::Error,
        source: "the run",
        meaning: "a workload failed",
        remedy: "See the recording's events for when, and run it again.",
    },
    Rule {
        id: "scaled-down",
        severity: Severity::Warning,
        source: "the run",
        meaning: "the data was shrunk to fit the disk",
        remedy: "Use a larger disk, or say smaller sizes yourself.",
    },
    Rule {
        id: "recording-on-device",
        severity: Severity::Warning,
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the recording lies on the measured device",
        remedy: "Choose another device with `--out`.",
    },
    Rule {
        id: "fits-in-memory",
        severity: Severity::Info,
        source: "Didona et al., pitfall 4; Storiks 3.4.1",
        meaning: "the primary's data is smaller than the host's memory",
        remedy: "Load more data than memory, or read past the page cache.",
    },
    Rule {
        id: "operation-without-column",
        severity: Severity::Warning,
        source: "the run",
        meaning: "an operation appeared that no phase announced: its latencies are recorded, its counts are not",
        remedy: "Announce it in the experiment.",
    },
    Rule {
        id: "interval-too-wide",
        severity: Severity::Warning,
        source: "the run",
        meaning: "a phase was measured for as long as `plan.stop` allows, and its interval is wider than that wants",
        remedy: "Raise `at_most` of `plan.stop`, or let the device settle for longer.",
    },
];

/// What was told as it happened, each with its own words.
pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let told = |event: &Event| match event {
        Event::Finding(finding) => Some(finding.clone()),
        Event::Error { workload, text } => {
            Some(finding("worker-failed", Severity::Error, None, format!("`{workload}` failed: {text}")))
        }
        _ => None,
    };
    evidence.recording.events.iter().filter_map(|line| told(&line.event)).collect()
}
