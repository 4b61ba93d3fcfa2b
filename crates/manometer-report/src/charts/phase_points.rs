//! Phases of runs as points: the measured pressure with its conditions.

use std::collections::{BTreeMap, BTreeSet};

use manometer_analysis::summary::{IntervalEstimate, PhaseSummary};
use manometer_measure::ByteSize;
use manometer_measure::plan::PhaseKind;

use crate::recording_reader::RecordingReader;
use crate::run_names::{KERNEL, host_facts};
use crate::text;

/// The name under which a phase's id is one of the things that points differ by.
pub(super) const PHASE: &str = "phase";

/// The name under which the number of workloads that run in a phase stands.
const RUNNING: &str = "running";

/// The conditions of a measurement, by name.
pub(super) type Conditions = BTreeMap<String, String>;

/// One phase of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PhasePoint {
    /// What holds for the whole run: its primary, engine, kernel, device, repeat, and what a sweep set.
    pub(super) run: Conditions,
    /// The settings in force in the phase.
    pub(super) phase: Conditions,
    /// The phase's id.
    pub(super) id: String,
    /// The number; nothing where it was not measured.
    pub(super) value: Option<f64>,
    /// The lower end of its interval.
    pub(super) low: Option<f64>,
    /// The upper end.
    pub(super) high: Option<f64>,
    /// Why there is no number.
    pub(super) gap: String,
}

impl PhasePoint {
    /// The condition `name`; empty where it is not known.
    pub(super) fn condition(&self, name: &str) -> &str {
        if name == PHASE {
            return &self.id;
        }
        self.phase.get(name).or_else(|| self.run.get(name)).map_or("", String::as_str)
    }

    /// The number in words, with its interval, or why there is none.
    pub(super) fn describe(&self) -> String {
        match (self.value, self.low, self.high) {
            (Some(value), Some(low), Some(high)) => {
                format!("{} ({} to {})", text::pressure(value), text::pressure(low), text::pressure(high))
            }
            (Some(value), ..) => format!("{} (no interval)", text::pressure(value)),
            (None, ..) => format!("{}: {}", text::NOT_MEASURED, self.gap),
        }
    }
}

/// The pressures of all phases with neighbours; the reference runs of sweeps are left out.
pub(super) fn pressures(readers: &[RecordingReader]) -> Vec<PhasePoint> {
    let judged: Vec<&RecordingReader> = readers.iter().filter(|reader| !reader.recording.plan.reference).collect();
    let mut runs: Vec<Conditions> = judged.iter().map(|reader| run_facts(reader)).collect();
    // A run with the same facts as an earlier one gets a repeat number.
    let repeats: Vec<usize> = runs
        .iter()
        .enumerate()
        .map(|(place, facts)| runs[..=place].iter().filter(|run| *run == facts).count())
        .collect();
    if repeats.iter().any(|repeat| *repeat > 1) {
        for (run, repeat) in runs.iter_mut().zip(repeats) {
            run.insert("repeat".to_owned(), repeat.to_string());
        }
    }
    let phases = judged
        .iter()
        .zip(&runs)
        .flat_map(|(reader, run)| reader.summary.phases.iter().map(move |phase| (*reader, run, phase)));
    let pressures = phases.filter(|(_, _, phase)| phase.kind == PhaseKind::Pressure);
    pressures.map(|(reader, run, phase)| point(reader, run, phase)).collect()
}

fn point(reader: &RecordingReader, run: &Conditions, phase: &PhaseSummary) -> PhasePoint {
    let IntervalEstimate { value, ci_low, ci_high, reason, .. } = &phase.pressure;
    let gap = reason.as_ref().or(phase.performance.reason.as_ref());
    let settings = phase.settings.iter().map(|(name, value)| (name.clone(), text::plain(value))).collect();
    let planned = reader.recording.plan.phases.iter().find(|planned| planned.id == phase.id);
    let running = planned.map(|planned| (RUNNING.to_owned(), planned.running.len().to_string()));
    PhasePoint {
        run: run.clone(),
        phase: of_all_instances(settings).into_iter().chain(running).collect(),
        id: phase.id.clone(),
        value: *value,
        low: *ci_low,
        high: *ci_high,
        gap: gap.cloned().unwrap_or_else(|| "the analysis gives no reason".to_owned()),
    }
}

/// Settings of instances (`n1.write_ratio`, `n2.write_ratio`) that are the same for all of them as one (`n.write_ratio`):
/// that is what a staggered experiment varies.
pub(super) fn of_all_instances(settings: Conditions) -> Conditions {
    let several = of_several_instances(settings.keys().map(String::as_str));
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, common) in &several {
        values.entry(common).or_default().insert(&settings[name]);
    }
    let shared = |name: &String| several.get(name).filter(|common| values[common.as_str()].len() == 1);
    settings.iter().map(|(name, value)| (shared(name).unwrap_or(name).clone(), value.clone())).collect()
}

