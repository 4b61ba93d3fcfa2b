//! What the preparation, the conductor, the queue, the workloads and the import told themselves. Their texts are their
//! own.

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
        id: "not-preconditioned",
        severity: Severity::Warning,
        source: "Storiks 3.4.1 (WR2)",
        meaning: "`prepare.precondition` could not be done, for what the finding says: the state of the device is not known",
        remedy: "Mend what it names, then prepare again.",
    },
    Rule {
        id: "partly-preconditioned",
        severity: Severity::Warning,
        source: "Storiks 3.4.1 (WR2)",
        meaning: "preconditioning filled less than half of the file system, because other data lie there",
        remedy: "Remove what else lies there, then prepare again.",
    },
    Rule {
        id: "precondition-discarded",
        severity: Severity::Warning,
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the file system is mounted with `discard`: the flash that preconditioning filled is discarded again",
        remedy: "Mount with `nodiscard`.",
    },
    Rule {
        id: "over-provisioning-unknown",
        severity: Severity::Warning,
        source: "the run",
        meaning: "the file system does not say how much of it is free: whether `prepare.over_provisioning` is kept is not known",
        remedy: "Choose a local file system.",
    },
    Rule {
        id: "snapshot-damaged",
        severity: Severity::Warning,
        source: "the run",
        meaning: "a snapshot is not whole, and is not used",
        remedy: "Remove its folder.",
    },
    Rule {
        id: "not-as-prepared",
        severity: Severity::Warning,
        source: "the run",
        meaning: "a workload did not find its data as they were prepared, and made them anew without settling",
        remedy: "Prepare the experiment again, then run it.",
    },
    Rule {
        id: "not-settled",
        severity: Severity::Warning,
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the primary did not become steady within the time that `prepare.settle` allows",
        remedy: "Allow more time.",
    },
    Rule {
        id: "power-states-unknown",
        severity: Severity::Info,
        source: "the run",
        meaning: "`prepare.power_states_off` found no NVMe disk under the directory whose power-state transitions it could switch off",
        remedy: "Say so beside the result, or leave it out.",
    },
    Rule {
        id: "device-unseen",
        severity: Severity::Warning,
        source: "Storiks 3.4.1 (WR2)",
        meaning: "no block device shows under the device directory: nothing below its file system was observed",
        remedy: "Choose a folder on a local disk.",
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
        id: "bounds-direct-writes-only",
        severity: Severity::Info,
        source: "the kernel's control groups",
        meaning: "limits of control groups of version 1: writes through the page cache are not bounded",
        remedy: "Use direct I/O, or a host with control groups of version 2.",
    },
    Rule {
        id: "limits-left-out",
        severity: Severity::Info,
        source: "the run",
        meaning: "a workload has no control group in this run, as the sweep says: its limits do not hold",
        remedy: "Nothing: this is the run to compare with.",
    },
    Rule {
        id: "isolation-lost",
        severity: Severity::Error,
        source: "the run",
        meaning: "the control group around a workload vanished, or the workload left it: its limits no longer held, and it was ended",
        remedy: "Let nobody else manage the control groups under ours, and run it again.",
    },
    Rule {
        id: "write-budget-spent",
        severity: Severity::Error,
        source: "`device.write_budget`",
        meaning: "the run was stopped before it passed the write budget",
        remedy: "Raise the budget, or run less.",
    },
    Rule {
        id: "write-budget-passed",
        severity: Severity::Error,
        source: "`device.write_budget`",
        meaning: "what engines wrote when the run ended passed the write budget",
        remedy: "Leave more of the budget to a run whose engine keeps much in memory.",
    },
    Rule {
        id: "write-budget-too-small",
        severity: Severity::Warning,
        source: "`device.write_budget`",
        meaning: "a set passes its write budget before its end, for sure or as far as can be estimated; told beside the runs",
        remedy: "Raise the budget, or have fewer or smaller runs.",
    },
    Rule {
        id: "writes-not-counted",
        severity: Severity::Error,
        source: "`device.write_budget`",
        meaning: "the ledger in the device directory could not be written, so that what is written can no longer be counted: the run was stopped",
        remedy: "See what the finding names: a full disk, most often.",
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
    Rule {
        id: "unlike-states-between-runs",
        severity: Severity::Warning,
        source: "Storiks 3.4.1 (WR2)",
        meaning: "the runs of a sweep follow one another shuffled or interleaved and nothing lets the device settle between unlike ones; told beside the runs",
        remedy: "Add `plan.warmup` where there is a primary, else `plan.settle`, or begin every run from a snapshot.",
    },
    Rule {
        id: "repeats-too-wide",
        severity: Severity::Warning,
        source: "the queue",
        meaning: "a combination of a sweep ran as often as its stop rule allows, and the interval over its runs is wider than that wants; told beside the runs",
        remedy: "Raise `at_most`, run longer phases, or find out what differs from run to run.",
    },
    Rule {
        id: "import-damaged",
        severity: Severity::Warning,
        source: "`manometer import`",
        meaning: "an imported file was damaged in the middle, and was taken up to there",
        remedy: "Take the file from where it was copied, and import it again.",
    },
    Rule {
        id: "import-cut-short",
        severity: Severity::Warning,
        source: "`manometer import`",
        meaning: "an imported file has no end: the run was cut short, or the file was",
        remedy: "Take the whole file, or trust only the phases that it holds.",
    },
    Rule {
        id: "import-clock-stepped",
        severity: Severity::Warning,
        source: "`manometer import`",
        meaning: "the clock of an imported file went back: what came then is taken to have been at the moment before",
        remedy: "Do not trust the length of the phase in which it did.",
    },
    Rule {
        id: "import-unknown-version",
        severity: Severity::Warning,
        source: "`manometer import`",
        meaning: "an imported file is of a version that was not known, and was read as the known ones are",
        remedy: "Look whether all that the file holds is in the recording.",
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
