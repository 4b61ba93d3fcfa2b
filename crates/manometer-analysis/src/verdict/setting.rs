//! The neighbours of a phase and their settings, named as a person would: `a writer at queue depth 64`.

use std::collections::BTreeMap;

use manometer_measure::plan::{Phase, Plan};
use manometer_measure::{ByteSize, engine, human};
use serde_json::Value;

use crate::phase_result::workload_settings;

/// The subject of a sentence about a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentenceSubject {
    /// `a writer at queue depth 64`.
    pub(super) text: String,
    /// Whether its verb is in the plural.
    pub(super) is_plural: bool,
}

impl SentenceSubject {
    /// The neighbours of `phase` with their settings that any phase changes; the phase's label where none runs.
    pub(super) fn of(plan: &Plan, phase: &Phase) -> Self {
        let groups = groups(plan, phase);
        let names: usize = groups.iter().map(|group| group.names.len()).sum();
        let all = plan.neighbours().count();
        let parts: Vec<String> = groups.iter().map(|group| group.text(all)).collect();
        if parts.is_empty() {
            return Self { text: format!("{} ({})", phase.id, phase.label), is_plural: false };
        }
        let own = own_changes(plan, phase);
        let own = if own.is_empty() { own } else { format!(" ({own})") };
        Self { text: parts.join(", and ") + &own, is_plural: names > 1 }
    }

    /// The neighbour `name` alone, with its settings in `phase` that any phase changes.
    pub(super) fn of_neighbour(plan: &Plan, phase: &Phase, name: &str) -> Self {
        let group = Group { names: vec![name], settings: workload_settings(&phase.settings, name) };
        Self { text: group.text(plan.neighbours().count()), is_plural: false }
    }

    /// The verb with this subject: `costs` or `cost`.
    pub(super) fn verb(&self, singular: &str, plural: &str) -> String {
        format!("{} {}", self.text, if self.is_plural { plural } else { singular })
    }
}

/// Neighbours with equal settings.
struct Group<'a> {
    names: Vec<&'a str>,
    settings: BTreeMap<&'a str, &'a Value>,
}

impl Group<'_> {
    /// `4 neighbours with 512 KiB blocks`; `all` is the number of neighbours that the plan has.
    fn text(&self, all: usize) -> String {
        let who = match self.names.as_slice() {
            [name] => named(name),
            names if names.len() == all && all > 2 => format!("{all} neighbours"),
            names => enumerated(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()),
        };
        let settings: Vec<String> = self.settings.iter().map(|(key, value)| described(key, value)).collect();
        let (with, bare): (Vec<&String>, Vec<&String>) =
            settings.iter().partition(|setting| setting.starts_with("with "));
        let with: Vec<String> = with.iter().map(|setting| setting.trim_start_matches("with ").to_owned()).collect();
        let with = (!with.is_empty()).then(|| format!("with {}", enumerated(&with)));
        // `at queue depth 64` reads best directly after the name.
        let words = std::iter::once(who).chain(bare.into_iter().cloned()).chain(with);
        words.collect::<Vec<_>>().join(" ")
    }
}

fn groups<'a>(plan: &'a Plan, phase: &'a Phase) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for neighbour in plan.neighbours().filter(|neighbour| phase.running.contains(&neighbour.name)) {
        let settings = workload_settings(&phase.settings, &neighbour.name);
        match groups.iter_mut().find(|group| group.settings == settings) {
            Some(group) => group.names.push(&neighbour.name),
            None => groups.push(Group { names: vec![&neighbour.name], settings }),
        }
    }
    groups
}

/// The settings of the primary that differ from `w0`'s: `primary.threads = 4`.
fn own_changes(plan: &Plan, phase: &Phase) -> String {
    let Some(primary) = plan.primary() else { return String::new() };
    let baseline = plan.phases.iter().find(|phase| phase.id == "w0").map(|phase| &phase.settings);
    let own = workload_settings(&phase.settings, &primary.name).into_iter().filter(|(key, value)| {
        let before = baseline.and_then(|settings| settings.get(&format!("{}.{key}", primary.name)));
        before.is_none_or(|before| before != *value)
    });
    let texts: Vec<String> = own.map(|(key, value)| format!("{}.{key} = {}", primary.name, plain(value))).collect();
    texts.join(", ")
}

/// `a writer`, or `` the neighbour `n1` `` where the name is not that of somebody who acts.
fn named(name: &str) -> String {
    let is_word = name.chars().all(|letter| letter.is_ascii_lowercase()) && name.len() > 3;
    if is_word && ["er", "or", "our"].iter().any(|end| name.ends_with(end)) {
        let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        return format!("{article} {name}");
    }
    format!("the neighbour `{name}`")
}

/// A setting as a person says it.
fn described(key: &str, value: &Value) -> String {
    let share = |of: &str| match value.as_f64() {
        Some(share) => format!("with {} % {of}", (1000.0 * share).round() / 10.0),
        None => format!("with {key} = {}", plain(value)),
    };
    match (key, value) {
        ("iodepth", _) => format!("at queue depth {}", plain(value)),
        ("block_size", _) => format!("with {} blocks", size(value)),
        ("write_ratio", _) if value.as_f64() == Some(0.0) => "with reads only".to_owned(),
        ("write_ratio", _) => share("writes"),
        ("random_ratio", _) => share("random access"),
        ("threads", _) => format!("with {} threads", plain(value)),
        ("rate", Value::Number(_)) => format!("at {} requests/s", plain(value)),
        ("dsync", Value::Bool(true)) => "with synchronous writes".to_owned(),
        ("dsync", Value::Bool(false)) => "without synchronous writes".to_owned(),
        _ => format!("with {key} = {}", plain(value)),
    }
}

