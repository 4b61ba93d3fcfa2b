//! The host: its devices and file systems, and the observers that sample it on every tick of a run.

pub mod block_device;
mod cache_counters;
mod disks;
pub mod environment;
mod kernel_file;
pub mod layers;
mod listeners;
pub mod mount;
mod nvme_controllers;
pub mod observer;
pub mod observers;
pub(crate) mod process_io;
mod rates;
pub mod virtual_disk;

use std::path::Path;

pub use block_device::{BlockDevice, device_of};
pub use cache_counters::CacheCounters;
pub use layers::{Layer, LayerKind, layers_of};
pub use nvme_controllers::nvme_controllers;
pub use observer::{Observer, ObserverKind, PhaseBoundary, Subject};
pub use observers::OBSERVERS;
pub use observers::health::{LEAST_STEPS, utilisation_bytes};

use crate::clock::WallAnchor;
use crate::series::SeriesDescription;

/// The observers of this host: processors, memory, foreign processes, the file system of `directory` and the devices
/// below it.
pub fn host_observers(directory: &Path) -> Vec<Box<dyn Observer>> {
    let layers = device_of(directory).map(|device| layers_of(&device)).unwrap_or_default();
    create(&Subject::Host { directory, layers: &layers })
}

/// The observers of the process `pid`, which runs `workload` in `directory`.
pub fn worker_observers(workload: &str, pid: u32, directory: &Path) -> Vec<Box<dyn Observer>> {
    create(&Subject::Worker { workload, pid, device: device_of(directory).as_ref() })
}

/// The observers of this process as the conductor of a recording that began at `start`.
pub fn conductor_observers(interval_ns: u64, start: WallAnchor) -> Vec<Box<dyn Observer>> {
    create(&Subject::Conductor { interval_ns, start })
}

fn create(subject: &Subject<'_>) -> Vec<Box<dyn Observer>> {
    OBSERVERS.iter().flat_map(|kind| (kind.create)(subject)).collect()
}

/// The series of all observers, for the manual.
pub fn series() -> Vec<SeriesDescription> {
    OBSERVERS.iter().map(|kind| SeriesDescription::new(kind.series, kind.description, (kind.columns)())).collect()
}

/// The names that no workload may have: those of the observers' series, today's and former ones.
pub fn reserved_names() -> impl Iterator<Item = &'static str> {
    let series = OBSERVERS.iter().map(|kind| kind.series).filter(|name| !name.contains(['.', '<']));
    series.chain(crate::recording::RENAMED_SERIES.into_iter().map(|(former, _)| former))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use manometer_testing::repository_file;
    use regex::Regex;

    use super::*;
    use crate::samples::Column;

    fn all_observers() -> Vec<Box<dyn Observer>> {
        let mut all = host_observers(Path::new("."));
        all.extend(worker_observers("self", std::process::id(), Path::new(".")));
        all.extend(conductor_observers(1_000_000_000, WallAnchor::now()));
        all
    }

    /// Whether `pattern` with its `<placeholders>` can stand for `name`.
    fn covers(pattern: &str, name: &str) -> bool {
        let placeholder = Regex::new("<[^>]*>").unwrap();
        let parts: Vec<String> = placeholder.split(pattern).map(regex::escape).collect();
        Regex::new(&format!("^{}$", parts.join(".+"))).unwrap().is_match(name)
    }

    /// The file of a series: its name without placeholders.
    fn file_name(series: &str) -> String {
        let parts: Vec<&str> = series.split('.').filter(|part| !part.starts_with('<')).collect();
        parts.join("_")
    }

    #[test]
    fn every_file_of_an_observer_is_in_the_list() {
        let folder = repository_file("crates/manometer-measure/src/host/observers");
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
        let files: BTreeSet<String> = files.filter(|name| name != "mod").collect();
        let listed: BTreeSet<String> = OBSERVERS.iter().map(|kind| file_name(kind.series)).collect();
        assert_eq!(files, listed, "a file in host/observers without a line in OBSERVERS, or named unlike its series");
    }

    #[test]
    fn every_observer_describes_its_columns() {
        for kind in OBSERVERS {
            let columns = (kind.columns)();
            assert!(!columns.is_empty() && !kind.description.is_empty(), "{}", kind.series);
            for column in &columns {
                assert!(!column.meaning.is_empty() && !column.from.is_empty(), "{}: {column:?}", kind.series);
            }
        }
    }

    #[test]
    fn every_observer_fills_the_columns_that_the_list_describes() {
        for observer in &mut all_observers() {
            let series = observer.series().to_owned();
            let kind = OBSERVERS.iter().rev().find(|kind| covers(kind.series, &series)).unwrap();
            for t_ns in [1_000_000_000, 2_000_000_000] {
                let sample = observer.sample(t_ns);
                assert!(sample.is_empty() || sample.len() == observer.columns().len(), "{series}");
            }
            let columns = observer.columns();
            assert!(!columns.is_empty(), "{series}");
            let described = (kind.columns)();
            for column in &columns {
                assert!(!column.meaning.is_empty() && !column.from.is_empty(), "{series}: {column:?}");
                let matches = |one: &Column| covers(&one.name, &column.name) && one.unit == column.unit;
                assert!(described.iter().any(matches), "{series}: OBSERVERS does not describe {column:?}");
            }
            let names: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            assert_eq!(names.len(), columns.len(), "{series} has two columns of one name");
        }
    }

    #[test]
    fn names_of_series_are_reserved() {
        let reserved: BTreeSet<&str> = reserved_names().collect();
        for name in ["conductor", "cpu", "device", "foreign_processes", "others", "vmstat"] {
            assert!(reserved.contains(name), "{name}");
        }
        assert!(!reserved.contains("process.<workload>"));
    }

    #[test]
    fn a_process_that_is_gone_is_a_gap() {
        for mut observer in worker_observers("gone", u32::MAX - 1, Path::new(".")) {
            assert!(observer.sample(1).iter().all(Option::is_none));
        }
    }
}
