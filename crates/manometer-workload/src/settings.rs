//! The settings of a workload of any kind.

use std::path::PathBuf;

use manometer_measure::regular_file;
use manometer_target::engine::directory::DatabaseManifest;
use manometer_target::engine::{EngineOptions, StorageKind};
use rapidhash::v3::rapidhash_v3;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::change::{from_map, to_map};
use crate::command::{self, CommandSettings};
use crate::files::{self, FilesPlan, FilesSettings};
use crate::io::{self, IoSettings};
use crate::kv::{self, KvOperation, KvPlan, KvSettings, RateForm};
use crate::paths::{self, PathsPlan, PathsSettings};
use crate::replay::{self, ReplaySettings};
use crate::settings_file::MOST_FILE_BYTES;

/// A workload of any kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "settings", rename_all = "snake_case")]
pub enum WorkloadSettings {
    /// Reads and writes of files.
    Io(IoSettings),
    /// Files that are created, written, read and deleted.
    Files(FilesSettings),
    /// A tree of files that is looked up, opened, read and listed by path.
    Paths(PathsSettings),
    /// Operations on a key-value engine.
    Kv(KvSettings),
    /// A recorded trace on a key-value engine.
    Replay(ReplaySettings),
    /// An external program.
    Command(CommandSettings),
}

/// How the requests of a workload are paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Not at all: a closed loop.
    Free,
    /// Each is due at its own time, and has a response time from then on.
    Due,
    /// A closed loop that is held back to a rate: no request is due before it is sent.
    HeldBack,
}

