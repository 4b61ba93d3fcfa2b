//! Whether a replay is faithful to its trace.

use manometer_measure::event::{EventLine, Finding, Severity, ThreatTarget};
use manometer_measure::plan::Phase;
use manometer_measure::{Event, Recording, ReplayOutcome};

use super::evidence::Evidence;
use super::rule::{Family, Rule, fatal, minor, serious};
use crate::fidelity::Fidelity;

const NOT_FAITHFUL: Rule = Rule {
    id: "replay-not-faithful",
    severity: Severity::Warning,
    threat: fatal(ThreatTarget::Result, "the replay was not faithful"),
    source: "KV-replay 5.4",
    meaning: "the dispatch error, the inter-arrival times, the order or the failures of a replay exceed the tolerances, its \
        trace is damaged, or its reader lacks requests: it does not represent its trace",
    remedy: "Replay on an idle host, with more threads or processes, or on an engine that keeps up.",
};

/// What to do about a trace that lacks requests: no host or engine mends that.
const REMEDY_OF_THE_TRACE: &str = "Record the trace again, or slice it before its damage.";

const IN_BURSTS: Rule = Rule {
    id: "replay-in-bursts",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Tail, "requests of one clock step were sent in bursts"),
    source: "the trace's clock",
    meaning: "the trace's clock is coarse and several requests share a time: they were sent in one burst, which the recorded \
        system may never have seen",
    remedy: "On an engine, spread requests over the step: `--spread poisson` or `--spread uniform`, in an experiment `spread = \"poisson\"`.",
};

const REQUESTS_LOST: Rule = Rule {
    id: "replay-lacks-requests",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Result, "recorded requests were left out of a replay"),
    source: "the trace",
    meaning: "recorded requests were not replayed: the recorder lost them, or no operation expresses them",
    remedy: "Record with a faster consumer, or judge whether the replay may lack them.",
};

const CUT: Rule = Rule {
    id: "replay-cut",
    severity: Severity::Info,
    threat: minor(ThreatTarget::Result, "a replay was stopped before the end of its trace"),
    source: "the run",
    meaning: "a replay was stopped before the end of its trace",
    remedy: "Let it run to the end if the whole trace matters.",
};

const TRACE_ENDED: Rule = Rule {
    id: "trace-ended",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "a trace ended before the plan"),
    source: "the run",
    meaning: "the trace of a replay ended before the plan: the replay's phases from there on are gaps",
    remedy: "Clone the trace, slow it down, or shorten the plan.",
};

/// Requests failed.
pub(crate) const REQUESTS_FAILED: Rule = Rule {
    id: "requests-failed",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "requests failed"),
    source: "the run",
    meaning: "requests of a replay failed",
    remedy: "Fix the cause of the first error; the latencies cover only the requests that succeeded.",
};

const NO_OUTCOME: Rule = Rule {
    id: "replay-unverified",
    severity: Severity::Error,
    threat: serious(ThreatTarget::Result, "a replay did not report its outcome"),
    source: "the run",
    meaning: "a replay did not report its outcome: its worker was lost, or did not stop within 10 s",
    remedy: "Fix the other errors, or find out what the engine waits for, and run it again.",
};

/// A process of a replay was lost.
pub const INCOMPLETE: Rule = Rule {
    id: "replay-incomplete",
    severity: Severity::Error,
    threat: fatal(ThreatTarget::Result, "a process of a replay was lost"),
    source: "the processes",
    meaning: "a process of a replay was lost, and the others were stopped or went on without it",
    remedy: "Fix the cause, and replay again.",
};

/// The wall clocks of two hosts differ.
pub const CLOCKS_APART: Rule = Rule {
    id: "clocks-apart",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Tail, "the hosts' clocks differ"),
    source: "the hosts' clocks",
    meaning: "the wall clock of another host differs from this one by more than a second, or by more than chrony or PTP report",
    remedy: "Synchronise the hosts with chrony or PTP before you compare their timestamps.",
};

/// The clock offset of another host is not known precisely enough.
pub const CLOCKS_UNSURE: Rule = Rule {
    id: "clocks-unsure",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Tail, "the hosts' clock offsets are known too roughly"),
    source: "the hosts' clocks",
    meaning: "the clock offset of another host is known less precisely than the lateness limit of a request, 100 µs",
    remedy: "Use a faster network, or synchronise the hosts with PTP.",
};

