//! What should be equal where recordings are put beside each other, and is not.

use std::path::Path;

use manometer_measure::event::Finding;
use manometer_measure::{Event, Recording};
use serde_json::Value;

use super::rules::UNLIKE;
use super::state::{State, unlike_states};
use crate::findings::Rule;

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

/// What of one recording should be equal in others; what was not recorded is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Facts by name.
    facts: Vec<(&'static str, Option<String>)>,
    /// The state in which it begins.
    state: State,
}

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
        let engine = engine.map(|(name, key)| {
            let told = facts.and_then(|facts| facts.get(*key)).and_then(plain);
            (*name, if *key == "durability" { told.map(consequence) } else { told })
        });
        Self { facts: host.chain(engine).collect(), state: State::of(recording) }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| *known == name)?.1.as_deref()
    }
}

/// What a put that was answered survives, of how an engine sees to it: `log synced: a put survives the host`.
fn consequence(durability: String) -> String {
    durability.rsplit_once(": ").map(|(_, survives)| survives.to_owned()).unwrap_or(durability)
}

/// One warning for each condition in which recordings are unlike, with what it is in which folder, and one for the
/// states in which they begin.
///
/// What is recorded nowhere, or in one only, is no difference.
pub fn unlike<'a>(recordings: impl IntoIterator<Item = (&'a Path, &'a Conditions)>) -> Vec<Finding> {
    let recordings: Vec<(&Path, &Conditions)> = recordings.into_iter().collect();
    let names = HOST.iter().chain(&ENGINE).map(|(name, _)| *name);
    let states: Vec<(&Path, &State)> = recordings.iter().map(|(dir, conditions)| (*dir, &conditions.state)).collect();
    let facts = names.zip(&UNLIKE).filter_map(|(name, rule)| difference(name, rule, &recordings));
    facts.chain(unlike_states(&states)).collect()
}

fn difference(name: &str, rule: &Rule, recordings: &[(&Path, &Conditions)]) -> Option<Finding> {
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
    let sentence =
        format!("The {name} is not the same: {}. A difference may come from that alone.", what_where.join(", "));
    Some(rule.tell(None, &sentence))
}

/// The first place, and how many more.
fn few(places: &[String]) -> String {
    match places {
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durabilities_are_alike_when_a_put_survives_the_same() {
        let put = |how: &str| consequence(how.to_owned());
        assert_eq!(
            put("write-ahead log synced: a put survives the host"),
            put("journal with `fsync`: a put survives the host")
        );
        assert_ne!(
            put("log without sync: a put survives the process, not the host"),
            put("log synced: a put survives the host")
        );
        assert_eq!(put("kept"), "kept");
    }

    #[test]
    fn every_fact_has_the_rule_of_its_name() {
        let names = HOST.iter().chain(&ENGINE).map(|(name, _)| *name);
        let ids: Vec<String> =
            names.map(|name| format!("unlike-{}", name.to_lowercase().replace([' ', '/'], "-"))).collect();
        assert_eq!(ids, UNLIKE.each_ref().map(|rule| rule.id));
    }
}