impl WorkloadSettings {
    /// The kind's name, as in an experiment file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Io(_) => "io",
            Self::Files(_) => "files",
            Self::Paths(_) => "paths",
            Self::Kv(_) => "kv",
            Self::Replay(_) => "replay",
            Self::Command(_) => "command",
        }
    }

    /// The unit of the workload's performance.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Io(_) | Self::Files(_) => "MiB/s",
            Self::Paths(_) | Self::Kv(_) | Self::Replay(_) => "ops/s",
            Self::Command(command) => command::unit(command),
        }
    }

    /// The operations whose latencies its samples may hold.
    pub fn operations(&self) -> Vec<&'static str> {
        match self {
            Self::Io(_) => vec!["read", "write"],
            Self::Files(files) => files::operations(files),
            Self::Paths(paths) => paths::operations(paths),
            Self::Kv(kv) => KvPlan::new(kv)
                .map(|plan| plan.spec.operations().into_iter().map(KvOperation::name).collect())
                .unwrap_or_default(),
            Self::Replay(replay) => replay::operations(replay).into_iter().map(KvOperation::name).collect(),
            Self::Command(command) => command::latencies(command),
        }
    }

    /// The operation that most of its requests are; nothing where it is not known before the run.
    pub fn main_operation(&self) -> Option<&'static str> {
        let operations = self.operations();
        match self {
            Self::Io(io) if io.write_ratio > 0.5 => Some("write"),
            Self::Kv(kv) => kv::main_operation(kv),
            _ => operations.first().copied(),
        }
    }

    /// How its requests are paced: it then has that throughput as long as the target keeps up.
    pub fn pace(&self) -> Pace {
        match self {
            Self::Kv(kv) if kv.rate.is_some() => Pace::Due,
            Self::Io(io) if io.rate.is_some() => Pace::HeldBack,
            Self::Files(files) if files.rate.is_some() => Pace::HeldBack,
            Self::Paths(paths) if paths.rate.is_some() => Pace::HeldBack,
            // What a trace and a program do is known once they run.
            Self::Kv(_) | Self::Io(_) | Self::Files(_) | Self::Paths(_) | Self::Replay(_) | Self::Command(_) => {
                Pace::Free
            }
        }
    }

    /// The marker of the workload's database once it is loaded with `seed`. `None` if it has no separate database,
    /// for a trace, which would have to be read first, and for invalid settings.
    pub fn marker(&self, seed: u64) -> Option<DatabaseManifest> {
        match self {
            Self::Kv(kv) if self.keeps_data() => Some(kv::marker(&KvPlan::new(kv).ok()?, seed)),
            Self::Files(files) => FilesPlan::new(files).ok().map(|plan| plan.marker(seed)),
            Self::Paths(paths) => PathsPlan::new(paths).ok().map(|plan| plan.marker(seed)),
            Self::Kv(_) | Self::Io(_) | Self::Replay(_) | Self::Command(_) => None,
        }
    }

    /// Absolute paths of files that the settings name: options, properties, tables of rates, and the inputs of a
    /// command. Other names are built in, or relative to a command's working directory.
    pub fn files_named(&self) -> Vec<PathBuf> {
        match self {
            Self::Io(_) | Self::Files(_) | Self::Paths(_) => Vec::new(),
            Self::Kv(kv) => kv_files(kv),
            Self::Replay(replay) => replay::files_named(replay),
            Self::Command(settings) => command::files_named(settings),
        }
    }

    /// A hash of the settings and of the contents of the files that they name.
    pub fn fingerprint(&self) -> u64 {
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        for file in self.files_named() {
            // Hashing the length separates one file from the next. A missing file has no length.
            let read = regular_file::read(&file, MOST_FILE_BYTES).ok();
            text.extend(read.as_ref().map_or(u64::MAX, |read| read.len() as u64).to_le_bytes());
            text.extend(read.unwrap_or_default());
        }
        rapidhash_v3(&text)
    }

    /// Whether the workload leaves its own data in its directory.
    pub fn keeps_data(&self) -> bool {
        match self {
            Self::Command(_) | Self::Io(_) | Self::Files(_) | Self::Paths(_) => true,
            Self::Replay(replay) => replay.keeps_data(),
            // A fill starts with an empty database, but leaves one.
            Self::Kv(kv) => KvPlan::new(kv)
                .is_ok_and(|plan| plan.engine.storage == StorageKind::Disk && !plan.options.use_external_server()),
        }
    }

    /// The settings that can change while the workload runs.
    pub fn changeable(&self) -> Vec<&'static str> {
        match self {
            Self::Io(io) => io::changeable(io),
            Self::Files(_) => files::changeable(),
            Self::Paths(_) => paths::changeable(),
            Self::Kv(_) => kv::changeable(),
            // A replay follows its trace.
            Self::Replay(_) | Self::Command(_) => Vec::new(),
        }
    }

    /// The value of the setting `name`; null if unset.
    pub fn get(&self, name: &str) -> Value {
        let mut all = self.to_map();
        all.remove(name).unwrap_or(Value::Null)
    }

    /// The same workload with the setting `name` at `value`.
    ///
    /// # Errors
    /// `value` has the wrong type or unit; the text names it.
    pub fn with(&self, name: &str, value: &Value) -> Result<Self, String> {
        let mut all = self.to_map();
        all.insert(name.to_owned(), value.clone());
        Ok(match self {
            Self::Io(_) => Self::Io(read(all)?),
            Self::Files(_) => Self::Files(read(all)?),
            Self::Paths(_) => Self::Paths(read(all)?),
            Self::Kv(_) => Self::Kv(read(all)?),
            Self::Replay(_) => Self::Replay(read(all)?),
            Self::Command(_) => Self::Command(read(all)?),
        })
    }

    /// Checks ranges and combinations of the settings on a file system with blocks of `block_size_bytes`. For a
    /// recorded trace, reads it once to its end to check that it can be replayed.
    ///
    /// # Errors
    /// The invalid setting, what is wrong with it, and what would be right.
    pub fn validate(&self, block_size_bytes: u64) -> Result<(), (String, String)> {
        match self {
            Self::Io(io) => {
                io::validate(io, block_size_bytes).map_err(|error| (error.setting().to_owned(), error.to_string()))
            }
            Self::Files(files) => files::validate(files).map_err(|error| (error.name.clone(), error.to_string())),
            Self::Paths(paths) => paths::validate(paths).map_err(|error| (error.name.clone(), error.to_string())),
            Self::Kv(kv) => KvPlan::new(kv).map(drop).map_err(|error| (error.setting().to_owned(), error.to_string())),
            Self::Replay(replay) => {
                replay.check_trace().map_err(|error| (error.setting().to_owned(), error.to_string()))
            }
            Self::Command(command) => {
                command::validate(command).map_err(|error| (error.name.clone(), error.to_string()))
            }
        }
    }

    /// The bytes that preparing the database or the files writes; 0 for invalid settings, for an engine that keeps nothing
    /// on disk, and for an external program.
    pub fn bytes_to_prepare(&self) -> u64 {
        match self {
            Self::Io(io) => io.file_size.0,
            Self::Files(files) => FilesPlan::new(files).map_or(0, |plan| plan.bytes()),
            Self::Paths(paths) => PathsPlan::new(paths).map_or(0, |plan| plan.bytes()),
            Self::Kv(kv) => match KvPlan::new(kv) {
                Ok(plan) if plan.engine.storage == StorageKind::Disk && !plan.options.use_external_server() => {
                    plan.load_bytes().max(plan.fill_bytes())
                }
                _ => 0,
            },
            Self::Replay(replay) => replay::bytes_to_load(replay),
            Self::Command(_) => 0,
        }
    }

    /// Whether the size of its data is not set, so that it scales to the disk.
    pub fn scales_to_disk(&self) -> bool {
        match self {
            Self::Files(files) => files.scales_to_disk(),
            Self::Paths(paths) => paths.scales_to_disk(),
            Self::Io(_) | Self::Kv(_) | Self::Replay(_) | Self::Command(_) => false,
        }
    }

    /// The same workload with its data shrunk to the share `factor` (above 0, at most 1).
    pub fn shrunk(&self, factor: f64) -> Self {
        match self {
            Self::Io(io) => Self::Io(io.shrunk(factor)),
            Self::Files(files) => Self::Files(files.shrunk(factor)),
            Self::Paths(paths) => Self::Paths(paths.shrunk(factor)),
            Self::Kv(kv) => Self::Kv(kv.shrunk(factor)),
            // A trace has its own size.
            Self::Replay(replay) => Self::Replay(replay.clone()),
            Self::Command(command) => Self::Command(command.clone()),
        }
    }

    fn to_map(&self) -> Map<String, Value> {
        match self {
            Self::Io(io) => to_map(io),
            Self::Files(files) => to_map(files),
            Self::Paths(paths) => to_map(paths),
            Self::Kv(kv) => to_map(kv),
            Self::Replay(replay) => to_map(replay),
            Self::Command(command) => to_map(command),
        }
    }
}

