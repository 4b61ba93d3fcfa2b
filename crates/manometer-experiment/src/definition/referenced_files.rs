//! The files that an experiment references: their contents are a part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_measure::regular_file;
use rapidhash::v3::rapidhash_v3;

use super::{Experiment, ExperimentWorkload};

/// Hashes of files (rapidhash V3 of their bytes) by path; nothing for a file that cannot be read.
pub type ReferencedFiles = BTreeMap<PathBuf, Option<String>>;

impl Experiment {
    /// Hashes of the files that any run or phase references: arrangements, options, properties, tables of rates, inputs of
    /// a command.
    /// The files that it extends are a part of the resolved file already.
    pub fn referenced_files(&self) -> ReferencedFiles {
        let mut paths = BTreeSet::new();
        let workloads: Vec<&ExperimentWorkload> = self.changeable_workloads().collect();
        workloads.iter().for_each(|workload| paths.extend(workload.settings.files_named()));
        paths.extend(self.combinations().into_iter().filter_map(|run| Some(run.array?.arrangement)));
        let ladder = self.ladder.iter().flat_map(|key| {
            key.targets
                .iter()
                .flat_map(|(workload, setting)| key.values.iter().map(move |value| (*workload, setting, value)))
        });
        let steps = self.steps.iter().flat_map(|step| &step.changes);
        let changes = ladder.chain(steps.map(|change| (change.workload, &change.setting, &change.value)));
        let swept = self.sweep.iter().flat_map(|(key, values)| {
            let (name, setting) = key.split_once('.').unwrap_or((key, ""));
            let own = self.workloads_by_table().filter(move |(table, _)| *table == name).map(|(_, workload)| workload);
            own.flat_map(move |workload| values.iter().map(move |value| (workload, setting, value)))
        });
        let changes = changes.map(|(workload, setting, value)| (workloads[workload], setting.as_str(), value));
        for (workload, setting, value) in changes.chain(swept) {
            if let Ok(changed) = workload.with(setting, value) {
                paths.extend(changed.settings.files_named());
            }
        }
        paths.into_iter().map(|path| (path.clone(), hash_of(&path))).collect()
    }
}

/// The largest file that is hashed.
const MOST_BYTES: u64 = 4 << 30;

fn hash_of(path: &Path) -> Option<String> {
    Some(format!("{:016x}", rapidhash_v3(&regular_file::read(path, MOST_BYTES).ok()?)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    #[test]
    fn files_of_every_run_and_phase_are_referenced() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a.options", "b.options", "own.properties", "rates.csv"];
        let options = include_str!("../../experiments/rocksdb-thesis.options");
        for (name, text) in names.into_iter().zip([options, options, "readproportion=1.0\n", "t_s,ops\n0,5\n"]) {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let text = "name = \"a test\"\n[device]\ndirectory = \"data\"\n[primary]\noptions = \"a.options\"\n\
             workload = \"own.properties\"\nrecords = 10\nrate = \"csv:rates.csv#ops\"\n\
             [plan]\nphase = \"1s\"\n[sweep]\n\"primary.options\" = [\"a.options\", \"b.options\"]\n";
        let path = dir.path().join("e.toml");
        fs::write(&path, text).unwrap();
        let experiment = crate::file::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let found = experiment.referenced_files();
        let file_names: Vec<&str> = found.keys().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(file_names, names);
        assert!(found.values().all(Option::is_some));
        fs::write(dir.path().join("b.options"), "another").unwrap();
        fs::remove_file(dir.path().join("a.options")).unwrap();
        let later = experiment.referenced_files();
        let differ = |name: &str| found[&dir.path().join(name)] != later[&dir.path().join(name)];
        assert_eq!(names.map(differ), [true, true, false, false]);
    }
}
