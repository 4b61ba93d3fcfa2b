//! The files that an experiment names: what they say is a part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rapidhash::v3::rapidhash_v3;

use super::experiment::{Experiment, Workload};

/// What files said, by their path: rapidhash V3 of their bytes, nothing where one cannot be read.
pub type Referenced = BTreeMap<PathBuf, Option<String>>;

impl Experiment {
    /// What the files say that any of its runs and phases names: options, properties, tables of rates, what a
    /// command reads. What it extends is a part of the resolved whole already.
    pub fn referenced(&self) -> Referenced {
        let mut paths = BTreeSet::new();
        let changing: Vec<&Workload> = self.changing().collect();
        changing.iter().for_each(|workload| paths.extend(workload.settings.files_named()));
        let rungs = self.vary.iter().flat_map(|rung| {
            rung.targets
                .iter()
                .flat_map(|(workload, setting)| rung.values.iter().map(move |value| (*workload, setting, value)))
        });
        let steps = self.steps.iter().flat_map(|step| &step.changes);
        let changes = rungs.chain(steps.map(|change| (change.workload, &change.setting, &change.value)));
        let swept = self.sweep.iter().flat_map(|(key, values)| {
            let (name, setting) = key.split_once('.').unwrap_or((key, ""));
            let own = self.tables().filter(move |(table, _)| *table == name).map(|(_, workload)| workload);
            own.flat_map(move |workload| values.iter().map(move |value| (workload, setting, value)))
        });
        let changes = changes.map(|(workload, setting, value)| (changing[workload], setting.as_str(), value));
        for (workload, setting, value) in changes.chain(swept) {
            if let Ok(changed) = workload.with(setting, value) {
                paths.extend(changed.settings.files_named());
            }
        }
        paths.into_iter().map(|path| (path.clone(), hash_of(&path))).collect()
    }

    /// Every workload with the name of the table that it was written in.
    fn tables(&self) -> impl Iterator<Item = (&str, &Workload)> {
        let neighbours = self.neighbours.iter().map(|one| (one.table.as_str(), &one.workload));
        self.primary.iter().map(|primary| (primary.name.as_str(), primary)).chain(neighbours)
    }
}

fn hash_of(path: &Path) -> Option<String> {
    Some(format!("{:016x}", rapidhash_v3(&fs::read(path).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_a_run_or_a_phase_names_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a.options", "b.options", "own.properties", "rates.csv"];
        let options = include_str!("../../../../experiments/rocksdb-thesis.options");
        for (name, text) in names.into_iter().zip([options, options, "readproportion=1.0\n", "t_s,ops\n0,5\n"]) {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let text = "name = \"a test\"\n[device]\ndirectory = \"data\"\n[primary]\noptions = \"a.options\"\n\
             workload = \"own.properties\"\nrecords = 10\nrate = \"csv:rates.csv#ops\"\n\
             [plan]\nphase = \"1s\"\n[sweep]\n\"primary.options\" = [\"a.options\", \"b.options\"]\n";
        let path = dir.path().join("e.toml");
        fs::write(&path, text).unwrap();
        let experiment = crate::file::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let found = experiment.referenced();
        let told: Vec<&str> = found.keys().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(told, names);
        assert!(found.values().all(Option::is_some));
        fs::write(dir.path().join("b.options"), "another").unwrap();
        fs::remove_file(dir.path().join("a.options")).unwrap();
        let later = experiment.referenced();
        let differ = |name: &str| found[&dir.path().join(name)] != later[&dir.path().join(name)];
        assert_eq!(names.map(differ), [true, true, false, false]);
    }
}
