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

const INCOMPLETE: Rule = Rule {
    id: "replay-incomplete",
    severity: Severity::Error,
    source: "the run",
    meaning: "a process of a replay was lost, and the others were ended: told by `manometer replay`",
    remedy: "See what it names, and replay again.",
};

const CLOCKS_APART: Rule = Rule {
    id: "clocks-apart",
    severity: Severity::Warning,
    source: "the run",
    meaning: "the calendar of a host that shares a replay differs from ours; its requests began on time all the same: told by `manometer replay`",
    remedy: "Have chrony or PTP keep the hosts in step.",
};

const CLOCKS_UNSURE: Rule = Rule {
    id: "clocks-unsure",
    severity: Severity::Warning,
    source: "the run",
    meaning: "a host that shares a replay may have begun earlier or later than the others by more than a late request is late: told by `manometer replay`",
    remedy: "Take a faster network, or have PTP keep the hosts in step.",
};

pub(super) const RULES: &[Rule] = &[NOT_FAITHFUL, CUT, FAILED, INCOMPLETE, CLOCKS_APART, CLOCKS_UNSURE];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let told = |event: &Event| match event {
        Event::Replayed { workload, replayed } => {
            let mut findings = Fidelity::of(replayed).findings(replayed);
            findings.iter_mut().for_each(|finding| finding.text.insert_str(0, &format!("`{workload}`: ")));
            findings
        }
        _ => Vec::new(),
    };
    evidence.recording.events.iter().flat_map(|line| told(&line.event)).collect()
}
