//! Findings reported by the preparation, the conductor, the queue, the workloads and the import, with their own texts.

use std::collections::BTreeSet;

use manometer_measure::Event;
use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::evidence::Evidence;
use super::rule::{Family, Rule, fatal, minor, serious};
use super::text::phase_list;

pub(super) const FAMILY: Family = Family { rules: RULES, evaluate };

const WORKER_FAILED: Rule = Rule {
    id: "worker-failed",
    severity: Severity::Error,
    threat: serious(ThreatTarget::Result, "a workload failed"),
    source: "the run",
    meaning: "a workload failed",
    remedy: "Fix the cause and run it again; the recording's events say when it failed.",
};

const RULES: &[Rule] = &[
    WORKER_FAILED,
    Rule {
        id: "scaled-down",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Result, "the data was reduced to fit the disk"),
        source: "the run",
        meaning: "the data was reduced to fit the disk",
        remedy: "Use a larger disk, or configure smaller sizes.",
    },
    Rule {
        id: "not-preconditioned",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Storage, "the device could not be preconditioned"),
        source: "Storiks 3.4.1 (WR2)",
        meaning: "`prepare.precondition` failed for the reason in the finding: the state of the device is unknown",
        remedy: "Fix the cause, then prepare again.",
    },
    Rule {
        id: "partly-preconditioned",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Storage, "the device was preconditioned only in part"),
        source: "Storiks 3.4.1 (WR2)",
        meaning: "preconditioning filled less than half of the file system, because other data occupies it",
        remedy: "Remove the other data, then prepare again.",
    },
    Rule {
        id: "precondition-discarded",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Storage, "the preconditioning was discarded"),
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the file system is mounted with `discard`: the flash that preconditioning filled is discarded again",
        remedy: "Mount the file system with `nodiscard`.",
    },
    Rule {
        id: "over-provisioning-unknown",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Storage, "whether the over-provisioning holds is unknown"),
        source: "the run",
        meaning: "the file system does not report its free space: whether `prepare.over_provisioning` holds is unknown",
        remedy: "Use a local file system.",
    },
    Rule {
        id: "snapshot-damaged",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Result, "a damaged snapshot was not used"),
        source: "the run",
        meaning: "a snapshot is incomplete and was not used",
        remedy: "Remove the snapshot's directory.",
    },
    Rule {
        id: "not-as-prepared",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Result, "a workload did not find its data as prepared"),
        source: "the run",
        meaning: "a workload did not find its data as prepared, and created it again without settling",
        remedy: "Prepare the experiment again, then run it.",
    },
    Rule {
        id: "not-settled",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Result, "the primary had not settled"),
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the primary did not reach steady state within `prepare.settle`",
        remedy: "Allow more time.",
    },
    Rule {
        id: "power-states-unknown",
        severity: Severity::Info,
        threat: minor(ThreatTarget::Storage, "the device's power states could not be disabled"),
        source: "the run",
        meaning: "`prepare.power_states_off` found no NVMe device under the directory whose power states it could disable",
        remedy: "Report that with the result, or remove the setting.",
    },
    Rule {
        id: "device-unseen",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Storage, "the device was not observed"),
        source: "Storiks 3.4.1 (WR2)",
        meaning: "no block device is visible under the device directory: nothing below its file system was observed",
        remedy: "Use a directory on a local disk.",
    },
    Rule {
        id: "recording-on-device",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Storage, "the recording was written to the measured device"),
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the recording is written to the measured device",
        remedy: "Write the recording to another device with `--out`.",
    },
    Rule {
        id: "fits-in-memory",
        severity: Severity::Info,
        threat: serious(ThreatTarget::Storage, "the primary's data fits in memory"),
        source: "Didona et al., pitfall 4; Storiks 3.4.1",
        meaning: "the primary's data is smaller than the host's memory, and not known to be read past the page cache",
        remedy: "Load more data than memory, or bypass the page cache with direct I/O.",
    },
    Rule {
        id: "bounds-direct-writes-only",
        severity: Severity::Info,
        threat: minor(ThreatTarget::Result, "limits did not apply to buffered writes"),
        source: "the kernel's control groups",
        meaning: "the limits of control groups of version 1 do not apply to writes through the page cache",
        remedy: "Use direct I/O, or a host with control groups of version 2.",
    },
    Rule {
        id: "limits-left-out",
        severity: Severity::Info,
        threat: None,
        source: "the run",
        meaning: "the sweep runs a workload without a control group in this run: its limits do not apply",
        remedy: "Nothing: this run is the baseline for the others.",
    },
    Rule {
        id: "isolation-lost",
        severity: Severity::Error,
        threat: fatal(ThreatTarget::Result, "a workload lost its isolation"),
        source: "the run",
        meaning: "the control group of a workload disappeared, or the workload left it: its limits no longer applied, and \
            it was stopped",
        remedy: "Keep other programs from managing Manometer's control groups, and run it again.",
    },
    Rule {
        id: "write-budget-spent",
        severity: Severity::Error,
        threat: serious(ThreatTarget::Result, "the run stopped at its write budget"),
        source: "`device.write_budget`",
        meaning: "the run was stopped before it exceeded the write budget",
        remedy: "Raise the budget, or write less.",
    },
    Rule {
        id: "write-budget-passed",
        severity: Severity::Error,
        threat: None,
        source: "`device.write_budget`",
        meaning: "the data that engines flushed at the end of the run exceeded the write budget",
        remedy: "Leave more of the budget for engines that keep much unwritten data in memory.",
    },
    Rule {
        id: "write-budget-too-small",
        severity: Severity::Warning,
        threat: None,
        source: "`device.write_budget`",
        meaning: "a set of runs exceeds its write budget before its end, for certain or by estimate; reported for the set",
        remedy: "Raise the budget, or configure fewer or smaller runs.",
    },
    Rule {
        id: "writes-not-counted",
        severity: Severity::Error,
        threat: serious(ThreatTarget::Result, "the run stopped because writes could not be counted"),
        source: "`device.write_budget`",
        meaning: "the run was stopped because the ledger in the device directory could not be written, so that writes could \
            no longer be counted",
        remedy: "Fix the cause in the finding, most often a full disk.",
    },
    Rule {
        id: "operation-without-column",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Result, "an operation was not counted"),
        source: "the run",
        meaning: "an operation appeared that no phase declared: its latencies are recorded, its counts are not",
        remedy: "Declare the operation in the experiment.",
    },
    Rule {
        id: "interval-too-wide",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Phase, "a confidence interval is wider than requested"),
        source: "the run",
        meaning: "a phase reached the longest time that `plan.stop` allows with an interval wider than requested",
        remedy: "Raise `at_most` of `plan.stop`, or let the device settle for longer.",
    },
    Rule {
        id: "unlike-states-between-runs",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Result, "runs started from the state left by earlier runs"),
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the runs of a sweep are shuffled or interleaved, and nothing lets the device settle between different \
            ones; reported for the set",
        remedy: "Add `plan.warmup` where there is a primary, else `plan.settle`, or start every run from a snapshot.",
    },
    Rule {
        id: "repeats-too-wide",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Result, "an interval over repeats is wider than requested"),
        source: "the queue",
        meaning: "a combination of a sweep reached the largest number of repeats that its stop rule allows with an interval \
            wider than requested; reported for the set",
        remedy: "Raise `at_most`, run longer phases, or find out what differs from run to run.",
    },
    Rule {
        id: "runs-failed",
        severity: Severity::Error,
        threat: serious(ThreatTarget::Result, "runs of the set are missing"),
        source: "the queue",
        meaning: "runs of a set failed in every attempt (`sweep.retry`); reported for the set, whose other runs were made",
        remedy: "Read why in their recordings, mend that, and use `--resume`.",
    },
    Rule {
        id: "client-lost",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Result, "a client was lost and the load fell"),
        source: "the worker that adds up the clients",
        meaning: "a client of a workload with `on_lost = \"continue\"` was lost: from then on the load was smaller",
        remedy: "Trust only the phases before it, or run it again.",
    },
    Rule {
        id: "worker-silent",
        severity: Severity::Error,
        threat: serious(ThreatTarget::Result, "a workload fell silent"),
        source: "the run",
        meaning: "a worker sent nothing for the limit of silence (`silence`); it was ended, and its phase has a gap",
        remedy: "Let nothing stop its process (SIGSTOP, a debugger, a frozen control group); if it waited for the device, \
            check that; then run it again.",
    },
    Rule {
        id: "device-silent",
        severity: Severity::Error,
        threat: serious(ThreatTarget::Result, "the device stopped answering"),
        source: "the run",
        meaning: "requests waited in the device for the limit of silence (`silence`), and none was answered; the run was stopped",
        remedy: "Check the device (`dmesg`), then run it again.",
    },
    Rule {
        id: "import-damaged",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Result, "the imported file is damaged"),
        source: "`manometer import`",
        meaning: "an imported file is damaged in the middle, and was read up to there",
        remedy: "Copy the file again, and import it again.",
    },
    Rule {
        id: "import-cut-short",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Result, "the imported file has no end"),
        source: "`manometer import`",
        meaning: "an imported file has no end: the run was cut short, or the file was",
        remedy: "Import the whole file, or trust only the phases that it holds.",
    },
    Rule {
        id: "import-clock-stepped",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Phase, "the clock of the imported file was stepped"),
        source: "`manometer import`",
        meaning: "the clock of an imported file went backwards by a sample interval or more: those samples have the \
            timestamp before the step",
        remedy: "Do not trust the length of the phase with the step.",
    },
    Rule {
        id: "import-clock-jitter",
        severity: Severity::Info,
        threat: None,
        source: "`manometer import`",
        meaning: "the clock of an imported file went backwards by less than a sample interval: those lines have the timestamp \
            before the step",
        remedy: "Nothing to do: the phases are as long as they were.",
    },
    Rule {
        id: "import-neighbour-unsampled",
        severity: Severity::Warning,
        threat: minor(ThreatTarget::Phase, "a neighbour has no sample"),
        source: "`manometer import`",
        meaning: "a neighbour runs in a phase of an imported file in which no whole sample of its own lies",
        remedy: "Do not take the phase for one without that neighbour.",
    },
    Rule {
        id: "import-unknown-version",
        severity: Severity::Warning,
        threat: serious(ThreatTarget::Result, "the imported file has an unknown version"),
        source: "`manometer import`",
        meaning: "an imported file has an unknown version, and was read like the known ones",
        remedy: "Check that the recording has everything that the file holds.",
    },
];

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let events = || evidence.recording.events.iter().map(|line| &line.event);
    let is_of_silence = |text: &str| {
        events().any(
            |event| matches!(event, Event::Finding(known) if known.id == "worker-silent" && known.text.contains(text)),
        )
    };
    let finding = |event: &Event| match event {
        Event::Finding(finding) => Some(finding.clone()),
        // `worker-silent` says of this failure what to do.
        Event::Error { text, .. } if is_of_silence(text) => None,
        Event::Error { workload, text } => {
            let sentence = format!("`{workload}` failed: {}.", text.trim_end_matches('.'));
            Some(WORKER_FAILED.finding(None, &sentence))
        }
        _ => None,
    };
    by_rule(events().filter_map(finding))
}

