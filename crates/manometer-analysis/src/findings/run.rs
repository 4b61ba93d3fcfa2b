//! How the run ended, and whether all of its recording can be read.

use manometer_measure::event::{Finding, Severity, Status};

use super::Rule;
use super::evidence::Evidence;

const RUN_FAILED: Rule = Rule {
    id: "run-failed",
    severity: Severity::Error,
    source: "the run",
    meaning: "the run failed before its end",
    remedy: "Mend what the other errors name, and run it again.",
};

const INTERRUPTED: Rule = Rule {
    id: "interrupted",
    severity: Severity::Warning,
    source: "the run",
    meaning: "somebody stopped the run",
    remedy: "Run it again for the rest.",
};

const CUT_SHORT: Rule = Rule {
    id: "cut-short",
    severity: Severity::Error,
    source: "the run",
    meaning: "the recording has no end",
    remedy: "Run it again for the rest.",
};

const DAMAGED: Rule = Rule {
    id: "damaged",
    severity: Severity::Error,
    source: "the recording",
    meaning: "files could not be read, or not to their end",
    remedy: "Take the recording from where it was copied, or run it again.",
};

pub(super) const RULES: &[Rule] = &[RUN_FAILED, INTERRUPTED, CUT_SHORT, DAMAGED];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    end_of_run(evidence).into_iter().chain(damage(evidence)).collect()
}

fn end_of_run(evidence: &Evidence<'_>) -> Option<Finding> {
    let (rule, sentence) = match evidence.recording.status() {
        Some(Status::Complete) => return None,
        Some(Status::Interrupted) => {
            (INTERRUPTED, "The run was interrupted: what follows covers what had run by then.")
        }
        Some(Status::Failed) => (RUN_FAILED, "The run failed before its end."),
        None => {
            let sentence = "The recording was cut short: it has no end. What follows covers what it holds; a phase that \
                was under way is measured up to its last sample.";
            (CUT_SHORT, sentence)
        }
    };
    Some(rule.tell(None, sentence))
}

fn damage(evidence: &Evidence<'_>) -> Option<Finding> {
    let damage = &evidence.sources.damage;
    let sentence = format!("Not all of the recording could be read: {}.", damage.join("; "));
    (!damage.is_empty()).then(|| DAMAGED.tell(None, &sentence))
}
