//! The environment: the host as it was, and what the workloads found and chose.

use std::fmt::Write as _;

use manometer_measure::human;
use manometer_measure::{Event, Recording};
use serde_json::{Map, Value};

use super::html::escape;
use crate::text;

/// Facts that are for machines: the clock's anchor, and the units of the engine's columns.
const NOT_SHOWN: [&str; 2] = ["clock", "state_units"];

/// Kinds of facts that are of what somebody did to the device or set: what is null was not done.
const DONE_OR_NOT: [&str; 2] = ["device_state", "workloads"];

/// The end of the name of a fact that says why the one before it is null.
const REASON: &str = "_reason";

/// What is shown for a fact that could not be found out.
const UNKNOWN: &str = "unknown";
/// What is shown for something that nobody set or did.
const NONE: &str = "none";

/// How deep nested facts are shown as separate facts; deeper ones as JSON.
const DEPTH: usize = 3;

/// A card for each kind of facts, with headings of `level`.
pub(super) fn cards(recording: &Recording, level: usize) -> String {
    let mut run = run_facts(recording);
    let mut cards = String::new();
    if let Value::Object(environment) = &recording.environment {
        for (name, value) in environment.iter().filter(|(name, _)| !NOT_SHOWN.contains(&name.as_str())) {
            match value {
                Value::Array(checks) if name == "doctor" => cards.push_str(&card("Doctor", &diagnosis(checks), level)),
                Value::Object(facts) => {
                    let null = if DONE_OR_NOT.contains(&name.as_str()) { NONE } else { UNKNOWN };
                    cards.push_str(&card(&capitalised(name), &flat(facts, null), level));
                }
                other => run.push((label(name), shown(name, other))),
            }
        }
    }
    for line in &recording.events {
        if let Event::Ready { workload, facts } = &line.event {
            cards.push_str(&card(&format!("Workload {workload}"), &flat(facts, NONE), level));
        }
    }
    let run = card("Run", &run, level);
    format!("<div class=\"cards\">\n{run}{cards}</div>\n")
}

/// What the plan says of the run as a whole.
fn run_facts(recording: &Recording) -> Vec<(String, String)> {
    let plan = &recording.plan;
    let workloads: Vec<String> =
        plan.workloads.iter().map(|workload| format!("{} ({})", workload.name, workload.kind)).collect();
    vec![
        ("seed".to_owned(), plan.seed.to_string()),
        ("sample interval".to_owned(), text::seconds(plan.interval_s)),
        ("planned time".to_owned(), text::seconds(plan.duration_s())),
        ("workloads".to_owned(), workloads.join(", ")),
    ]
}

/// The checks of `doctor` that are not ok, and the names of those that are or that do not apply.
fn diagnosis(checks: &[Value]) -> Vec<(String, String)> {
    let field = |check: &Value, name: &str| check.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of_status = |status: &str| checks.iter().filter(|check| field(check, "status") == status).collect::<Vec<_>>();
    let not = checks.iter().filter(|check| !["ok", "not_applicable"].contains(&field(check, "status").as_str()));
    let row = |check: &Value| (field(check, "id"), format!("{}: {}", field(check, "status"), field(check, "text")));
    let mut rows: Vec<(String, String)> = not.map(row).collect();
    for (status, title) in [("ok", "ok"), ("not_applicable", "not applicable")] {
        let ids: Vec<String> = of_status(status).into_iter().map(|check| field(check, "id")).collect();
        if !ids.is_empty() {
            rows.push((title.to_owned(), ids.join(", ")));
        }
    }
    rows
}

fn card(title: &str, facts: &[(String, String)], level: usize) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut html = format!("<div class=\"card\"><h{level}>{}</h{level}><dl>", escape(title));
    for (name, value) in facts {
        _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    html.push_str("</dl></div>\n");
    html
}

/// The facts of a nested table, one below the other; `null` stands for those that are null without a reason.
fn flat(facts: &Map<String, Value>, null: &str) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    collect(facts, "", DEPTH, null, &mut rows);
    rows
}

fn collect(facts: &Map<String, Value>, above: &str, depth: usize, null: &str, rows: &mut Vec<(String, String)>) {
    for (name, value) in facts.iter().filter(|(name, _)| !NOT_SHOWN.contains(&name.as_str())) {
        if name.strip_suffix(REASON).is_some_and(|measured| facts.contains_key(measured)) {
            continue;
        }
        let full = if above.is_empty() { name.clone() } else { format!("{above} {name}") };
        match value {
            Value::Object(inner) if depth > 1 => collect(inner, &full, depth - 1, null, rows),
            Value::Null => rows.push((label(&full), reason(facts, name).unwrap_or(null).to_owned())),
            _ => rows.push((label(&full), shown(name, value))),
        }
    }
}

