//! How the run ended, and whether the whole recording can be read.

use manometer_measure::event::{Finding, RunStatus, Severity, ThreatTarget};

use super::evidence::Evidence;
use super::rule::{Family, Rule, minor, serious};

const RUN_FAILED: Rule = Rule {
    id: "run-failed",
    severity: Severity::Error,
    threat: serious(ThreatTarget::Result, "the run failed"),
    source: "the run",
    meaning: "the run failed before its end",
    remedy: "Fix the other errors, and run it again.",
};

const INTERRUPTED: Rule = Rule {
    id: "interrupted",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Result, "the run was interrupted"),
    source: "the run",
    meaning: "the run was interrupted",
    remedy: "Run it again for the remaining phases.",
};

const CUT_SHORT: Rule = Rule {
    id: "cut-short",
    severity: Severity::Error,
    threat: serious(ThreatTarget::Result, "the recording has no end"),
    source: "the run",
    meaning: "the recording has no end",
    remedy: "Run it again for the remaining phases.",
};

/// Files of a recording could not be read as a whole.
pub const DAMAGED: Rule = Rule {
    id: "damaged",
    severity: Severity::Error,
    threat: serious(ThreatTarget::Result, "the recording is damaged"),
    source: "the recording",
    meaning: "files of the recording could not be read, or not as a whole",
    remedy: "Copy the recording again, or run it again.",
};

pub(super) const FAMILY: Family = Family { rules: &[RUN_FAILED, INTERRUPTED, CUT_SHORT, DAMAGED], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    end_of_run(evidence).into_iter().chain(damaged(&evidence.data.damage)).collect()
}

fn end_of_run(evidence: &Evidence<'_>) -> Option<Finding> {
    let (rule, sentence) = match evidence.recording.status() {
        Some(RunStatus::Complete) => return None,
        Some(RunStatus::Interrupted) => (INTERRUPTED, "The run was interrupted: the results cover what ran before."),
        Some(RunStatus::Failed) => (RUN_FAILED, "The run failed before its end."),
        None => {
            let sentence = "The recording was cut short: it has no end. The results cover what it holds; the last phase is \
                measured up to its last sample.";
            (CUT_SHORT, sentence)
        }
    };
    Some(rule.finding(None, sentence))
}

/// Files that could not be read, each with its error; `None` without any.
pub fn damaged(damage: &[String]) -> Option<Finding> {
    let sentence = format!("The recording is damaged: {}.", damage.join("; "));
    (!damage.is_empty()).then(|| DAMAGED.finding(None, &sentence))
}
