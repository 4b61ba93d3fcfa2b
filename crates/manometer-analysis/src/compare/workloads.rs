//! The workloads of a recording: what the experiment file and the sweep set for the primary and the neighbours, and in what
//! they differ between compared recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use manometer_measure::Recording;
use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};
use manometer_measure::plan::Plan;
use serde_json::Value;

use crate::findings::{Rule, serious, with_strength};
use crate::prose::shortened;
use crate::verdict::enumerated;

/// The most settings named in a finding.
const MAX_NAMED: usize = 6;

const SOURCE: &str = "Storiks 3.4.1 (WR2)";
const REMEDY: &str = "Compare runs that differ in one thing only, or report the difference with the result.";

pub(super) const OTHER_PRIMARY: Rule = Rule {
    id: "unlike-primary",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the recordings have different primaries"),
    source: SOURCE,
    meaning: "settings of the primary differ between compared recordings, or are unknown in some of them: a minor threat if \
        one setting is all that differs, which is then what the comparison is about",
    remedy: REMEDY,
};

pub(super) const OTHER_NEIGHBOURS: Rule = Rule {
    id: "unlike-neighbours",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the recordings have different neighbours"),
    source: SOURCE,
    meaning: "neighbours or their settings differ between compared recordings, or are unknown in some of them: a minor \
        threat if one setting is all that differs, which is then what the comparison is about",
    remedy: REMEDY,
};

pub(super) const OTHER_SETTINGS: Rule = Rule {
    id: "unlike-settings",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the recordings have different settings of device or plan"),
    source: SOURCE,
    meaning: "what a sweep set for device or plan differs between compared recordings: a minor threat if one setting is all \
        that differs, which is then what the comparison is about",
    remedy: REMEDY,
};

/// The name under which the settings of the primary stand, whatever its own name is.
const PRIMARY: &str = "primary";

/// The workloads of one recording.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Workloads {
    /// The values of `primary.SETTING`, of `NEIGHBOUR.SETTING`, and of what a sweep set.
    settings: BTreeMap<String, String>,
    /// The keys among them that a sweep set.
    swept: BTreeSet<String>,
    neighbours: BTreeSet<String>,
    /// Whether what is not in the file is unknown, as in an import, instead of left at its default.
    is_imported: bool,
}

/// Whether settings that a sweep set are compared, or differ by design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SweptSettings {
    /// Runs with the same settings are matched.
    Matched,
    /// Runs are compared although their settings differ.
    Compared,
}

impl Workloads {
    /// The workloads of `recording`.
    pub(super) fn of(recording: &Recording) -> Self {
        let imported = recording.environment.get("imported").is_some();
        Self::read(&recording.experiment, &recording.plan, imported)
    }

    /// The workloads of the experiment file `experiment`, run as `plan`.
    fn read(experiment: &str, plan: &Plan, is_imported: bool) -> Self {
        // A file that cannot be read is reported as damage.
        let file: Value = toml::from_str(experiment).unwrap_or_default();
        let mut workloads = Self { is_imported, ..Self::default() };
        if let Some(primary) = file.get("primary") {
            workloads.add(PRIMARY, primary);
        }
        let neighbours = file.get("neighbour").and_then(Value::as_array).into_iter().flatten();
        for neighbour in neighbours {
            let name = ["name", "kind"].iter().find_map(|key| neighbour.get(key)?.as_str()).unwrap_or("neighbour");
            workloads.neighbours.insert(name.to_owned());
            workloads.add(name, neighbour);
        }
        workloads.add_planned(plan);
        // The name of an imported file sets nothing.
        for (key, value) in plan.sweep.iter().filter(|(key, _)| !key.starts_with("import.")) {
            let key = own_key(key, plan);
            workloads.settings.insert(key.clone(), plain(value));
            workloads.swept.insert(key);
        }
        workloads
    }

    fn add(&mut self, prefix: &str, value: &Value) {
        match value {
            Value::Object(table) => {
                let named = table.iter().filter(|(key, _)| *key != "name");
                named.for_each(|(key, value)| self.add(&format!("{prefix}.{key}"), value));
            }
            other => {
                self.settings.insert(prefix.to_owned(), plain(other));
            }
        }
    }

    /// The workloads that only the plan knows.
    fn add_planned(&mut self, plan: &Plan) {
        let mut kind = |name: &str, kind: &str| {
            self.settings.entry(format!("{name}.kind")).or_insert_with(|| kind.to_owned());
        };
        if let Some(primary) = plan.primary() {
            kind(PRIMARY, &primary.kind);
        }
        for neighbour in plan.neighbours() {
            // `n1`, `n2` are instances of `n`.
            if !self.neighbours.iter().any(|known| neighbour.name.starts_with(known.as_str())) {
                self.neighbours.insert(neighbour.name.clone());
                self.settings.insert(format!("{}.kind", neighbour.name), neighbour.kind.clone());
            }
        }
    }

    /// The value of a setting, or why there is none.
    fn value(&self, key: &str) -> &str {
        match self.settings.get(key) {
            Some(value) => value,
            None if self.is_imported => "unknown",
            None => "not set",
        }
    }
}

