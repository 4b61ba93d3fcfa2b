//! An experiment that shrinks to fit a small disk.

use manometer_measure::ByteSize;
use manometer_measure::event::{Finding, Severity};

use crate::file::Experiment;

/// The share of the free space that an experiment may fill.
const SHARE: f64 = 0.5;

/// The experiment with its data shrunk so that it takes at most half of `free_bytes`, and a finding
/// that says so; the experiment as it is where it fits or must not shrink.
pub(super) fn fit(experiment: &Experiment, free_bytes: Option<u64>) -> (Experiment, Option<Finding>) {
    let needed = experiment.bytes_to_prepare().0 as f64;
    let factor = free_bytes.map_or(1.0, |free| free as f64 * SHARE / needed);
    if !experiment.fit || factor >= 1.0 || needed == 0.0 {
        return (experiment.clone(), None);
    }
    let mut fitted = experiment.clone();
    let neighbours = fitted.neighbours.iter_mut().map(|one| &mut one.workload);
    for workload in fitted.primary.iter_mut().chain(neighbours) {
        workload.settings = workload.settings.shrunk(factor);
    }
    let text = format!(
        "the disk has {:.0} MiB free, and the experiment wants {:.0} MiB: records and file sizes are {:.0} % of what the file says, {:.0} MiB in all",
        ByteSize(free_bytes.unwrap_or(0)).mib(),
        experiment.bytes_to_prepare().mib(),
        factor * 100.0,
        fitted.bytes_to_prepare().mib(),
    );
    let finding = Finding { id: "scaled-down".to_owned(), severity: Severity::Warning, phase: None, text };
    (fitted, Some(finding))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn experiment(fit: bool) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"data\"\nfit = {fit}\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"64MiB\"\ninstances = 2\n[plan]\nphase = \"1s\"\n"
        );
        fs::write(&path, text).unwrap();
        crate::file::load(&path, &[]).unwrap()
    }

    #[test]
    fn what_does_not_fit_shrinks_to_half_of_the_free_space_and_says_so() {
        let (fitted, finding) = fit(&experiment(true), Some(64 << 20));
        assert_eq!(fitted.bytes_to_prepare().0, 32 << 20);
        assert!(finding.unwrap().text.contains("25 %"));
    }

    #[test]
    fn what_fits_or_must_not_shrink_stays() {
        for (may, free_bytes) in [(true, Some(1 << 30)), (true, None), (false, Some(1 << 20))] {
            let (fitted, finding) = fit(&experiment(may), free_bytes);
            assert_eq!((fitted, finding), (experiment(may), None));
        }
    }
}
