//! What a flash device does behind the scenes: the pitfalls of Didona et al. that are the device's.
//!
//! A rotating disk has none of it; of a hypervisor's nothing is known, which `virtual-disk` says once.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::host::LEAST_STEPS;
use serde_json::Value;

use super::evidence::{Evidence, amount, states};
use super::{Rule, bytes_text};
use crate::series::Window;

/// A device is in the state that it will stay in after this many times its capacity was written.
const CAPACITIES: f64 = 3.0;

/// The write amplification of a phase is known to a few per cent from so many bytes on, even where the device does
/// not say how coarse its counters are.
const LEAST_HOST_BYTES: f64 = (256_u64 << 20) as f64;

/// Phases whose write amplification differs by more than this share are unlike.
const UNLIKE_AMPLIFICATION: f64 = 0.1;

const SHORT: Rule = Rule {
    id: "too-short-for-device",
    severity: Severity::Warning,
    source: "Didona et al., pitfall 1; Storiks 2.4.3",
    meaning: "fewer bytes than three times the capacity were written since the device was preconditioned",
    remedy: "Write more before measuring: a longer settle time, or `prepare` with preconditioning.",
};

const AMPLIFICATION_UNKNOWN: Rule = Rule {
    id: "write-amplification-unknown",
    severity: Severity::Info,
    source: "Didona et al., pitfall 2; Storiks 2.4.3",
    meaning: "the device's own write amplification (WA-D) is not known: it shows no count of bytes written to flash, or \
              in no phase did its counters move by 20 of their steps",
    remedy: "Say so beside the result, write more in each phase, or use a device whose SMART log counts finely.",
};

const AMPLIFICATION_CHANGES: Rule = Rule {
    id: "write-amplification-changes",
    severity: Severity::Warning,
    source: "Didona et al., pitfall 2; Storiks 2.4.3",
    meaning: "WA-D differs by more than a tenth between phases",
    remedy: "Precondition the device and let it settle, so that it collects garbage alike in all phases.",
};

const STATE_UNKNOWN: Rule = Rule {
    id: "device-state-unknown",
    severity: Severity::Warning,
    source: "Didona et al., pitfall 3; Storiks 3.4.1 (WR2) and 4.2",
    meaning: "nobody recorded what was written to the device before",
    remedy: "Precondition it: `prepare.precondition = \"random\"`.",
};

const OVER_PROVISIONING: Rule = Rule {
    id: "over-provisioning-unrecorded",
    severity: Severity::Info,
    source: "Didona et al., pitfall 6; Storiks 4.2",
    meaning: "nobody recorded which share of the device is kept free of data",
    remedy: "Say it: `prepare.over_provisioning = 0.3`.",
};

const SINGLE: Rule = Rule {
    id: "single-device",
    severity: Severity::Info,
    source: "Didona et al., pitfall 7; Storiks 2.4.3",
    meaning: "all that is said comes from one device",
    remedy: "Repeat it on a device of another kind before you generalise.",
};

pub(super) const RULES: &[Rule] =
    &[SHORT, AMPLIFICATION_UNKNOWN, AMPLIFICATION_CHANGES, STATE_UNKNOWN, OVER_PROVISIONING, SINGLE];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if evidence.flash().is_some() {
        findings.extend(short(evidence));
        findings.extend(amplification(evidence));
        findings.extend(state(evidence));
        findings.extend(over_provisioning(evidence));
    }
    findings.extend(single(evidence));
    findings
}

fn short(evidence: &Evidence<'_>) -> Option<Finding> {
    let state = evidence.device_state().filter(|state| is_there(state.get("precondition")))?;
    let before = state.get("written_since_precondition_bytes")?.as_f64()?;
    let capacity = evidence.flash()?.get("size_bytes")?.as_f64().filter(|bytes| *bytes > 0.0)?;
    let device = evidence.series("device");
    let during = device.and_then(|device| amount(device, "write_bytes", evidence.whole()?)).unwrap_or(0.0);
    let written = before + during;
    let sentence = format!(
        "{} were written since the device was preconditioned, {:.1} times its {}: its speed may still change.",
        bytes_text(written),
        written / capacity,
        bytes_text(capacity)
    );
    (written < CAPACITIES * capacity).then(|| SHORT.tell(None, &sentence))
}

