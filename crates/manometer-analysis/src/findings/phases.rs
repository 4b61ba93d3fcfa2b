//! What was not measured, not wholly, or not long enough.

use manometer_measure::event::{Finding, Severity};

use super::evidence::Evidence;
use super::{Rule, only};
use crate::phases::Fate;
use crate::pressure::TOO_SHORT;
use crate::summarise::Judged;

/// A phase with fewer samples than this share of what its length has room for misses some.
const ENOUGH_SAMPLES: f64 = 0.9;

const GAP: Rule = Rule {
    id: "phase-gap",
    severity: Severity::Error,
    source: "the run",
    meaning: "a phase was not measured",
    remedy: "Mend the reason and run it again.",
};

const CUT: Rule = Rule {
    id: "phase-cut",
    severity: Severity::Warning,
    source: "the recording",
    meaning: "a phase was not measured to its end",
    remedy: "Run it again for the whole.",
};

const SAMPLES_MISSING: Rule = Rule {
    id: "samples-missing",
    severity: Severity::Warning,
    source: "the recording",
    meaning: "fewer than nine tenths of the samples that the phase has room for",
    remedy: "Give the host idle processor time, or sample less often.",
};

const SHORT: Rule = Rule {
    id: "phase-too-short",
    severity: Severity::Warning,
    source: "Schmeiser 1982; how sure a mean is",
    meaning: "phases without interval",
    remedy: "Run longer phases to know more.",
};

pub(super) const RULES: &[Rule] = &[GAP, CUT, SAMPLES_MISSING, SHORT];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let judged = evidence.judged;
    let mut findings: Vec<Finding> = judged.iter().filter_map(gap).collect();
    findings.extend(not_run(judged));
    findings.extend(judged.iter().filter_map(|one| missing_samples(evidence.recording.plan.interval_s, one)));
    findings.extend(too_short(judged));
    findings
}

fn gap(one: &Judged<'_>) -> Option<Finding> {
    let id = one.phase.id.as_str();
    match &one.fate {
        Fate::Gap(reason) => Some(GAP.tell(Some(id), &format!("{id} was not measured: {reason}."))),
        Fate::Partly(window) => {
            let (got, planned) = (window.seconds(), one.phase.duration_s);
            let sentence = format!("{id} was measured for {got:.0} s of {planned:.0} s: the recording breaks off.");
            Some(CUT.tell(Some(id), &sentence))
        }
        Fate::Whole(_) | Fate::NotRun(_) => None,
    }
}

fn not_run(judged: &[Judged<'_>]) -> Option<Finding> {
    let missed = judged.iter().filter_map(|one| match &one.fate {
        Fate::NotRun(reason) => Some((one.phase.id.as_str(), reason)),
        _ => None,
    });
    let (ids, reasons): (Vec<&str>, Vec<&String>) = missed.unzip();
    let sentence = format!("Not measured: {}; {}.", ids.join(", "), reasons.first()?);
    Some(GAP.tell(only(&ids), &sentence))
}

fn missing_samples(interval_s: f64, one: &Judged<'_>) -> Option<Finding> {
    let room = one.fate.window().ok()?.seconds() / interval_s;
    if !room.is_finite() {
        return None;
    }
    // The begin and the end of a phase need not fall on an interval's: one of them may be cut in two.
    let expected = ENOUGH_SAMPLES * (room - 1.0).floor();
    let samples = one.performance.told.samples;
    one.performance.told.mean?;
    let sentence = format!("{} has {samples} samples where {room:.0} have room: the others are gaps.", one.phase.id);
    ((samples as f64) < expected).then(|| SAMPLES_MISSING.tell(Some(&one.phase.id), &sentence))
}

fn too_short(judged: &[Judged<'_>]) -> Option<Finding> {
    let short = judged.iter().filter(|one| one.performance.told.reason.as_deref() == Some(TOO_SHORT));
    let ids: Vec<&str> = short.map(|one| one.phase.id.as_str()).collect();
    let sentence = format!(
        "Too short for an interval: {}. Samples remember each other; an interval needs at least five batches of three \
         autocorrelation times. Quantiles are shown instead.",
        ids.join(", ")
    );
    (!ids.is_empty()).then(|| SHORT.tell(None, &sentence))
}