/// `4 KiB`, from bytes or from `4KiB`.
fn size(value: &Value) -> String {
    let bytes = value.as_u64().or_else(|| value.as_str()?.parse::<ByteSize>().ok().map(|size| size.0));
    bytes.map_or_else(|| plain(value), human::bytes)
}

/// What a sweep sets, named as a person would: `512 KiB blocks`, `dsync = true`.
pub(crate) fn swept(key: &str, value: &Value) -> String {
    let (_, setting) = key.split_once('.').unwrap_or(("", key));
    match setting {
        "block_size" | "write_ratio" | "random_ratio" | "threads" => {
            described(setting, value).trim_start_matches("with ").to_owned()
        }
        "iodepth" => format!("queue depth {}", plain(value)),
        "engine" => engine::title(&plain(value)).to_owned(),
        "workload" => plain(value),
        _ => format!("{key} = {}", plain(value)),
    }
}

/// `one`, `one and another`, `one, another and a third`.
pub(crate) fn enumerated(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A value without the quotes of a string.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use manometer_measure::PhaseKind;
    use manometer_measure::plan::{BetterDirection, Criterion, PlannedWorkload, Role, Settings};
    use serde_json::json;

    use super::*;

    fn plan(neighbours: &[&str]) -> Plan {
        let workload =
            |name: &str, role| PlannedWorkload { name: name.into(), role, kind: "io".into(), unit: "ops/s".into() };
        let neighbours = neighbours.iter().map(|name| workload(name, Role::Neighbour));
        Plan {
            experiment: "e".into(),
            criterion: Criterion { metric: "throughput".into(), unit: "ops/s".into(), better: BetterDirection::Higher },
            interval_s: 1.0,
            seed: 1,
            sweep: Settings::new(),
            reference: false,
            goal: None,
            interleaved: None,
            workloads: std::iter::once(workload("db", Role::Primary)).chain(neighbours).collect(),
            phases: Vec::new(),
        }
    }

    fn subject(neighbours: &[&str], running: &[&str], settings: Value) -> String {
        let phase = Phase {
            id: "w1".into(),
            label: "step 1".into(),
            kind: PhaseKind::Pressure,
            duration_s: 60.0,
            settle_s: 0.0,
            running: running.iter().map(|name| (*name).to_owned()).collect(),
            settings: settings.as_object().cloned().unwrap_or_default(),
        };
        SentenceSubject::of(&plan(neighbours), &phase).verb("costs", "cost")
    }

    #[test]
    fn a_neighbour_and_its_settings_are_named_whole() {
        let one = |settings| subject(&["writer"], &["db", "writer"], settings);
        assert_eq!(one(json!({"writer.iodepth": 64})), "a writer at queue depth 64 costs");
        assert_eq!(one(json!({})), "a writer costs");
        assert_eq!(
            one(json!({"writer.block_size": "512KiB", "writer.iodepth": 64, "writer.write_ratio": 0.5})),
            "a writer at queue depth 64 with 512 KiB blocks and 50 % writes costs"
        );
        assert_eq!(one(json!({"writer.block_size": 4096})), "a writer with 4 KiB blocks costs");
        assert_eq!(
            one(json!({"writer.dsync": true, "db.threads": 4})),
            "a writer with synchronous writes (db.threads = 4) costs"
        );
        assert_eq!(subject(&["n1"], &["db", "n1"], json!({"n1.x": "y"})), "the neighbour `n1` with x = y costs");
        assert_eq!(subject(&["n1"], &["db"], json!({})), "w1 (step 1) costs");
    }

    #[test]
    fn neighbours_with_equal_settings_are_named_together() {
        let four = ["n1", "n2", "n3", "n4"];
        let running = ["db", "n1", "n2", "n3", "n4"];
        let settings = |ratios: [f64; 4]| {
            let all = four.iter().zip(ratios).map(|(name, ratio)| (format!("{name}.write_ratio"), json!(ratio)));
            Value::Object(all.collect())
        };
        assert_eq!(subject(&four, &running, settings([0.5; 4])), "4 neighbours with 50 % writes cost");
        assert_eq!(
            subject(&four, &running, settings([1.0, 1.0, 0.0, 0.0])),
            "n1 and n2 with 100 % writes, and n3 and n4 with reads only cost"
        );
        assert_eq!(subject(&four, &["db", "n1"], settings([0.0; 4])), "the neighbour `n1` with reads only costs");
    }

    #[test]
    fn the_settings_of_a_sweep_are_named_briefly() {
        assert_eq!(swept("n.block_size", &json!("512KiB")), "512 KiB blocks");
        assert_eq!(swept("writer.iodepth", &json!(16)), "queue depth 16");
        assert_eq!(swept("primary.engine", &json!("rocksdb")), "RocksDB");
        assert_eq!(swept("device.scheduler", &json!("none")), "device.scheduler = none");
    }
}
