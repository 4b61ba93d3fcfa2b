//! The state of a flash device: preconditioning, write amplification, over-provisioning (Didona et al.'s pitfalls).
//!
//! They do not apply to a rotating disk; nothing is known of a virtual disk, which `virtual-disk` reports once.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::host::LEAST_STEPS;
use manometer_measure::human;
use serde_json::Value;

use super::evidence::{Evidence, growth, readings, total_of_rate};
use super::rule::{Family, Rule, minor, serious};
use crate::time_series::TimeWindow;

/// A device reaches steady state after this many times its capacity was written.
const CAPACITIES: f64 = 3.0;

/// From this many bytes on, the write amplification of a phase is known to a few per cent even where the device does not
/// report the resolution of its counters.
const MIN_HOST_BYTES: f64 = (256_u64 << 20) as f64;

/// Phases whose write amplification differs by more than this share are not comparable.
const AMPLIFICATION_TOLERANCE: f64 = 0.1;

const SHORT: Rule = Rule {
    id: "too-short-for-device",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Storage, "too little was written since the device was preconditioned"),
    source: "Didona et al., pitfall 1; Storiks 2.4.3",
    meaning: "less than three times the device's capacity was written since it was preconditioned",
    remedy: "Write more before measuring: settle for longer, or prepare with preconditioning.",
};

const AMPLIFICATION_UNKNOWN: Rule = Rule {
    id: "write-amplification-unknown",
    severity: Severity::Info,
    threat: None,
    source: "Didona et al., pitfall 2; Storiks 2.4.3",
    meaning: "the device's write amplification (WA-D) is unknown: it has no counter of bytes written to flash, or its \
        counters moved by fewer than 20 steps in every phase",
    remedy: "Report that with the result, write more in each phase, or use a device whose SMART log has finer \
        counters.",
};

const AMPLIFICATION_CHANGES: Rule = Rule {
    id: "write-amplification-changes",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Storage, "the device's write amplification changed"),
    source: "Didona et al., pitfall 2; Storiks 2.4.3",
    meaning: "the device's write amplification (WA-D) differs by more than 10 % between phases",
    remedy: "Precondition the device and let it settle, so that garbage collection is the same in all phases.",
};

const STATE_UNKNOWN: Rule = Rule {
    id: "device-state-unknown",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Storage, "the state of the device is unknown"),
    source: "Didona et al., pitfall 3; Storiks 3.4.1 (WR2) and 4.2",
    meaning: "the recording does not say what was written to the device before",
    remedy: "Precondition the device: `prepare.precondition = \"random\"`.",
};

const OVER_PROVISIONING: Rule = Rule {
    id: "over-provisioning-unrecorded",
    severity: Severity::Info,
    threat: None,
    source: "Didona et al., pitfall 6; Storiks 4.2",
    meaning: "the recording does not say which share of the device is kept free of data",
    remedy: "Set the share: `prepare.over_provisioning = 0.3`.",
};

const SINGLE: Rule = Rule {
    id: "single-device",
    severity: Severity::Info,
    threat: None,
    source: "Didona et al., pitfall 7; Storiks 2.4.3",
    meaning: "all results come from one device",
    remedy: "Repeat the experiment on a device of another kind before you generalise.",
};

pub(super) const FAMILY: Family = Family {
    rules: &[SHORT, AMPLIFICATION_UNKNOWN, AMPLIFICATION_CHANGES, STATE_UNKNOWN, OVER_PROVISIONING, SINGLE],
    evaluate,
};

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if evidence.flash().is_some() {
        findings.extend(short(evidence));
        findings.extend(amplification(evidence));
        findings.extend(state_unknown(evidence));
        findings.extend(over_provisioning(evidence));
    }
    findings.extend(single(evidence));
    findings
}