fn kv_files(kv: &KvSettings) -> Vec<PathBuf> {
    let options = match &kv.options {
        Some(EngineOptions::File(file)) => Some(file.clone()),
        Some(EngineOptions::Table(_)) | None => None,
    };
    let rates = match &kv.rate {
        Some(RateForm::Table { file, .. }) => Some(file.clone()),
        _ => None,
    };
    let properties = [&kv.workload].into_iter().chain(&kv.properties_files).map(PathBuf::from);
    options.into_iter().chain(rates).chain(properties.filter(|path| path.is_absolute())).collect()
}

fn read<T: DeserializeOwned>(settings: Map<String, Value>) -> Result<T, String> {
    from_map(settings).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_contents_of_the_files_that_settings_name_are_other_data_and_another_workload() {
        let dir = tempfile::tempdir().unwrap();
        let (options, mix) = (dir.path().join("o.options"), dir.path().join("mix.properties"));
        let write = |buffer: u32, reads: f64| {
            std::fs::write(&options, format!("[CFOptions \"default\"]\nwrite_buffer_size={buffer}\n")).unwrap();
            let proportions = format!("readproportion={reads}\nupdateproportion={}\n", 1.0 - reads);
            std::fs::write(&mix, format!("recordcount=10\noperationcount=10\n{proportions}")).unwrap();
        };
        write(65_536, 0.5);
        let settings = KvSettings {
            engine: "rocksdb".to_owned(),
            options: Some(EngineOptions::File(options.clone())),
            workload: mix.display().to_string(),
            ..KvSettings::default()
        };
        let of = |settings: &KvSettings, seed| {
            let workload = WorkloadSettings::Kv(settings.clone());
            (workload.marker(seed).unwrap(), workload.fingerprint())
        };
        let first = of(&settings, 1);
        assert_eq!(of(&settings, 1), first);
        assert_ne!(of(&settings, 2).0, first.0);
        write(65_536, 0.9);
        let other_mix = of(&settings, 1);
        assert!(other_mix.0 == first.0 && other_mix.1 != first.1, "the same data, another workload");
        write(131_072, 0.5);
        let other_options = of(&settings, 1);
        assert!(other_options.0 != first.0 && other_options.1 != first.1);
    }

    #[test]
    fn the_fingerprint_covers_a_table_of_rates_and_the_file_of_a_command() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("own");
        let rate = RateForm::Table { file: file.clone(), column: "ops".to_owned() };
        let kv = WorkloadSettings::Kv(KvSettings { rate: Some(rate), ..KvSettings::default() });
        let of = |words: &[&str]| -> WorkloadSettings {
            let command = json!({ "command": words, "parser": "fio" });
            WorkloadSettings::Command(serde_json::from_value(command).unwrap())
        };
        let path = file.display().to_string();
        let (word, option) = (of(&["fio", &path]), of(&["fio", &format!("--options={path}")]));
        for settings in [kv, word, option] {
            std::fs::write(&file, "t_s,ops\n0,5\n").unwrap();
            assert_eq!(settings.files_named(), std::slice::from_ref(&file), "{settings:?}");
            let before = settings.fingerprint();
            assert_eq!(settings.fingerprint(), before);
            std::fs::write(&file, "t_s,ops\n0,6\n").unwrap();
            assert_ne!(settings.fingerprint(), before);
        }
        let data = format!("--filename={{directory}}{path}");
        assert!(of(&["fio", &data, "settings.rs", "/dev/null", "/nowhere/job"]).files_named().is_empty());
        std::fs::File::create(&file).unwrap().set_len(1 << 30).unwrap();
        assert!(of(&["fio", &path]).files_named().is_empty(), "that is data");
    }

    #[test]
    fn names_that_are_no_path_are_not_looked_for_here() {
        let kv = KvSettings { workload: "Cargo.toml".to_owned(), ..KvSettings::default() };
        assert!(WorkloadSettings::Kv(kv).files_named().is_empty());
    }

    #[test]
    fn every_kind_is_read_back_as_it_was_written() {
        let files = FilesSettings::of(files::Personality::Oltp);
        let value = serde_json::to_value(WorkloadSettings::Files(files.clone())).unwrap();
        assert_eq!(value, json!({ "kind": "files", "settings": { "personality": "oltp" } }));
        let read: WorkloadSettings = serde_json::from_value(value).unwrap();
        assert_eq!((read.kind(), read.unit(), read.changeable()), ("files", "MiB/s", vec!["threads", "rate"]));
        assert_eq!(read.operations(), ["read", "write", "log"]);
        assert_eq!(read.bytes_to_prepare(), (60 << 30) + (10 << 20));
        let with = read.with("mean_file_size", &json!("1MiB")).unwrap();
        assert!(read.scales_to_disk() && !with.scales_to_disk());
        assert_eq!(with.validate(4096), Ok(()));
        assert_eq!(with.with("threads", &json!(0)).unwrap().validate(4096).unwrap_err().0, "threads");
        assert!(with.keeps_data() && with.files_named().is_empty() && with.marker(1).is_some());
    }

    #[test]
    fn a_tree_of_paths_is_read_back_as_it_was_written() {
        let storm = PathsSettings { files: Some(200), depth: "3-4".parse().unwrap(), ..PathsSettings::default() };
        let value = serde_json::to_value(WorkloadSettings::Paths(storm)).unwrap();
        assert_eq!((&value["kind"], &value["settings"]["depth"]), (&json!("paths"), &json!("3-4")));
        let read: WorkloadSettings = serde_json::from_value(value).unwrap();
        assert_eq!((read.kind(), read.unit(), read.pace()), ("paths", "ops/s", Pace::Free));
        assert_eq!(read.with("rate", &json!("5/s")).unwrap().pace(), Pace::HeldBack);
        assert_eq!(read.operations(), ["stat", "open", "read", "list"]);
        let lists = read.with("list_proportion", &json!(5)).unwrap();
        assert_eq!((lists.main_operation(), lists.validate(4096)), (Some("list"), Ok(())));
        assert_eq!(read.bytes_to_prepare(), 200 << 16);
        assert!(!read.scales_to_disk() && read.with("files", &Value::Null).unwrap().scales_to_disk());
        assert_eq!(read.with("locality", &json!(1)).unwrap().validate(4096).unwrap_err().0, "locality");
        assert_eq!(read.with("script", &json!("1m: depth = 9")).unwrap().validate(4096).unwrap_err().0, "script");
        assert!(read.with("depth", &json!("deep")).unwrap_err().contains("such as 8"));
        assert!(read.keeps_data() && read.files_named().is_empty() && read.marker(1).is_some());
    }

    #[test]
    fn workloads_without_a_database_have_no_marker() {
        let null = KvSettings { engine: "null".to_owned(), ..KvSettings::default() };
        assert_eq!(WorkloadSettings::Kv(null).marker(1), None);
        assert_eq!(WorkloadSettings::Io(IoSettings::default()).marker(1), None);
    }
}