/// Of `names`, the settings of one of several instances of a workload, each with the name of the same setting of all: two
/// workloads at least that differ by a number at their end, and none without one.
pub(super) fn of_several_instances<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let names: BTreeSet<&str> = names.collect();
    let common = |name: &str| {
        let (workload, setting) = name.split_once('.')?;
        let all = instances_of(workload);
        (all != workload).then(|| format!("{all}.{setting}"))
    };
    let pairs: Vec<(&str, String)> = names.iter().filter_map(|name| Some((*name, common(name)?))).collect();
    let is_shared = |wanted: &String| {
        pairs.iter().filter(|(_, common)| common == wanted).count() > 1 && !names.contains(wanted.as_str())
    };
    pairs
        .iter()
        .filter(|(_, common)| is_shared(common))
        .map(|(name, common)| ((*name).to_owned(), common.clone()))
        .collect()
}

/// The conditions of a whole run, as far as they are recorded.
pub(super) fn run_facts(reader: &RecordingReader) -> Conditions {
    let mut facts: Conditions =
        reader.recorded.settings.iter().map(|(name, value)| (name.clone(), text::plain(value))).collect();
    let experiment: toml::Table = reader.recording.experiment.parse().unwrap_or_default();
    // The sweep's settings are in the plan, not in the file.
    for (name, value) in file_settings(&experiment) {
        facts.entry(name).or_insert(value);
    }
    let primary = reader.primary().map_or("primary", |primary| primary.name.as_str());
    for (name, setting) in [("primary", "workload"), ("engine", "engine")] {
        if let Some(value) = facts.remove(&format!("{primary}.{setting}")) {
            facts.insert(name.to_owned(), value);
        }
    }
    facts.extend(host_facts(reader.recording).into_iter().map(|(name, value)| (name.to_owned(), value)));
    facts
}

/// What an experiment file sets of its workloads, by the names that a sweep would have set it by.
fn file_settings(experiment: &toml::Table) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let named = |table: &toml::Table| table.get("name").and_then(toml::Value::as_str).unwrap_or("primary").to_owned();
    let primary = experiment.get("primary").and_then(toml::Value::as_table);
    let neighbours = experiment.get("neighbour").and_then(toml::Value::as_array).into_iter().flatten();
    for table in primary.into_iter().chain(neighbours.filter_map(toml::Value::as_table)) {
        flatten(&named(table), table, &mut settings);
    }
    settings
}

fn flatten(name: &str, table: &toml::Table, settings: &mut Vec<(String, String)>) {
    for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
        let name = format!("{name}.{key}");
        match value {
            toml::Value::Table(table) => flatten(&name, table, settings),
            toml::Value::String(text) => settings.push((name, text.clone())),
            other => settings.push((name, other.to_string())),
        }
    }
}

/// Points that are alike in all but one thing, in groups, in the order in which they begin: `rest` gives the other conditions of
/// a point.
pub(super) fn group_alike<K: Ord>(points: &[PhasePoint], rest: impl Fn(&PhasePoint) -> K) -> Vec<Vec<&PhasePoint>> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&PhasePoint>> = Vec::new();
    for point in points {
        let place = *places.entry(rest(point)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(point);
    }
    groups
}

/// Each two neighbours among the values of `axis` that a group has, with their points. Where two points have one value,
/// neither can be chosen.
pub(super) fn neighbouring<'a>(group: &[&'a PhasePoint], axis: &Axis) -> Vec<(&'a PhasePoint, &'a PhasePoint)> {
    let with = |value: &String| -> Vec<&'a PhasePoint> {
        group.iter().copied().filter(|point| point.condition(&axis.name) == value).collect()
    };
    let present: Vec<Vec<&PhasePoint>> =
        axis.values.iter().filter(|value| !value.is_empty()).map(with).filter(|points| !points.is_empty()).collect();
    let pairs = present.windows(2).filter_map(|pair| match (pair[0].as_slice(), pair[1].as_slice()) {
        ([from], [to]) => Some((*from, *to)),
        _ => None,
    });
    pairs.collect()
}

/// `under` without `name`.
pub(super) fn without(under: &Conditions, name: &str) -> Conditions {
    under.iter().filter(|(known, _)| *known != name).map(|(known, value)| (known.clone(), value.clone())).collect()
}

/// Something that points differ by, with its values in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    /// Its name.
    pub(super) name: String,
    /// Its values: by size where they are numbers, by version where they are kernels, else as they come.
    pub(super) values: Vec<String>,
}

/// Everything that `points` differ by, their phases among it.
pub(super) fn varying(points: &[PhasePoint]) -> Vec<Axis> {
    let named = points.iter().flat_map(|point| point.run.keys().chain(point.phase.keys()));
    let names: BTreeSet<&str> = named.map(String::as_str).chain([PHASE]).collect();
    names.into_iter().map(|name| axis(points, name)).filter(|axis| axis.values.len() > 1).collect()
}