/// The key of a swept setting, under [`PRIMARY`] if it is one of the primary.
fn own_key(key: &str, plan: &Plan) -> String {
    let own = plan.primary().and_then(|primary| key.strip_prefix(&primary.name)?.strip_prefix('.'));
    own.map_or_else(|| key.to_owned(), |setting| format!("{PRIMARY}.{setting}"))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A setting that differs, or a neighbour that some recordings do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingDifference {
    /// `primary.workload`; `writer` for a whole neighbour.
    key: String,
    is_of_neighbour: bool,
    /// Whether some recording does not say.
    has_unknown: bool,
    /// Each value with the recordings that have it.
    values: Vec<(String, Vec<String>)>,
}

impl SettingDifference {
    /// `primary.threads is 5 in a and 9 in b`.
    fn text(&self) -> String {
        let values: Vec<String> =
            self.values.iter().map(|(value, names)| format!("{value} in {}", shortened(names))).collect();
        format!("`{}` is {}", self.key, enumerated(&values))
    }

    fn rule(&self) -> &'static Rule {
        match self.is_of_neighbour {
            true => &OTHER_NEIGHBOURS,
            false if self.key.starts_with(PRIMARY) => &OTHER_PRIMARY,
            false => &OTHER_SETTINGS,
        }
    }
}

/// In what the workloads of `recordings`, each with its name, differ.
fn setting_differences(recordings: &[(String, &Workloads)], swept: SweptSettings) -> Vec<SettingDifference> {
    let of_all = |keys: fn(&Workloads) -> Vec<&String>| -> BTreeSet<&String> {
        recordings.iter().flat_map(|(_, workloads)| keys(workloads)).collect()
    };
    let neighbours = of_all(|workloads| workloads.neighbours.iter().collect());
    let by_design = of_all(|workloads| workloads.swept.iter().collect());
    let lacking: BTreeSet<&String> = neighbours
        .iter()
        .copied()
        .filter(|name| !recordings.iter().all(|(_, workloads)| workloads.neighbours.contains(*name)))
        .collect();
    let neighbour_of = |key: &str| {
        neighbours.iter().find(|name| key.split('.').next().is_some_and(|of| of.starts_with(name.as_str())))
    };
    let keys = of_all(|workloads| workloads.settings.keys().collect());
    let keys = keys.into_iter().filter(|key| swept == SweptSettings::Compared || !by_design.contains(key));
    let keys = keys.filter(|key| neighbour_of(key).is_none_or(|name| !lacking.contains(*name)));
    let settings = keys.filter_map(|key| {
        let values = by_value(recordings, |workloads| workloads.value(key).to_owned());
        let has_unknown = values.iter().any(|(value, _)| value == "unknown");
        let is_of_neighbour = neighbour_of(key).is_some();
        (values.len() > 1).then(|| SettingDifference { key: key.clone(), is_of_neighbour, has_unknown, values })
    });
    let whole = lacking.iter().map(|name| SettingDifference {
        key: (*name).clone(),
        is_of_neighbour: true,
        has_unknown: false,
        values: by_value(recordings, |workloads| {
            if workloads.neighbours.contains(*name) { "a neighbour" } else { "absent" }.to_owned()
        }),
    });
    settings.chain(whole).collect()
}

/// In what the workloads of `recording` differ from those of the experiment file `file`, run as `plan`, as clauses.
pub(crate) fn differences_from_plan(recording: &Recording, file: &str, plan: &Plan) -> Vec<String> {
    let (planned, earlier) = (Workloads::read(file, plan, false), Workloads::of(recording));
    let named = [("the plan".to_owned(), &planned), ("the earlier recording".to_owned(), &earlier)];
    setting_differences(&named, SweptSettings::Compared).iter().map(SettingDifference::text).collect()
}

/// Each value with the names of the recordings that have it, in the order in which they first appear.
fn by_value(recordings: &[(String, &Workloads)], value: impl Fn(&Workloads) -> String) -> Vec<(String, Vec<String>)> {
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    for (name, workloads) in recordings {
        let value = value(workloads);
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(name.clone()),
            None => values.push((value, vec![name.clone()])),
        }
    }
    values
}

/// The findings about workloads that differ; `is_alone` if nothing else does.
pub(super) fn unlike_workloads(
    recordings: &[(&Path, &Workloads)],
    swept: SweptSettings,
    is_alone: bool,
) -> Vec<Finding> {
    let named: Vec<(String, &Workloads)> =
        recordings.iter().map(|(dir, workloads)| (dir.display().to_string(), *workloads)).collect();
    let differences = setting_differences(&named, swept);
    let is_subject = is_alone && matches!(differences.as_slice(), [only] if !only.has_unknown);
    let rules = [
        (&OTHER_PRIMARY, "primary differs"),
        (&OTHER_NEIGHBOURS, "neighbours differ"),
        (&OTHER_SETTINGS, "settings differ"),
    ];
    let finding = |(rule, what): (&Rule, &str)| {
        let own: Vec<String> =
            differences.iter().filter(|one| one.rule().id == rule.id).map(SettingDifference::text).collect();
        let end = match is_subject {
            true => "Nothing else that is recorded differs: the comparison is about this.",
            false => "Which of the differences explains a result is unknown.",
        };
        let finding = || rule.finding(None, &format!("The {what}: {}. {end}", listed(&own)));
        let strength = if is_subject { ThreatStrength::Minor } else { ThreatStrength::Serious };
        (!own.is_empty()).then(|| with_strength(finding(), strength))
    };
    rules.into_iter().filter_map(finding).collect()
}

/// The first of `texts`, and the number of the others.
fn listed(texts: &[String]) -> String {
    let more = texts.len().saturating_sub(MAX_NAMED);
    let rest = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{rest}", texts[..texts.len() - more].join("; "))
}
