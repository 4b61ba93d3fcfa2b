//! The primary and the neighbours.

use std::path::{Path, PathBuf};

use manometer_measure::host::reserved_names;
use manometer_target::engine::EngineOptions;
use manometer_workload::kv::RateForm;
use manometer_workload::replay::ReplaySettings;
use manometer_workload::settings::WorkloadSettings;

use super::Checker;
use super::reading::property_names;
use crate::definition::{ExperimentWorkload, Neighbour};
use crate::file::tree::{Node, NodeKind};
use crate::shipped;

/// The keys that every workload may have besides those of its kind.
const SHARED_KEYS: [&str; 5] = ["isolation", "limits", "clients", "hosts", "on_lost"];
/// The maximum number of instances of a neighbour.
const MAX_INSTANCES: u32 = 64;

/// The longest name of a workload, which is part of names of files.
const LONGEST_NAME: usize = 100;

impl Checker<'_> {
    pub(super) fn read_primary(&mut self, node: &Node, block_size: u64) -> Option<ExperimentWorkload> {
        let name = self.read_optional(node, "name").unwrap_or_else(|| "primary".to_owned());
        self.check_name(&name, node);
        let settings = self.read_workload(node, Some("kv"), &[&["name"], &SHARED_KEYS[..]].concat(), block_size);
        self.with_isolation(node, settings.map(|settings| ExperimentWorkload::new(name, settings)), block_size)
    }

    pub(super) fn read_neighbours(
        &mut self,
        root: &Node,
        primary: Option<&ExperimentWorkload>,
        block_size: u64,
    ) -> Vec<Neighbour> {
        let mut neighbours: Vec<Neighbour> = Vec::new();
        for node in root.get("neighbour").map_or(&[][..], Node::elements) {
            let Some(table) = self.read_required::<String>(node, "name") else { continue };
            self.check_name(&table, node);
            let instances: Option<u32> = self.read_optional(node, "instances");
            if instances.is_some_and(|count| !(1..=MAX_INSTANCES).contains(&count)) {
                let origin = node.get("instances").map(|node| node.origin.clone());
                self.report(format!("`instances` must be a number from 1 to {MAX_INSTANCES}"), origin.as_ref(), None);
                continue;
            }
            let other_keys = [&["name", "instances"], &SHARED_KEYS[..]].concat();
            let settings = self.read_workload(node, None, &other_keys, block_size);
            let one = settings.map(|settings| ExperimentWorkload::new(table.clone(), settings));
            let Some(one) = self.with_isolation(node, one, block_size) else { continue };
            let names = match instances {
                None => vec![table.clone()],
                Some(count) => (1..=count).map(|instance| format!("{table}{instance}")).collect(),
            };
            for name in names {
                let taken = primary.is_some_and(|primary| primary.name == name)
                    || neighbours.iter().any(|other| other.workload.name == name || other.table == name);
                if taken {
                    let origin = node.get("name").map(|node| node.origin.clone());
                    self.report(format!("two workloads have the name `{name}`"), origin.as_ref(), None);
                }
                let workload = ExperimentWorkload { name, ..one.clone() };
                neighbours.push(Neighbour { table: table.clone(), workload });
            }
        }
        neighbours
    }

    fn check_name(&mut self, name: &str, node: &Node) {
        let is_plain = (1..=LONGEST_NAME).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let origin = node.get("name").map_or(&node.origin, |node| &node.origin).clone();
        if !is_plain {
            let help = "use at most 100 letters, digits, `-` and `_`: the name becomes a file name";
            self.report(format!("`{name}` is not a valid name"), Some(&origin), Some(help));
        } else if reserved_names().any(|reserved| reserved == name) {
            self.report(
                format!("`{name}` is the name of a sample series of the host"),
                Some(&origin),
                Some("choose another name"),
            );
        }
    }

    /// Reads the settings of a workload of the kind `kind`: all keys but `kind` and `other_keys`.
    fn read_workload(
        &mut self,
        node: &Node,
        default_kind: Option<&str>,
        other_keys: &[&str],
        block_size: u64,
    ) -> Option<WorkloadSettings> {
        let kind = match (node.get("kind"), default_kind) {
            (Some(kind), _) => self.read::<String>(kind, "kind")?,
            (None, Some(kind)) => kind.to_owned(),
            (None, None) => {
                self.report(
                    "`kind` is missing",
                    Some(&node.key_origin),
                    Some(
                        "write `kind = \"io\"`, `kind = \"files\"`, `kind = \"paths\"`, `kind = \"kv\"`, `kind = \"replay\"` or \
                         `kind = \"command\"`",
                    ),
                );
                return None;
            }
        };
        let lifted = ["kv", "io", "replay"].contains(&kind.as_str()).then(|| with_inline_trace_lifted(node)).flatten();
        let (node, kind) = match &lifted {
            Some(lifted) if kind == "kv" => (lifted, "replay".to_owned()),
            Some(lifted) => (lifted, kind),
            None => (node, kind),
        };
        let Some(mut known) = setting_names(&kind) else {
            let origin = node.get("kind").map(|node| node.origin.clone());
            let help = "expected one of `io`, `files`, `paths`, `kv`, `replay`, `command`";
            self.report(format!("`{kind}` is not a kind of workload"), origin.as_ref(), Some(help));
            return None;
        };
        if let Some(processes) = node.get("processes").filter(|_| kind == "replay") {
            let help = "in an experiment, write `clients`";
            self.report("`processes` is an option of `manometer replay` only", Some(&processes.key_origin), Some(help));
            return None;
        }
        known.extend(other_keys.iter().map(|key| (*key).to_owned()));
        known.push("kind".to_owned());
        let errors_before = self.errors.len();
        self.check_keys(node, &known);
        let is_whole = self.errors.len() == errors_before;
        let is_own = |key: &str| key != "kind" && known.iter().any(|name| name == key) && !other_keys.contains(&key);
        let own = self.with_shipped_options(node.with_keys(is_own));
        let settings = self.read_settings(&kind, &own, is_whole)?;
        let sources = self.sources;
        let settings = with_paths(settings, |key| node.get(key).map(|node| sources.folder(&node.origin)));
        if let Err((setting, text)) = settings.validate(block_size) {
            let origin = node.get(&setting).map_or(&node.key_origin, |node| &node.origin).clone();
            self.report(text, Some(&origin), None);
            return None;
        }
        Some(settings)
    }

    /// The settings `own` of a workload of the kind `kind`.
    fn read_settings(&mut self, kind: &str, own: &Node, is_whole: bool) -> Option<WorkloadSettings> {
        Some(match kind {
            "io" => WorkloadSettings::Io(self.read_table_of(own, "io", is_whole)?),
            "files" => WorkloadSettings::Files(self.read_table_of(own, "files", is_whole)?),
            "paths" => WorkloadSettings::Paths(self.read_table_of(own, "paths", is_whole)?),
            "replay" => WorkloadSettings::Replay(self.read_table_of(own, "replay", is_whole)?),
            "command" => WorkloadSettings::Command(self.read_table_of(own, "command", is_whole)?),
            _ => WorkloadSettings::Kv(self.read_table_of(own, "kv", is_whole)?),
        })
    }

    /// The table `node`, with the options themselves in place of a file of options that is inside the program.
    fn with_shipped_options(&self, mut node: Node) -> Node {
        let NodeKind::Table(entries) = &mut node.kind else { return node };
        let options = entries.iter_mut().find(|(key, _)| key == "options").map(|(_, options)| options);
        let Some(options) = options.filter(|options| self.sources.is_shipped(&options.origin)) else { return node };
        let file = options.to_json();
        if let Some(table) = file.as_str().and_then(shipped::options) {
            let leaf = |value: &str| Node { kind: NodeKind::Leaf(value.into()), ..options.clone() };
            options.kind = NodeKind::Table(table.map(|(name, value)| (name.to_owned(), leaf(value))).collect());
        }
        node
    }
}

