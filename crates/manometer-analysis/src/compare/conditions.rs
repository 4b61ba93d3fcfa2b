//! The conditions of a recording (host, device, engine) that should be equal when recordings are compared.

use std::path::Path;

use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::{Event, Recording};
use serde_json::{Map, Value};

use super::initial_state::{InitialState, different_states};
use super::workloads::{SweptSettings, Workloads, unlike_workloads};
use crate::findings::{Rule, serious};
use crate::prose::shortened;

/// A condition that should be equal.
struct Condition {
    /// Its name in findings.
    name: &'static str,
    location: Location,
    rule: Rule,
    /// Whether a value that is known on one side only is reported: a comparison of devices says more than any other.
    says_unknown: bool,
}

/// What stands for a value that is not known.
const UNKNOWN: &str = "unknown";

/// Where a recording holds a condition.
enum Location {
    /// A pointer into `environment.json`.
    Environment(&'static str),
    /// A fact that the primary reported of its engine.
    Engine(&'static str),
}
use Location::{Engine, Environment};

const fn condition(
    name: &'static str,
    location: Location,
    id: &'static str,
    meaning: &'static str,
    remedy: &'static str,
) -> Condition {
    let threat = serious(ThreatTarget::Result, meaning);
    let rule = Rule { id, severity: Severity::Warning, threat, source: "Storiks 3.4.1 (WR2)", meaning, remedy };
    Condition { name, location, rule, says_unknown: matches!(id.as_bytes(), b"unlike-device-model") }
}

const SAME_HOST: &str =
    "Run all on one host, and update it before all of them or after; or report the difference with the result.";
const SAME_DEVICE: &str = "Run all on one device and one file system, or report the difference with the result.";
const SAME_FIRMWARE: &str =
    "Update the firmware before all of them or after, or report the difference with the result.";
const SAME_VERSION: &str = "Run all with the same version, or report the difference with the result.";

/// The conditions, in the order in which differences are reported.
const CONDITIONS: &[Condition] = &[
    condition(
        "kernel",
        Environment("/host/kernel"),
        "unlike-kernel",
        "the recordings have different kernels",
        SAME_HOST,
    ),
    condition(
        "processor",
        Environment("/host/cpu"),
        "unlike-processor",
        "the recordings have different processors",
        SAME_HOST,
    ),
    condition(
        "memory",
        Environment("/host/memory_bytes"),
        "unlike-memory",
        "the recordings have different sizes of memory",
        SAME_HOST,
    ),
    condition(
        "device model",
        Environment("/device/model"),
        "unlike-device-model",
        "the recordings have devices of different models",
        SAME_DEVICE,
    ),
    condition(
        "device firmware",
        Environment("/device/firmware"),
        "unlike-device-firmware",
        "the recordings have devices with different firmware",
        SAME_FIRMWARE,
    ),
    condition(
        "I/O scheduler",
        Environment("/device/scheduler"),
        "unlike-i-o-scheduler",
        "the recordings have different I/O schedulers, and no sweep sets them",
        "Set one for all runs: `device.scheduler`.",
    ),
    condition(
        "file system",
        Environment("/file_system/type"),
        "unlike-file-system",
        "the recordings have different types of file system",
        SAME_DEVICE,
    ),
    condition(
        "version of Manometer",
        Environment("/manometer"),
        "unlike-version-of-manometer",
        "the recordings come from different versions of Manometer",
        SAME_VERSION,
    ),
    condition(
        "engine",
        Engine("engine"),
        "unlike-engine",
        "the recordings have different engines, and no sweep sets them",
        "Run all with one engine, or sweep it: `primary.engine`.",
    ),
    condition(
        "engine version",
        Engine("engine_version"),
        "unlike-engine-version",
        "the recordings have different versions of the engine",
        SAME_VERSION,
    ),
    condition(
        "durability of a put",
        Engine("durability"),
        "unlike-durability-of-a-put",
        "the recordings have puts of different durability",
        "Set the same durability for all, or report the difference with the result.",
    ),
];

/// The rules of all conditions.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    CONDITIONS.iter().map(|condition| &condition.rule)
}

impl Condition {
    /// Its value in `recording`; `None` where it was not recorded or where a sweep sets it.
    fn value(&self, recording: &Recording) -> Option<String> {
        let is_swept = |key: &str| recording.plan.sweep.keys().any(|setting| setting.ends_with(key));
        match self.location {
            Environment(pointer) => {
                let value = recording.environment.pointer(pointer).filter(|_| !is_swept(last_part(pointer)))?;
                text(value)
            }
            Engine(fact) => {
                let value = text(engine_facts(recording).filter(|_| !is_swept(".engine"))?.get(fact)?);
                if fact == "durability" { value.map(guarantee) } else { value }
            }
        }
    }
}

fn last_part(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or(pointer)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// What the primary reported of its engine when it was first ready.
fn engine_facts(recording: &Recording) -> Option<&Map<String, Value>> {
    let primary = recording.plan.primary().map(|primary| primary.name.as_str());
    recording.events.iter().find_map(|line| match &line.event {
        Event::Ready { workload, facts } if Some(workload.as_str()) == primary => Some(facts),
        _ => None,
    })
}

/// The guarantee in a description of durability, without how the engine provides it: `a put survives the host` of
/// `log synced: a put survives the host`.
fn guarantee(durability: String) -> String {
    durability.rsplit_once(": ").map(|(_, guarantee)| guarantee.to_owned()).unwrap_or(durability)
}

/// The conditions of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// The values of [`CONDITIONS`], in their order.
    values: Vec<Option<String>>,
    initial_state: InitialState,
    workloads: Workloads,
}

impl Conditions {
    /// The conditions of `recording`.
    pub fn of(recording: &Recording) -> Self {
        let values = CONDITIONS.iter().map(|condition| condition.value(recording)).collect();
        Self { values, initial_state: InitialState::of(recording), workloads: Workloads::of(recording) }
    }
}

/// One warning for each condition that differs, with its values and their folders, for workloads that differ other than by
/// a sweep, and for different initial states.
///
/// A condition that was recorded in at most one recording is not a difference, but for the model of the device.
pub fn condition_differences<'a>(recordings: impl IntoIterator<Item = (&'a Path, &'a Conditions)>) -> Vec<Finding> {
    differences(recordings, SweptSettings::Matched)
}

