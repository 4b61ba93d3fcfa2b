//! Experiments that shrink to fit a small disk.

use std::fs;
use std::path::Path;

use manometer_measure::ByteSize;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::host::environment;
use serde::{Deserialize, Serialize};

use crate::file::Experiment;

/// The share of the space at hand that an experiment may fill.
const SHARE: f64 = 0.5;

/// By how much experiments shrink, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// What records and file sizes are multiplied by.
    pub factor: f64,
    /// The space at hand when that was decided.
    pub at_hand_bytes: u64,
}

impl Fit {
    /// By how much `runs` shrink, all by the same share, so that none takes more than half of the space at hand: what
    /// is free, and what their own data of an earlier time takes. Nothing where they fit.
    pub fn of<'a>(runs: impl Iterator<Item = &'a Experiment>) -> Option<Self> {
        let largest = runs.max_by_key(|run| run.bytes_to_prepare())?;
        let at_hand_bytes = environment::free_bytes(&largest.directory)? + bytes_of_workloads(largest);
        let factor = at_hand_bytes as f64 * SHARE / largest.bytes_to_prepare().0 as f64;
        (factor < 1.0).then_some(Self { factor, at_hand_bytes })
    }
}

/// The experiment shrunk by `fit`; one that must not shrink stays as it is.
pub fn fitted(run: Experiment, fit: Option<&Fit>) -> Experiment {
    match fit {
        Some(Fit { factor, at_hand_bytes }) if run.fit => shrunk(run, *factor, *at_hand_bytes),
        _ => run,
    }
}

fn shrunk(run: Experiment, factor: f64, at_hand_bytes: u64) -> Experiment {
    let wanted = run.bytes_to_prepare();
    let mut run = run.shrunk(factor);
    let text = format!(
        "The disk has {:.0} MiB to offer, and the experiment wants {:.0} MiB: records and file sizes are {:.0} % of what \
         the file says, {:.0} MiB in all.",
        ByteSize(at_hand_bytes).mib(),
        wanted.mib(),
        factor * 100.0,
        run.bytes_to_prepare().mib(),
    );
    run.shrunk = Some(Finding { id: "scaled-down".to_owned(), severity: Severity::Warning, phase: None, text });
    run
}

/// The bytes below the folders of the experiment's own workloads.
fn bytes_of_workloads(experiment: &Experiment) -> u64 {
    experiment.workloads().map(|workload| bytes_below(&experiment.directory.join(&workload.name))).sum()
}

fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use manometer_workload::settings::WorkloadSettings;

    use super::*;

    fn experiment(fit: bool, size: &str) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\nfit = {fit}\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"{size}\"\ninstances = 2\n[plan]\nphase = \"1s\"\n"
        );
        fs::write(&path, text).unwrap();
        crate::file::load(&path, &[]).unwrap()
    }

    fn fit(run: Experiment) -> Experiment {
        let by = Fit::of([&run].into_iter());
        fitted(run, by.as_ref())
    }

    #[test]
    fn what_does_not_fit_shrinks_and_its_own_file_says_so_too() {
        let fitted = fit(experiment(true, "900TiB"));
        let free = environment::free_bytes(Path::new("/var/tmp")).unwrap();
        assert!(fitted.bytes_to_prepare().0 <= free);
        assert!(fitted.shrunk.as_ref().unwrap().text.contains("of what the file says"));
        let WorkloadSettings::Io(io) = &fitted.neighbours[0].workload.settings else { panic!() };
        assert_eq!(fitted.resolved["neighbour"][0]["file_size"], serde_json::json!(io.file_size));
    }

    #[test]
    fn what_fits_or_must_not_shrink_stays() {
        for (may, size) in [(true, "64KiB"), (false, "900TiB")] {
            assert_eq!(fit(experiment(may, size)), experiment(may, size));
        }
    }
}