fn short(evidence: &Evidence<'_>) -> Option<Finding> {
    let state = evidence.device_state().filter(|state| is_recorded(state.get("precondition")))?;
    let before = state.get("written_since_precondition_bytes")?.as_f64()?;
    let capacity = evidence.flash()?.get("size_bytes")?.as_f64().filter(|capacity| *capacity > 0.0)?;
    let device = evidence.series("device");
    let during =
        device.and_then(|device| total_of_rate(device, "write_bytes", &[evidence.measured_time()?])).unwrap_or(0.0);
    let written = before + during;
    let sentence = format!(
        "{} were written since the device was preconditioned, {:.1} times its {}: its speed may still change.",
        human::bytes(written as u64),
        written / capacity,
        human::bytes(capacity as u64)
    );
    (written < CAPACITIES * capacity).then(|| SHORT.finding(None, &sentence))
}

fn amplification(evidence: &Evidence<'_>) -> Option<Finding> {
    let has_counter = |health: &&Samples| {
        evidence.measured_time().is_some_and(|time| growth(health, "nand_bytes_written", time).is_some())
    };
    let Some(health) = evidence.series("health").filter(has_counter) else {
        let sentence =
            "The device's write amplification (WA-D) is unknown: it has no counter of bytes written to flash.";
        return Some(AMPLIFICATION_UNKNOWN.finding(None, sentence));
    };
    let phases: Vec<(&str, f64)> = evidence
        .measured_phases()
        .filter_map(|(result, _)| Some((result.id(), amplification_in(health, result.outcome.time().ok()?.span())?)))
        .collect();
    if phases.is_empty() {
        return too_little_written(evidence, health);
    }
    let least = phases.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let most = phases.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let sentence = format!(
        "The device's write amplification (WA-D) changed: {:.2} in {}, and {:.2} in {}.",
        least.1, least.0, most.1, most.0
    );
    (most.1 > least.1 * (1.0 + AMPLIFICATION_TOLERANCE)).then(|| AMPLIFICATION_CHANGES.finding(None, &sentence))
}

fn too_little_written(evidence: &Evidence<'_>, health: &Samples) -> Option<Finding> {
    let time = evidence.measured_time()?;
    growth(health, "host_bytes_written", time).filter(|written| *written > 0.0)?;
    let needed = ["host_step", "nand_step"].map(|column| min_bytes(health, column, time));
    let needed = needed.into_iter().fold(MIN_HOST_BYTES, f64::max);
    let sentence = format!(
        "The device's write amplification (WA-D) is unknown: too little was written in each phase. The resolution of its \
         counters needs {}.",
        human::bytes(needed as u64)
    );
    Some(AMPLIFICATION_UNKNOWN.finding(None, &sentence))
}

/// Bytes written to flash divided by bytes written by the host; `None` where a counter moved by too few of its steps.
fn amplification_in(health: &Samples, window: TimeWindow) -> Option<f64> {
    let host = growth(health, "host_bytes_written", window)?;
    let nand = growth(health, "nand_bytes_written", window)?;
    let min_host = MIN_HOST_BYTES.max(min_bytes(health, "host_step", window));
    (host >= min_host && nand >= min_bytes(health, "nand_step", window)).then(|| nand / host)
}

/// The bytes from which on a counter with the steps in `column` is precise enough; 0 for recordings without that column.
fn min_bytes(health: &Samples, column: &str, window: TimeWindow) -> f64 {
    readings(health, column, window).last().map_or(0.0, |(_, step)| LEAST_STEPS * step)
}

fn state_unknown(evidence: &Evidence<'_>) -> Option<Finding> {
    let is_known = evidence.device_state().is_some_and(|state| is_recorded(state.get("precondition")));
    let sentence = "The state of the device is unknown: its write speed depends on how much of its flash was free.";
    (!is_known).then(|| STATE_UNKNOWN.finding(None, sentence))
}

fn over_provisioning(evidence: &Evidence<'_>) -> Option<Finding> {
    let is_known = evidence.device_state().is_some_and(|state| is_recorded(state.get("over_provisioning")));
    (!is_known).then(|| OVER_PROVISIONING.finding(None, "The over-provisioning of the device is not recorded."))
}

fn single(evidence: &Evidence<'_>) -> Option<Finding> {
    let device = evidence.device()?;
    evidence.recording.plan.primary()?;
    let name = ["model", "name"].iter().find_map(|key| device.get(*key)?.as_str()).unwrap_or("unnamed");
    Some(SINGLE.finding(None, &format!("All phases ran on one device ({name}); other devices behave differently.")))
}

fn is_recorded(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null())
}
