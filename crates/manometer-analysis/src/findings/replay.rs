//! Whether a replay was what its trace is.

use manometer_measure::Event;
use manometer_measure::event::{Finding, Severity};

use super::Rule;
use super::evidence::Evidence;
use crate::fidelity::Fidelity;

pub(crate) const NOT_FAITHFUL: Rule = Rule {
    id: "replay-not-faithful",
    severity: Severity::Warning,
    source: "KV-replay 5.4",
    meaning: "a replay kept the times, the inter-arrivals or the order of its trace too badly to stand for it",
    remedy: "Leave the machine to it, give it more threads or processes, or take an engine that keeps up.",
};

pub(crate) const CUT: Rule = Rule {
    id: "replay-cut",
    severity: Severity::Info,
    source: "the run",
    meaning: "a replay was ended before its trace was",
    remedy: "Let it run to the trace's end where the whole trace matters.",
};

pub(crate) const FAILED: Rule = Rule {
    id: "requests-failed",
    severity: Severity::Warning,
    source: "the run",
    meaning: "requests of a replay were not answered as they should be",
    remedy: "Mend what the first error names; latencies are of the requests that were answered.",
};

pub(super) const RULES: &[Rule] = &[NOT_FAITHFUL, CUT, FAILED];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let told = |event: &Event| match event {
        Event::Replayed { workload, replayed } => {
            let findings = Fidelity::of(replayed).findings(replayed).into_iter();
            findings.map(|finding| Finding { text: format!("`{workload}`: {}", finding.text), ..finding }).collect()
        }
        _ => Vec::new(),
    };
    evidence.recording.events.iter().flat_map(|line| told(&line.event)).collect()
}