pub(super) const FAMILY: Family = Family {
    rules: &[
        NOT_FAITHFUL,
        IN_BURSTS,
        REQUESTS_LOST,
        CUT,
        TRACE_ENDED,
        REQUESTS_FAILED,
        NO_OUTCOME,
        INCOMPLETE,
        CLOCKS_APART,
        CLOCKS_UNSURE,
    ],
    evaluate,
};

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let recording = evidence.recording;
    let of_replay = |event: &Event| match event {
        Event::Replayed { workload, replayed } => {
            let mut findings = findings(&Fidelity::of(replayed), replayed);
            findings.iter_mut().for_each(|finding| finding.text.insert_str(0, &format!("`{workload}`: ")));
            findings
        }
        _ => Vec::new(),
    };
    let replays = recording.events.iter().flat_map(|line| of_replay(&line.event));
    let trace_ended = recording.events.iter().filter_map(|line| trace_ended(recording, line));
    let no_outcome = without_outcome(recording)
        .map(|name| NO_OUTCOME.finding(None, &format!("`{name}` did not report the outcome of its replay.")));
    replays.chain(trace_ended).chain(no_outcome).collect()
}

/// The findings of one replay: the tolerances it exceeds, failed requests, and whether it was stopped early.
pub fn findings(fidelity: &Fidelity, replayed: &ReplayOutcome) -> Vec<Finding> {
    let faults = fidelity.faults(replayed);
    let not_faithful = (!faults.is_empty()).then(|| {
        let sentence = format!("The replay is not faithful: {}.", faults.join("; "));
        let is_of_the_trace = faults.len() == 1 && (replayed.damage.is_some() || replayed.lost > 0);
        let remedy = if is_of_the_trace { REMEDY_OF_THE_TRACE } else { NOT_FAITHFUL.remedy };
        NOT_FAITHFUL.finding_with_remedy(&[], &sentence, remedy)
    });
    let in_bursts = in_bursts(fidelity, replayed);
    let lost = (replayed.lost > 0).then(|| {
        let sentence = format!(
            "{} recorded requests were not replayed; the trace's reader holds {} others.",
            replayed.lost, replayed.requests
        );
        REQUESTS_LOST.finding(None, &sentence)
    });
    let failed = (fidelity.errors > 0).then(|| {
        let first = replayed.error.as_deref().unwrap_or("unknown");
        let sentence = format!("{} of {} requests failed; the first error: {first}.", fidelity.errors, replayed.sent);
        REQUESTS_FAILED.finding(None, &sentence)
    });
    let cut = replayed.interrupted.then(|| {
        let sentence = format!(
            "The replay was stopped early: {} of the trace's {} requests were sent.",
            replayed.sent, replayed.requests
        );
        CUT.finding(None, &sentence)
    });
    [not_faithful, failed, in_bursts, lost, cut].into_iter().flatten().collect()
}

/// That requests of one step of a coarse clock were sent in bursts.
fn in_bursts(fidelity: &Fidelity, replayed: &ReplayOutcome) -> Option<Finding> {
    let dispatch = replayed.dispatch.as_ref()?;
    let step_s = fidelity.clock_step_us.filter(|_| !dispatch.resolution.is_spread)? / 1e6;
    let shared = dispatch.due.gaps.counts().first().copied().filter(|shared| *shared > 0)?;
    let sentence = format!(
        "The trace's clock goes in steps of {step_s} s: {shared} of {} requests share their time with the request before them \
         and were sent right after it.",
        dispatch.error.len()
    );
    Some(IN_BURSTS.finding(None, &sentence))
}

/// A replay whose trace ended in `line` before its phases did.
fn trace_ended(recording: &Recording, line: &EventLine) -> Option<Finding> {
    let Event::Replayed { workload, replayed } = &line.event else { return None };
    let runs_replay = |phase: &&Phase| phase.running.contains(workload);
    let is_gap_since = |phase: &&Phase| {
        let mut since = recording.events.iter().filter(|other| other.t_ns >= line.t_ns);
        since.any(|other| matches!(&other.event, Event::PhaseGap { phase: gap, .. } if *gap == phase.id))
    };
    let gaps = recording.plan.phases.iter().filter(runs_replay).filter(is_gap_since);
    let gaps: Vec<&str> = gaps.map(|phase| phase.id.as_str()).collect();
    let first = gaps.first().filter(|_| !replayed.interrupted)?;
    let sentence = format!(
        "The trace of `{workload}` ended after {} requests, before the plan did: from {first} on, {} of its phases were not \
         measured or only in part.",
        replayed.sent,
        gaps.len()
    );
    Some(TRACE_ENDED.finding(None, &sentence))
}