/// Why a fact is null, where that is known.
fn reason<'a>(facts: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    facts.get(&format!("{name}{REASON}")).and_then(Value::as_str)
}

/// `size_bytes` becomes `size`: the value carries the unit.
fn label(name: &str) -> String {
    name.strip_suffix("_bytes").unwrap_or(name).replace('_', " ")
}

fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Null => UNKNOWN.to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) if name.ends_with("_bytes") => {
            number.as_f64().map_or_else(|| number.to_string(), |bytes| human::bytes(bytes as u64))
        }
        Value::Array(disks) if name == "disks" => disks.iter().map(disk).collect::<Vec<_>>().join("; "),
        Value::Array(layers) if name == "chain" => layers.iter().map(layer).collect::<Vec<_>>().join("; "),
        Value::Array(values) => values.iter().map(text::plain).collect::<Vec<_>>().join(", "),
        other => text::plain(other),
    }
}

/// A layer of the device and what it maps to: `dm-0 (dm) on sda1`.
fn layer(layer: &Value) -> String {
    let text = |name: &str| layer[name].as_str().unwrap_or("?");
    let under: Vec<&str> = layer["maps_to"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let on = if under.is_empty() { String::new() } else { format!(" on {}", under.join(", ")) };
    format!("{} ({}){on}", text("name"), text("kind"))
}

/// A disk under the device: `sda: INTEL SSDSC2KB48, firmware 0132, scheduler [none] mq-deadline, 447.1 GiB`.
fn disk(disk: &Value) -> String {
    let text = |name: &str| disk[name].as_str().map(str::to_owned);
    let parts = [
        text("model"),
        text("firmware").map(|firmware| format!("firmware {firmware}")),
        text("scheduler").map(|scheduler| format!("scheduler {scheduler}")),
        disk["size_bytes"].as_u64().map(human::bytes),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", disk["name"].as_str().unwrap_or("?"), known.join(", "))
}

fn capitalised(name: &str) -> String {
    text::capitalised(&name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn failed_checks_have_their_texts_and_passed_ones_their_names() {
        let checks = [
            json!({"id": "direct-io", "status": "ok", "text": "works", "remedy": ""}),
            json!({"id": "swap", "status": "limited", "text": "2 GiB", "remedy": "swapoff -a"}),
            json!({"id": "dsync", "status": "ok", "text": "works", "remedy": ""}),
        ];
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(diagnosis(&checks), [pair("swap", "limited: 2 GiB"), pair("ok", "direct-io, dsync")]);
        assert_eq!(diagnosis(&[]), []);
    }

    #[test]
    fn facts_are_shown_with_their_units_and_gaps_with_a_word() {
        let Value::Object(facts) = json!({
            "size_bytes": 1_073_741_824_u64, "model": null, "rotational": false,
            "options": ["rw", "noatime"], "queue": {"nr_requests": 64},
        }) else {
            panic!("an object")
        };
        let rows = flat(&facts, UNKNOWN);
        let shown: Vec<String> = rows.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected =
            ["size: 1 GiB", "model: unknown", "rotational: no", "options: rw, noatime", "queue nr requests: 64"];
        assert_eq!(shown, expected);
        assert!(flat(&facts, NONE).contains(&("model".to_owned(), "none".to_owned())));
    }

    #[test]
    fn layers_are_described_and_unknown_facts_have_their_reason() {
        let Value::Object(facts) = json!({
            "chain": [
                {"name": "dm-0", "kind": "dm", "maps_to": ["sda1", "sdb1"], "label": "data"},
                {"name": "sda1", "kind": "partition", "maps_to": []},
            ],
            "disks": [{"name": "sda", "model": "Fast 1", "firmware": "1.04", "scheduler": null, "size_bytes": 1_048_576}],
            "health": {"write_amplification": null, "write_amplification_reason": "not known on this device"},
        }) else {
            panic!("an object")
        };
        let rows = flat(&facts, UNKNOWN);
        let shown: Vec<String> = rows.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected = [
            "chain: dm-0 (dm) on sda1, sdb1; sda1 (partition)",
            "disks: sda: Fast 1, firmware 1.04, 1 MiB",
            "health write amplification: not known on this device",
        ];
        assert_eq!(shown, expected);
    }
}