fn amplification(evidence: &Evidence<'_>) -> Option<Finding> {
    let known = evidence
        .series("health")
        .filter(|health| evidence.whole().is_some_and(|all| growth(health, "nand_bytes_written", all).is_some()));
    let Some(health) = known else {
        let sentence = "What the device itself writes for each byte it is given (WA-D) is not known.";
        return Some(AMPLIFICATION_UNKNOWN.tell(None, sentence));
    };
    let phases: Vec<(&str, f64)> = evidence
        .measured()
        .filter_map(|(one, window)| Some((one.phase.id.as_str(), amplification_in(health, window)?)))
        .collect();
    if phases.is_empty() {
        return too_little(evidence, health);
    }
    let least = phases.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let most = phases.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let sentence = format!(
        "The device wrote {:.2} bytes for each byte it was given in {}, and {:.2} in {} (WA-D).",
        least.1, least.0, most.1, most.0
    );
    (most.1 > least.1 * (1.0 + UNLIKE_AMPLIFICATION)).then(|| AMPLIFICATION_CHANGES.tell(None, &sentence))
}

/// That phases wrote, and none enough to tell.
fn too_little(evidence: &Evidence<'_>, health: &Samples) -> Option<Finding> {
    let all = evidence.whole()?;
    growth(health, "host_bytes_written", all).filter(|bytes| *bytes > 0.0)?;
    let least = ["host_step", "nand_step"].map(|column| least_bytes(health, column, all));
    let least = least.into_iter().fold(LEAST_HOST_BYTES, f64::max);
    let sentence = format!(
        "Too little was written in each phase to tell what the device itself writes for each byte it is given (WA-D): \
         its counters are too coarse for less than {}.",
        bytes_text(least)
    );
    Some(AMPLIFICATION_UNKNOWN.tell(None, &sentence))
}

/// NAND bytes by host bytes in `window`; nothing where a counter moved by too few of its steps.
fn amplification_in(health: &Samples, window: Window) -> Option<f64> {
    let least = |step: &str| least_bytes(health, step, window);
    let host = growth(health, "host_bytes_written", window)?;
    let nand = growth(health, "nand_bytes_written", window)?;
    let enough = host >= LEAST_HOST_BYTES.max(least("host_step")) && nand >= least("nand_step");
    enough.then(|| nand / host)
}

/// What must be written before a counter whose steps stand in `column` tells; nothing is known of older recordings.
fn least_bytes(health: &Samples, column: &str, window: Window) -> f64 {
    states(health, column, window).last().map_or(0.0, |(_, step)| LEAST_STEPS * step)
}

/// How much a counter grew; nothing where it was not read twice.
fn growth(health: &Samples, column: &str, window: Window) -> Option<f64> {
    match states(health, column, window).as_slice() {
        [first, .., last] => Some(last.1 - first.1),
        _ => None,
    }
}

fn state(evidence: &Evidence<'_>) -> Option<Finding> {
    let known = evidence.device_state().is_some_and(|state| is_there(state.get("precondition")));
    let sentence = "The state of the device is unknown: how much of its flash was free decides how fast it writes.";
    (!known).then(|| STATE_UNKNOWN.tell(None, sentence))
}

fn over_provisioning(evidence: &Evidence<'_>) -> Option<Finding> {
    let known = evidence.device_state().is_some_and(|state| is_there(state.get("over_provisioning")));
    let sentence = "The over-provisioning of the device is not recorded.";
    (!known).then(|| OVER_PROVISIONING.tell(None, sentence))
}

fn single(evidence: &Evidence<'_>) -> Option<Finding> {
    let device = evidence.device()?;
    evidence.recording.plan.primary()?;
    let name = ["model", "name"].iter().find_map(|key| device.get(*key)?.as_str()).unwrap_or("unnamed");
    Some(SINGLE.tell(None, &format!("All phases ran on one device ({name}): others behave otherwise.")))
}

fn is_there(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null())
}