/// A workload with an inline trace, `workload = { trace = "…", model = "open" }`: the same table with the keys of the
/// inner one moved to the outer one, where those of the outer one win.
fn with_inline_trace_lifted(node: &Node) -> Option<Node> {
    let inner = node.get("workload").filter(|inner| inner.is_table())?;
    let outer = node.entries().iter().filter(|(key, _)| key != "workload");
    let lifted = inner.entries().iter().filter(|(key, _)| node.get(key).is_none() || key == "workload");
    Some(Node { kind: NodeKind::Table(outer.chain(lifted).cloned().collect()), ..node.clone() })
}

/// The settings with absolute paths: `folder` is the folder to which a setting's path is relative.
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
        && let (Some(trace), Some(folder)) = (&mut io.replay.trace, folder("trace"))
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
        let resolve_file = |setting, name: &mut String| {
            let file = folder(setting).map(|folder| absolute(folder.join(&*name)));
            if let Some(file) = file.filter(|file| file.is_file()) {
                *name = file.display().to_string();
            }
        };
        resolve_file("workload", &mut kv.workload);
        kv.properties_files.iter_mut().for_each(|name| resolve_file("properties_files", name));
    }
    settings
}

/// The names of the settings of workloads of `kind`.
pub(super) fn setting_names(kind: &str) -> Option<Vec<String>> {
    match kind {
        "io" => Some(property_names::<manometer_workload::io::IoSettings>()),
        "files" => Some(property_names::<manometer_workload::files::FilesSettings>()),
        "paths" => Some(property_names::<manometer_workload::paths::PathsSettings>()),
        "kv" => Some(property_names::<manometer_workload::kv::KvSettings>()),
        "replay" => Some(property_names::<ReplaySettings>()),
        "command" => Some(property_names::<manometer_workload::command::CommandSettings>()),
        _ => None,
    }
}