/// The replays of a finished run that were ready and reported no outcome.
fn without_outcome(recording: &Recording) -> impl Iterator<Item = &str> {
    let is_finished = recording.status().is_some();
    let replays = recording.plan.workloads.iter().filter(move |workload| is_finished && workload.kind == "replay");
    let has_no_outcome = |name: &str| {
        let mut events = recording.events.iter().map(|line| &line.event);
        let is_ready = events.clone().any(|event| matches!(event, Event::Ready { workload, .. } if workload == name));
        is_ready && !events.any(|event| matches!(event, Event::Replayed { workload, .. } if workload == name))
    };
    replays.map(|workload| workload.name.as_str()).filter(move |name| has_no_outcome(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::synthetic_replay;

    fn findings_of(replayed: &ReplayOutcome) -> Vec<Finding> {
        findings(&Fidelity::of(replayed), replayed)
    }

    #[test]
    fn an_exact_replay_has_no_findings() {
        assert_eq!(findings_of(&synthetic_replay(1_000, |_| 200)), []);
    }

    #[test]
    fn an_interrupted_replay_has_a_finding() {
        let interrupted = ReplayOutcome { interrupted: true, requests: 2_000, ..synthetic_replay(1_000, |_| 0) };
        let text = &findings_of(&interrupted)[0].text;
        assert!(text.contains("1000 of the trace's 2000 requests were sent"), "{text}");
    }

    #[test]
    fn failed_requests_are_a_finding_with_the_first_error() {
        let failed =
            ReplayOutcome { errors: 2, error: Some("it is gone".to_owned()), ..synthetic_replay(1_000, |_| 0) };
        let findings = findings_of(&failed);
        assert_eq!((findings.len(), findings[0].id.as_str()), (1, "requests-failed"));
        assert!(findings[0].text.contains("2 of 1000 requests failed; the first error: it is gone."));
    }

    /// A replay of `requests` requests in bursts of ten, one burst each second.
    fn bursts(requests: u64, is_spread: bool) -> ReplayOutcome {
        use manometer_measure::dispatch::DispatchResolution;
        const SECOND_NS: u64 = 1_000_000_000;
        let span_ns = requests / 10 * SECOND_NS;
        let (resolution, place_ns) = match is_spread {
            false => (DispatchResolution::new(span_ns, SECOND_NS), 0),
            true => (DispatchResolution::spread(span_ns, SECOND_NS), SECOND_NS / 10),
        };
        let mut dispatch = manometer_measure::Dispatch::new(resolution);
        (0..requests)
            .map(|number| number / 10 * SECOND_NS + number % 10 * place_ns)
            .for_each(|due_ns| dispatch.count(due_ns, due_ns));
        ReplayOutcome { dispatch: Some(dispatch), ..synthetic_replay(requests, |_| 0) }
    }

    #[test]
    fn bursts_of_a_coarse_clock_are_a_finding_with_the_remedy_unless_they_were_spread() {
        let findings = findings_of(&bursts(100, false));
        assert_eq!((findings.len(), findings[0].id.as_str()), (1, "replay-in-bursts"));
        assert!(findings[0].text.contains("steps of 1 s: 90 of 100 requests") && findings[0].text.contains("--spread"));
        assert_eq!(findings_of(&bursts(100, true)), []);
    }

    #[test]
    fn a_damaged_trace_and_a_lossy_one_are_findings() {
        let damaged = ReplayOutcome { damage: Some("in line 7".to_owned()), ..synthetic_replay(1_000, |_| 0) };
        let findings = findings_of(&damaged);
        assert_eq!((findings.len(), findings[0].id.as_str()), (1, "replay-not-faithful"));
        assert!(findings[0].text.contains("in line 7") && findings[0].text.contains("Record the trace again"));
        let ids = |lost| {
            let lossy = ReplayOutcome { lost, ..synthetic_replay(1_000, |_| 0) };
            findings_of(&lossy).into_iter().map(|finding| finding.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(5), ["replay-lacks-requests"]);
        assert_eq!(ids(500), ["replay-not-faithful", "replay-lacks-requests"]);
    }

    #[test]
    fn faults_come_first() {
        let failed = ReplayOutcome { errors: 990, ..synthetic_replay(1_000, |_| 0) };
        let text = &findings_of(&failed)[0].text;
        assert!(text.contains("not faithful: 99.0 % of the requests failed"), "{text}");
    }
}
