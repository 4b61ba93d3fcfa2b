//! The names of runs on a page of several.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use manometer_analysis::compare;
use manometer_measure::Recording;
use manometer_measure::plan::Settings;
use serde_json::Value;

use crate::{AnalysedRecording, text};

/// The name under which the release of the host's kernel stands.
pub(crate) const KERNEL: &str = "kernel";

/// The name of each of `recordings`: what the sweep set for it, the facts of the host that differ, and its repeat.
pub(crate) fn names<'a>(recordings: impl IntoIterator<Item = &'a AnalysedRecording>) -> Vec<String> {
    let recordings: Vec<&AnalysedRecording> = recordings.into_iter().collect();
    let repeats = compare::repeat_numbers(&recordings.iter().map(|recorded| &recorded.recording).collect::<Vec<_>>());
    // Repeats are numbered only where something ran twice.
    let numbered = repeats.iter().any(|repeat| *repeat > 1);
    let varied = differing(&recordings);
    let hosts: Vec<_> = recordings.iter().map(|recorded| host_facts(&recorded.recording)).collect();
    let differs = |fact: &&(&str, String)| hosts.iter().any(|host| !host.contains(fact));
    let named = |at: usize| {
        let facts = hosts[at].iter().filter(differs);
        let host: String = facts.map(|(name, value)| format!(" · {name} {value}")).collect();
        let repeat = if numbered { format!(" · repeat {}", repeats[at]) } else { String::new() };
        kind(recordings[at], &varied) + &host + &repeat
    };
    (0..recordings.len()).map(named).collect()
}

/// The settings that are not the same for all runs that have them.
fn differing(recordings: &[&AnalysedRecording]) -> BTreeSet<String> {
    let mut values: BTreeMap<&String, &Value> = BTreeMap::new();
    let mut differing = BTreeSet::new();
    for (setting, value) in recordings.iter().flat_map(|recorded| &recorded.settings) {
        if values.insert(setting, value).is_some_and(|before| before != value) {
            differing.insert(setting.clone());
        }
    }
    differing
}

/// The same; equal names with the folder: every line and panel needs its own name.
pub(crate) fn distinct_names<'a>(recordings: impl IntoIterator<Item = &'a AnalysedRecording>) -> Vec<String> {
    let recordings: Vec<&AnalysedRecording> = recordings.into_iter().collect();
    let dirs: Vec<PathBuf> = recordings.iter().map(|recorded| recorded.recording.dir.clone()).collect();
    let folders = distinct_path_ends(&dirs);
    let distinct = distinguish(names(recordings.iter().copied()), |place| format!(" · {}", folders[place]));
    // The same folder twice.
    distinguish(distinct, |place| format!(" · {}", place + 1))
}

/// The shortest end of each path that no other path has.
pub fn distinct_path_ends(dirs: &[PathBuf]) -> Vec<String> {
    let deepest = dirs.iter().map(|dir| dir.components().count()).max().unwrap_or(0);
    let ends = |depth: usize| -> Vec<String> {
        let end = |dir: &PathBuf| {
            let skipped = dir.components().count().saturating_sub(depth);
            dir.components().skip(skipped).collect::<PathBuf>().to_string_lossy().into_owned()
        };
        dirs.iter().map(end).collect()
    };
    let is_distinct = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    (1..=deepest).map(ends).find(is_distinct).unwrap_or_else(|| ends(deepest))
}

/// The names, equal ones with `more` appended.
fn distinguish(names: Vec<String>, more: impl Fn(usize) -> String) -> Vec<String> {
    let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let distinct =
        |(place, name): (usize, &String)| if is_alone(name) { name.clone() } else { name.clone() + &more(place) };
    names.iter().enumerate().map(distinct).collect()
}

/// The host of a run, as far as it is recorded: the kernel's release, and the device.
pub(crate) fn host_facts(recording: &Recording) -> Vec<(&'static str, String)> {
    let fact = |path: &str| recording.environment.pointer(path)?.as_str().map(str::to_owned);
    let device = fact("/device/model").or_else(|| fact("/device/name"));
    let facts = [(KERNEL, fact("/host/kernel")), ("device", device)];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn kind(recorded: &AnalysedRecording, varied: &BTreeSet<String>) -> String {
    let AnalysedRecording { summary, settings, recording } = recorded;
    // A single run, or one that differs by none of them, has all of its settings in its name.
    let some: Settings = settings.clone().into_iter().filter(|(setting, _)| varied.contains(setting)).collect();
    let settings = if some.is_empty() { settings } else { &some };
    match (recording.plan.reference, settings.is_empty()) {
        (true, _) => "reference".to_owned(),
        (false, true) => summary.experiment.clone(),
        (false, false) => text::settings(settings),
    }
}
