//! The experiments that come with Manometer, inside the program: `manometer run quick` works anywhere.

/// An experiment file of `experiments/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedExperiment {
    /// Its name: that of its file without `.toml`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Declares the list of [`EXPERIMENTS`] from the names of their files.
macro_rules! experiments {
    ($($name:literal)+) => {
        /// All of them, in the order of their names.
        pub const EXPERIMENTS: &[ShippedExperiment] = &[$(ShippedExperiment {
            name: $name,
            text: include_str!(concat!("../experiments/", $name, ".toml")),
        }),+];
    };
}

experiments! {
    "backup" "db_bench" "db_bench-primary" "file-server" "fio-neighbour" "icpe2021" "isolation" "lsm-tuning" "macro-workloads" "metadata-storm"
    "open-loop" "prepared" "quick" "random-vs-sequential" "real-vs-synthetic" "real-vs-synthetic-simulated" "recycle"
    "rlsm-curves" "rlsm-curves-rocksdb" "rlsm-pressure" "rlsm-pressure-rocksdb" "schedulers" "thesis"
}

/// The files of options that they name.
const OPTIONS: [(&str, &str); 1] = [("rocksdb-thesis.options", include_str!("../experiments/rocksdb-thesis.options"))];

impl ShippedExperiment {
    /// What it is about: its first comment, in a line.
    pub fn about(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix("# "));
        comment.collect::<Vec<_>>().join(" ")
    }
}

/// The experiment called `name`, which may end in `.toml`.
pub fn find(name: &str) -> Option<&'static ShippedExperiment> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// The options of RocksDB in the shipped file called `name`, by their names.
pub(crate) fn options(name: &str) -> Option<impl Iterator<Item = (&'static str, &'static str)>> {
    let (_, text) = OPTIONS.iter().find(|(file, _)| *file == name)?;
    let own = text.lines().skip_while(|line| *line != "[DBOptions]");
    Some(own.filter_map(|line| line.trim().split_once('=')))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use manometer_testing::repository_file;

    use super::*;

    #[test]
    fn every_file_is_shipped_and_says_what_it_is_about() {
        let files = std::fs::read_dir(repository_file("experiments")).unwrap();
        let files: BTreeSet<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let shipped = EXPERIMENTS.iter().map(|one| format!("{}.toml", one.name));
        let shipped: BTreeSet<String> = shipped.chain(OPTIONS.map(|(name, _)| name.to_owned())).collect();
        assert_eq!(shipped, files);
        assert!(EXPERIMENTS.is_sorted_by_key(|experiment| experiment.name));
        for experiment in EXPERIMENTS {
            assert!(experiment.about().len() > 30, "{}", experiment.name);
        }
    }
}