/// The findings, those of one rule about single phases merged: with the text of the first, which names its phase.
fn by_rule(findings: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        match merged.iter_mut().find(|known| known.id == finding.id && is_about_phases(known)) {
            Some(known) if is_about_phases(&finding) => {
                let all: BTreeSet<&str> = known.phase_ids().chain(finding.phase_ids()).collect();
                *known = known.clone().in_phases(all);
            }
            _ => merged.push(finding),
        }
    }
    merged.into_iter().map(complete).collect()
}

fn is_about_phases(finding: &Finding) -> bool {
    finding.phase_ids().next().is_some()
}

/// A finding with its threat, and where it is about several phases with their list before its text.
fn complete(mut finding: Finding) -> Finding {
    if !finding.phases.is_empty() {
        let ids: Vec<&str> = finding.phase_ids().collect();
        finding.text = format!("In {}: {}", phase_list(&ids), finding.text);
    }
    let rule = super::rules().find(|rule| rule.id == finding.id);
    finding.threat = rule.and_then(|rule| rule.threat).map(|rule| rule.threat);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_one_rule_over_several_phases_are_one() {
        let wide = |phase: &str| {
            Finding::new("interval-too-wide", Severity::Warning, format!("After 60.0 s of {phase} …"))
                .in_phases([phase])
        };
        let lost = Finding::new("isolation-lost", Severity::Error, "`n1` was moved.");
        let merged = by_rule([wide("w1"), lost.clone(), wide("w3"), lost].into_iter());
        let ids: Vec<&str> = merged.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, ["interval-too-wide", "isolation-lost", "isolation-lost"]);
        assert_eq!((merged[0].text.as_str(), merged[0].phases.len()), ("In w1, w3: After 60.0 s of w1 …", 2));
        assert!(merged[0].threat < merged[1].threat, "{merged:?}");
    }
}
