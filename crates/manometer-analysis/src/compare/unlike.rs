//! What should be equal where recordings are put beside each other, and is not.

use std::path::Path;

use manometer_measure::event::{Finding, Severity};
use manometer_measure::{Event, Recording};
use serde_json::Value;

/// Where a fact that should be equal stands in `environment.json`.
const HOST: [(&str, &str); 8] = [
    ("kernel", "/host/kernel"),
    ("processor", "/host/cpu"),
    ("memory", "/host/memory_bytes"),
    ("device model", "/device/model"),
    ("device firmware", "/device/firmware"),
    ("I/O scheduler", "/device/scheduler"),
    ("file system", "/file_system/type"),
    ("version of Manometer", "/manometer"),
];

/// What the primary told of its engine.
const ENGINE: [(&str, &str); 3] =
    [("engine", "engine"), ("engine version", "engine_version"), ("durability of a put", "durability")];

/// The facts of one recording that should be equal, by name; what was not recorded is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions(Vec<(&'static str, Option<String>)>);

impl Conditions {
    /// Those of `recording`.
    pub fn of(recording: &Recording) -> Self {
        let plain = |value: &Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        // What a sweep sets is unlike on purpose.
        let swept = |name: &str| recording.plan.sweep.keys().any(|key| key.ends_with(name));
        let host = HOST.iter().filter(|(_, place)| !swept(place.rsplit('/').next().unwrap_or(place)));
        let host = host.map(|(name, place)| (*name, recording.environment.pointer(place).and_then(plain)));
        let primary = recording.plan.primary().map(|primary| primary.name.as_str());
        let facts = recording.events.iter().find_map(|line| match &line.event {
            Event::Ready { workload, facts } if Some(workload.as_str()) == primary => Some(facts),
            _ => None,
        });
        let engine = ENGINE.iter().filter(|_| !swept(".engine"));
        let engine = engine.map(|(name, key)| (*name, facts.and_then(|facts| facts.get(*key)).and_then(plain)));
        Self(host.chain(engine).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name)?.1.as_deref()
    }
}

/// One warning for each condition in which recordings are unlike, with what it is in which folder.
///
/// What is recorded nowhere, or in one only, is no difference.
pub fn unlike<'a>(recordings: impl IntoIterator<Item = (&'a Path, &'a Conditions)>) -> Vec<Finding> {
    let recordings: Vec<(&Path, &Conditions)> = recordings.into_iter().collect();
    let names = HOST.iter().chain(&ENGINE).map(|(name, _)| *name);
    names.filter_map(|name| difference(name, &recordings)).collect()
}

fn difference(name: &str, recordings: &[(&Path, &Conditions)]) -> Option<Finding> {
    let mut seen: Vec<(&str, Vec<String>)> = Vec::new();
    for (dir, conditions) in recordings {
        let Some(value) = conditions.get(name) else { continue };
        let place = dir.display().to_string();
        match seen.iter_mut().find(|(known, _)| *known == value) {
            Some((_, places)) => places.push(place),
            None => seen.push((value, vec![place])),
        }
    }
    if seen.len() < 2 {
        return None;
    }
    let what_where: Vec<String> = seen.iter().map(|(value, places)| format!("`{value}` in {}", few(places))).collect();
    let text = format!("The {name} is not the same: {}. A difference may come from that alone.", what_where.join(", "));
    let id = format!("unlike-{}", name.to_lowercase().replace([' ', '/'], "-"));
    Some(Finding { id, severity: Severity::Warning, phase: None, text })
}

/// The first place, and how many more.
fn few(places: &[String]) -> String {
    match places {
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
        [] => String::new(),
    }
}