/// The same, with what a sweep set where that is `Compared`.
pub(super) fn differences<'a>(
    recordings: impl IntoIterator<Item = (&'a Path, &'a Conditions)>,
    swept: SweptSettings,
) -> Vec<Finding> {
    let recordings: Vec<(&Path, &Conditions)> = recordings.into_iter().collect();
    let states: Vec<(&Path, &InitialState)> =
        recordings.iter().map(|(dir, conditions)| (*dir, &conditions.initial_state)).collect();
    let workloads: Vec<(&Path, &Workloads)> =
        recordings.iter().map(|(dir, conditions)| (*dir, &conditions.workloads)).collect();
    let conditions = CONDITIONS.iter().enumerate();
    let mut found: Vec<Finding> =
        conditions.filter_map(|(index, condition)| difference(condition, index, &recordings)).collect();
    let unlike = unlike_workloads(&workloads, swept, found.is_empty());
    found.extend(unlike.into_iter().chain(different_states(&states)));
    found
}

fn difference(condition: &Condition, index: usize, recordings: &[(&Path, &Conditions)]) -> Option<Finding> {
    let mut values: Vec<(&str, Vec<String>)> = Vec::new();
    for (dir, conditions) in recordings {
        let unknown = condition.says_unknown.then_some(UNKNOWN);
        let Some(value) = conditions.values[index].as_deref().or(unknown) else { continue };
        let dir = dir.display().to_string();
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, dirs)) => dirs.push(dir),
            None => values.push((value, vec![dir])),
        }
    }
    if values.len() < 2 {
        return None;
    }
    let values: Vec<String> = values.iter().map(|(value, dirs)| format!("`{value}` in {}", shortened(dirs))).collect();
    let values = values.join(", ").replace(&format!("`{UNKNOWN}`"), UNKNOWN);
    let differs = if values.contains(UNKNOWN) { "may differ" } else { "differs" };
    let sentence = format!("The {} {differs}: {values}. This may explain a difference.", condition.name);
    Some(condition.rule.finding(None, &sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durabilities_with_the_same_guarantee_are_equal() {
        let guarantee = |durability: &str| guarantee(durability.to_owned());
        assert_eq!(
            guarantee("write-ahead log synced: a put survives the host"),
            guarantee("journal with `fsync`: a put survives the host")
        );
        assert_ne!(
            guarantee("log without sync: a put survives the process, not the host"),
            guarantee("log synced: a put survives the host")
        );
        assert_eq!(guarantee("kept"), "kept");
    }

    #[test]
    fn the_id_of_a_condition_follows_its_name() {
        for condition in CONDITIONS {
            let id = format!("unlike-{}", condition.name.to_lowercase().replace([' ', '/'], "-"));
            assert_eq!(id, condition.rule.id);
        }
    }
}
