//! The primary and the neighbours.

use std::path::{Path, PathBuf};

use manometer_measure::host::columns::RESERVED_NAMES;
use manometer_workload::kv::{EngineOptions, RateForm};
use manometer_workload::replay::ReplaySettings;
use manometer_workload::settings::WorkloadSettings;

use super::Checker;
use super::reading::property_names;
use crate::file::experiment::{Neighbour, Workload};
use crate::file::tree::{Kind, Node};

/// The most copies of a neighbour.
const MAX_INSTANCES: u32 = 64;

impl Checker<'_> {
    pub(super) fn primary(&mut self, node: &Node, block_size: u64) -> Option<Workload> {
        let name = self.optional(node, "name").unwrap_or_else(|| "primary".to_owned());
        self.name(&name, node);
        let settings = self.workload(node, Some("kv"), &["name", "isolation", "limits"], block_size)?;
        self.isolated(node, Workload::new(name, settings), block_size)
    }

    pub(super) fn neighbours(&mut self, root: &Node, primary: Option<&Workload>, block_size: u64) -> Vec<Neighbour> {
        let mut neighbours: Vec<Neighbour> = Vec::new();
        for node in root.get("neighbour").map_or(&[][..], Node::elements) {
            let Some(table) = self.required::<String>(node, "name") else { continue };
            self.name(&table, node);
            let instances: Option<u32> = self.optional(node, "instances");
            if instances.is_some_and(|count| !(1..=MAX_INSTANCES).contains(&count)) {
                let origin = node.get("instances").map(|node| node.origin.clone());
                self.report(format!("`instances` is a number from 1 to {MAX_INSTANCES}"), origin.as_ref(), None);
                continue;
            }
            let beside = ["name", "instances", "isolation", "limits"];
            let Some(settings) = self.workload(node, None, &beside, block_size) else { continue };
            let Some(one) = self.isolated(node, Workload::new(table.clone(), settings), block_size) else { continue };
            let names = match instances {
                None => vec![table.clone()],
                Some(count) => (1..=count).map(|copy| format!("{table}{copy}")).collect(),
            };
            for name in names {
                let taken = primary.is_some_and(|primary| primary.name == name)
                    || neighbours.iter().any(|other| other.workload.name == name || other.table == name);
                if taken {
                    let origin = node.get("name").map(|node| node.origin.clone());
                    self.report(format!("two workloads are called `{name}`"), origin.as_ref(), None);
                }
                let workload = Workload { name, ..one.clone() };
                neighbours.push(Neighbour { table: table.clone(), workload });
            }
        }
        neighbours
    }

    pub(super) fn name(&mut self, name: &str, node: &Node) {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let origin = node.get("name").map_or(&node.origin, |node| &node.origin).clone();
        if !plain {
            let help = "a name names files: letters, digits, `-` and `_`";
            self.report(format!("`{name}` cannot be a name"), Some(&origin), Some(help));
        } else if RESERVED_NAMES.contains(&name) {
            self.report(format!("`{name}` is a sample series of the host"), Some(&origin), Some("choose another name"));
        }
    }

    /// Reads a workload: `kind` says which, its other keys but `beside` are its settings.
    pub(super) fn workload(
        &mut self,
        node: &Node,
        default_kind: Option<&str>,
        beside: &[&str],
        block_size: u64,
    ) -> Option<WorkloadSettings> {
        let kind = match (node.get("kind"), default_kind) {
            (Some(kind), _) => self.value::<String>(kind, "kind")?,
            (None, Some(kind)) => kind.to_owned(),
            (None, None) => {
                self.report(
                    "`kind` is missing",
                    Some(&node.key_origin),
                    Some(
                        "write `kind = \"io\"`, `kind = \"files\"`, `kind = \"kv\"`, `kind = \"replay\"` or `kind = \"command\"`",
                    ),
                );
                return None;
            }
        };
        let lifted = ["kv", "io", "replay"].contains(&kind.as_str()).then(|| trace_in_place(node)).flatten();
        let (node, kind) = match &lifted {
            Some(lifted) if kind == "kv" => (lifted, "replay".to_owned()),
            Some(lifted) => (lifted, kind),
            None => (node, kind),
        };
        let Some(mut known) = setting_names(&kind) else {
            let origin = node.get("kind").map(|node| node.origin.clone());
            let help = "there are `io`, `files`, `kv`, `replay` and `command`";
            self.report(format!("`{kind}` is no kind of workload"), origin.as_ref(), Some(help));
            return None;
        };
        if let Some(processes) = node.get("processes").filter(|_| kind == "replay") {
            let help = "in an experiment a replay is one process: give it as many `threads` as it needs";
            self.report("several processes are for `manometer replay` alone", Some(&processes.key_origin), Some(help));
            return None;
        }
        known.extend(beside.iter().map(|key| (*key).to_owned()));
        known.push("kind".to_owned());
        self.known_keys(node, &known);
        let own: Vec<(String, Node)> = node
            .entries()
            .iter()
            .filter(|(key, _)| key != "kind" && known.contains(key) && !beside.contains(&key.as_str()))
            .cloned()
            .collect();
        let own = Node { kind: Kind::Table(own), ..node.clone() };
        let settings = match kind.as_str() {
            "io" => WorkloadSettings::Io(self.value(&own, "io")?),
            "files" => WorkloadSettings::Files(self.value(&own, "files")?),
            "replay" => WorkloadSettings::Replay(self.value(&own, "replay")?),
            "command" => WorkloadSettings::Command(self.value(&own, "command")?),
            _ => WorkloadSettings::Kv(self.value(&own, "kv")?),
        };
        let sources = self.sources;
        let settings = with_paths(settings, |key| node.get(key).map(|node| sources.folder(&node.origin)));
        if let Err((setting, text)) = settings.validate(block_size) {
            let origin = node.get(&setting).map_or(&node.key_origin, |node| &node.origin).clone();
            self.report(text, Some(&origin), None);
            return None;
        }
        Some(settings)
    }
}