/// The values of `name` among `points`.
pub(super) fn axis(points: &[PhasePoint], name: &str) -> Axis {
    let mut values: Vec<String> = Vec::new();
    for value in points.iter().map(|point| point.condition(name)) {
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }
    if name == KERNEL {
        values.sort_by_cached_key(|value| version(value));
    } else if let Some(amounts) = values.iter().map(|value| place(value)).collect::<Option<Vec<f64>>>() {
        let mut both: Vec<(f64, String)> = amounts.into_iter().zip(values).collect();
        both.sort_by(|left, right| left.0.total_cmp(&right.0));
        values = both.into_iter().map(|(_, value)| value).collect();
    }
    Axis { name: name.to_owned(), values }
}

/// The numbers in a version, `[5, 11, 0]` of `5.11.0-generic`.
fn version(value: &str) -> Vec<u64> {
    value.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// Where a value stands among numbers; an unknown value comes first.
fn place(value: &str) -> Option<f64> {
    if value.is_empty() { Some(f64::NEG_INFINITY) } else { amount(value) }
}

/// The number that a value is, sizes in bytes: `16`, `0.5`, `4KiB`.
pub(super) fn amount(value: &str) -> Option<f64> {
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    number.or_else(|| value.parse::<ByteSize>().ok().map(|bytes| bytes.0 as f64))
}

/// What an instance is one of: `n` of `n1`.
pub(super) fn instances_of(workload: &str) -> &str {
    workload.trim_end_matches(|character: char| character.is_ascii_digit())
}

/// `iodepth` of `writer.iodepth`.
pub(super) fn short(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, setting)| setting)
}

/// `to` less `from`, with its interval, which comes from the intervals of both as if they had been measured apart
/// (G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008). Phases of one run share their `w0`: for them it is too wide.
pub(super) fn difference(to: &PhasePoint, from: &PhasePoint) -> (Option<f64>, Option<f64>, Option<f64>) {
    let Some((a, b)) = to.value.zip(from.value) else { return (None, None, None) };
    let ends = to.low.zip(to.high).zip(from.low.zip(from.high));
    let low = ends.map(|((low, _), (_, high))| a - b - (a - low).hypot(high - b));
    let high = ends.map(|((_, high), (low, _))| a - b + (high - a).hypot(b - low));
    (Some(a - b), low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_order_of_their_bytes_and_kernels_of_their_versions() {
        let point = |size: &str, kernel: &str| PhasePoint {
            run: [("io.block_size", size), ("kernel", kernel)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            id: "w1".to_owned(),
            ..PhasePoint::default()
        };
        let points = [point("128KiB", "5.11"), point("4KiB", "5.4-x"), point("16KiB", "5.11")];
        let axes = varying(&points);
        assert_eq!(axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>(), ["io.block_size", "kernel"]);
        assert_eq!(axes[0].values, ["4KiB", "16KiB", "128KiB"]);
        assert_eq!(axes[1].values, ["5.4-x", "5.11"]);
        assert_eq!(short("io.block_size"), "block_size");
    }

    #[test]
    fn settings_of_the_file_are_conditions_too() {
        let file = r#"
            [primary]
            workload = "ycsb-b"
            options = { use_direct_reads = true }
            [[neighbour]]
            name = "writer"
            block_size = "4KiB"
            instances = 2
        "#;
        let settings: Conditions = file_settings(&file.parse().unwrap()).into_iter().collect();
        assert_eq!(settings["primary.workload"], "ycsb-b");
        assert_eq!(settings["primary.options.use_direct_reads"], "true");
        assert_eq!((settings["writer.block_size"].as_str(), settings["writer.instances"].as_str()), ("4KiB", "2"));
        assert_eq!(settings.len(), 4);
    }

    #[test]
    fn what_all_instances_share_is_one_setting() {
        let merge = |pairs: &[(&str, &str)]| -> Conditions {
            of_all_instances(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let alike = merge(&[("n1.write_ratio", "0.1"), ("n2.write_ratio", "0.1"), ("writer.iodepth", "4")]);
        let names: Vec<&str> = alike.keys().map(String::as_str).collect();
        assert_eq!(names, ["n.write_ratio", "writer.iodepth"]);
        let unlike = merge(&[("n1.write_ratio", "0.1"), ("n2.write_ratio", "0.2")]);
        assert_eq!(unlike.len(), 2, "{unlike:?}");
        let alone = merge(&[("writer.iodepth", "4"), ("writer1.iodepth", "16"), ("log1.iodepth", "1")]);
        assert_eq!(alone.len(), 3, "`writer` and `writer1` are two workloads, and one is no several: {alone:?}");
    }

    #[test]
    fn a_difference_is_as_unsure_as_both_together() {
        let point = |value, half: f64| PhasePoint {
            value: Some(value),
            low: Some(value - half),
            high: Some(value + half),
            ..PhasePoint::default()
        };
        let (value, low, high) = difference(&point(0.75, 0.03), &point(0.25, 0.04));
        assert_eq!(value, Some(0.5));
        assert!((low.unwrap() - 0.45).abs() < 1e-12 && (high.unwrap() - 0.55).abs() < 1e-12);
        let without = PhasePoint { value: Some(0.1), ..PhasePoint::default() };
        assert_eq!(difference(&point(0.5, 0.1), &without), (Some(0.4), None, None));
        assert_eq!(difference(&PhasePoint::default(), &without), (None, None, None));
    }
}
