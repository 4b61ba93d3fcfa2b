//! Whether a replay was what its trace is.

use manometer_measure::event::{EventLine, Finding, Severity};
use manometer_measure::plan::Phase;
use manometer_measure::{Event, Recording};

use super::Rule;
use super::evidence::Evidence;
use crate::fidelity::Fidelity;

pub(crate) const NOT_FAITHFUL: Rule = Rule {
    id: "replay-not-faithful",
    severity: Severity::Warning,
    source: "KV-replay 5.4",
    meaning: "a replay kept the times, the inter-arrivals or the order of its trace too badly, or failed too many of its \
              requests, to stand for it",
    remedy: "Leave the machine to it, give it more threads or processes, or take an engine that keeps up.",
};

pub(crate) const CUT: Rule = Rule {
    id: "replay-cut",
    severity: Severity::Info,
    source: "the run",
    meaning: "a replay was ended before its trace was",
    remedy: "Let it run to the trace's end where the whole trace matters.",
};

const ENDED: Rule = Rule {
    id: "trace-ended",
    severity: Severity::Warning,
    source: "the run",
    meaning: "a replay's trace came to its end before the plan did: the phases from there on that it belongs to are gaps",
    remedy: "Clone the trace, slow it down, or shorten the plan.",
};

pub(crate) const FAILED: Rule = Rule {
    id: "requests-failed",
    severity: Severity::Warning,
    source: "the run",
    meaning: "requests of a replay were not answered as they should be",
    remedy: "Mend what the first error names; latencies are of the requests that were answered.",
};

const UNTOLD: Rule = Rule {
    id: "replay-untold",
    severity: Severity::Error,
    source: "the run",
    meaning: "a replay did not tell what became of it: it was lost, or had not ended 10 s after it was told to",
    remedy: "Mend what the other errors name, or find what the engine waits for, and run it again.",
};

/// Some of the processes of a replay are lost.
pub const INCOMPLETE: Rule = Rule {
    id: "replay-incomplete",
    severity: Severity::Error,
    source: "the processes",
    meaning: "a process of a replay was lost, and the others were ended",
    remedy: "Mend what it names, and replay again.",
};

/// The calendars of two hosts differ.
pub const CLOCKS_APART: Rule = Rule {
    id: "clocks-apart",
    severity: Severity::Warning,
    source: "the hosts' clocks",
    meaning: "a host's calendar differs from ours by more than a second, or by more than chrony or PTP say",
    remedy: "Have chrony or PTP keep the hosts in step before times of theirs are put beside one another.",
};

/// It is not known well enough when a process on another host began.
pub const CLOCKS_UNSURE: Rule = Rule {
    id: "clocks-unsure",
    severity: Severity::Warning,
    source: "the hosts' clocks",
    meaning: "a host's clock is known less exactly than a request may be late, 100 µs",
    remedy: "Take a faster network, or have PTP keep the hosts in step.",
};

pub(super) const RULES: &[Rule] = &[NOT_FAITHFUL, CUT, ENDED, FAILED, UNTOLD, INCOMPLETE, CLOCKS_APART, CLOCKS_UNSURE];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let told = |event: &Event| match event {
        Event::Replayed { workload, replayed } => {
            let mut findings = Fidelity::of(replayed).findings(replayed);
            findings.iter_mut().for_each(|finding| finding.text.insert_str(0, &format!("`{workload}`: ")));
            findings
        }
        _ => Vec::new(),
    };
    let ended = evidence.recording.events.iter().filter_map(|line| ended(evidence.recording, line));
    let untold = untold(evidence.recording);
    let untold = untold.map(|name| UNTOLD.tell(None, &format!("`{name}` told nothing of its replay.")));
    evidence.recording.events.iter().flat_map(|line| told(&line.event)).chain(ended).chain(untold).collect()
}

/// That a replay told its trace's end in `told`, and phases that it belongs to were gaps from then on.
fn ended(recording: &Recording, told: &EventLine) -> Option<Finding> {
    let Event::Replayed { workload, replayed } = &told.event else { return None };
    let its_own = |phase: &&Phase| phase.running.contains(workload);
    let is_gap = |phase: &&Phase| {
        let mut later = recording.events.iter().filter(|line| line.t_ns >= told.t_ns);
        later.any(|line| matches!(&line.event, Event::PhaseGap { phase: gap, .. } if *gap == phase.id))
    };
    let gaps: Vec<&str> =
        recording.plan.phases.iter().filter(its_own).filter(is_gap).map(|phase| phase.id.as_str()).collect();
    let sentence = || {
        format!(
            "The trace of `{workload}` came to its end, after {} requests, before the plan did: {} of its phases could \
             not be measured, or not to their ends, from {} on.",
            replayed.sent,
            gaps.len(),
            gaps[0]
        )
    };
    (!replayed.cut && !gaps.is_empty()).then(|| ENDED.tell(None, &sentence()))
}

/// The replays that were ready and of which nothing was told before the run ended.
fn untold(recording: &Recording) -> impl Iterator<Item = &str> {
    let ended = recording.status().is_some();
    let replays = recording.plan.workloads.iter().filter(move |one| ended && one.kind == "replay");
    let is_untold = |name: &str| {
        let mut events = recording.events.iter().map(|line| &line.event);
        let is_ready = events.clone().any(|event| matches!(event, Event::Ready { workload, .. } if workload == name));
        is_ready && !events.any(|event| matches!(event, Event::Replayed { workload, .. } if workload == name))
    };
    replays.map(|one| one.name.as_str()).filter(move |name| is_untold(name))
}