/// A workload whose `workload` is a trace, `workload = { trace = "…", model = "open" }`: the same table with what is said
/// in place lifted out; what is said beside it, by a sweep perhaps, goes before that.
fn trace_in_place(node: &Node) -> Option<Node> {
    let inner = node.get("workload").filter(|inner| inner.is_table())?;
    let beside = node.entries().iter().filter(|(key, _)| key != "workload");
    let lifted = inner.entries().iter().filter(|(key, _)| node.get(key).is_none() || key == "workload");
    Some(Node { kind: Kind::Table(beside.chain(lifted).cloned().collect()), ..node.clone() })
}

/// The settings with the paths in them made absolute: `folder` says from which folder a setting speaks.
pub(super) fn with_paths<'a>(
    mut settings: WorkloadSettings,
    folder: impl Fn(&str) -> Option<&'a Path>,
) -> WorkloadSettings {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    if let WorkloadSettings::Replay(replay) = &mut settings {
        if let Some(folder) = folder("trace") {
            replay.file.trace = absolute(folder.join(&replay.file.trace));
        }
        if let (Some(EngineOptions::File(file)), Some(folder)) = (&mut replay.options, folder("options")) {
            *file = absolute(folder.join(&*file));
        }
    }
    if let WorkloadSettings::Io(io) = &mut settings
        && let (Some(trace), Some(folder)) = (&mut io.recorded.trace, folder("trace"))
    {
        *trace = absolute(folder.join(&*trace));
    }
    if let WorkloadSettings::Kv(kv) = &mut settings {
        if let (Some(EngineOptions::File(file)), Some(folder)) = (&mut kv.options, folder("options")) {
            *file = absolute(folder.join(&*file));
        }
        if let (Some(RateForm::Table { file, .. }), Some(folder)) = (&mut kv.rate, folder("rate")) {
            *file = absolute(folder.join(&*file));
        }
        let beside = |setting, name: &mut String| {
            let file = folder(setting).map(|folder| absolute(folder.join(&*name)));
            if let Some(file) = file.filter(|file| file.is_file()) {
                *name = file.display().to_string();
            }
        };
        beside("workload", &mut kv.workload);
        kv.properties_files.iter_mut().for_each(|name| beside("properties_files", name));
    }
    settings
}

/// The settings of workloads of `kind`.
pub(super) fn setting_names(kind: &str) -> Option<Vec<String>> {
    match kind {
        "io" => Some(property_names::<manometer_workload::io::IoSettings>()),
        "files" => Some(property_names::<manometer_workload::files::FilesSettings>()),
        "kv" => Some(property_names::<manometer_workload::kv::KvSettings>()),
        "replay" => Some(property_names::<ReplaySettings>()),
        "command" => Some(property_names::<manometer_workload::command::CommandSettings>()),
        _ => None,
    }
}
