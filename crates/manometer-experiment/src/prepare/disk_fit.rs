//! How far experiments shrink to fit a small disk.
//!
//! The factor is decided once for all runs of a command in one device directory and kept in its ledger: data prepared
//! now must serve a later run, and free space is never the same twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use manometer_measure::host::mount;

use super::ledger::{Ledger, LedgerEntries, LedgerEntry, LedgerError};
use super::snapshot::snapshots;
use super::space::allocated_bytes;
use crate::definition::{DiskFit, Experiment, decimal_exponent};

/// The share of the available space that an experiment may fill.
const MAX_SHARE: f64 = 0.5;

/// An earlier factor is kept while the data take a share of the available space in this range.
const KEPT_SHARES: std::ops::RangeInclusive<f64> = 0.25..=0.75;

/// How far experiments shrink, by absolute device directory.
pub type DiskFits = BTreeMap<PathBuf, DiskFit>;

/// How far `runs` shrink, where they may: all runs in one device directory by the same factor, so that the largest takes
/// at most half of the space available there.
pub fn disk_fits<'a>(runs: impl IntoIterator<Item = &'a Experiment>) -> DiskFits {
    let mut directories: BTreeMap<PathBuf, Vec<&Experiment>> = BTreeMap::new();
    for run in runs.into_iter().filter(|run| run.scales_to_disk()) {
        directories.entry(absolute_directory(run)).or_default().push(run);
    }
    let fit = |(directory, runs): (PathBuf, Vec<&Experiment>)| {
        let fit = fit_in(&directory, &runs)?;
        Some((directory, fit))
    };
    directories.into_iter().filter_map(fit).collect()
}

fn absolute_directory(run: &Experiment) -> PathBuf {
    std::path::absolute(&run.directory).unwrap_or_else(|_| run.directory.clone())
}

/// How far `run` shrinks, with factor 1 where it fits; nothing where it must not shrink.
pub fn fit_of(run: &Experiment, fits: &DiskFits) -> Option<DiskFit> {
    fits.get(&absolute_directory(run)).copied().filter(|_| run.scales_to_disk())
}

/// How far `runs` in `directory` shrink: as the ledger says while that is still about right, else as decided now.
fn fit_in(directory: &Path, runs: &[&Experiment]) -> Option<DiskFit> {
    let demands: Vec<SpaceDemand> = runs.iter().map(|run| SpaceDemand::of(run)).collect();
    let required_bytes = demands.iter().map(|demand| demand.bytes).max()?;
    let names = runs.iter().flat_map(|run| run.workloads()).map(|workload| workload.name.as_str()).collect();
    // An array is not there yet, and has no data.
    let arrays = runs.iter().filter_map(|run| run.array.as_ref()?.size_bytes());
    let available_bytes = match arrays.min() {
        Some(bytes) => bytes,
        None => mount::free_bytes(directory)? + allocated_by_workloads(directory, &names),
    };
    // A damaged ledger is reported when the run opens it.
    let known = LedgerEntries::read(directory).ok().and_then(|entries| entries.disk_fit(required_bytes));
    let known = known.filter(|known| is_still_right(known, &demands, available_bytes));
    known.or_else(|| smallest_fit(&demands, available_bytes))
}

/// The factor by which all of `demands` have to shrink so that none takes more than its share of `available_bytes`;
/// nothing where no factor is small enough.
fn smallest_fit(demands: &[SpaceDemand], available_bytes: u64) -> Option<DiskFit> {
    let factor = demands.iter().map(|demand| demand.factor(available_bytes as f64 * MAX_SHARE)).fold(1.0, f64::min);
    let required_bytes = demands.iter().map(|demand| demand.bytes).max().filter(|bytes| *bytes > 0)?;
    let factor = if factor > 0.0 && factor < 1.0 { rounded_down(factor) } else { factor };
    (factor > 0.0).then_some(DiskFit { factor, available_bytes, required_bytes })
}

fn is_still_right(fit: &DiskFit, demands: &[SpaceDemand], available_bytes: u64) -> bool {
    let taken = demands.iter().map(|demand| demand.shrunk_bytes(fit.factor)).fold(0.0, f64::max);
    KEPT_SHARES.contains(&(taken / available_bytes as f64))
}

/// The space that an experiment's data take before they shrink.
#[derive(Debug, Clone, Copy)]
struct SpaceDemand {
    bytes: u64,
    /// The part that does not shrink.
    fixed_bytes: u64,
}

impl SpaceDemand {
    fn of(run: &Experiment) -> Self {
        Self { bytes: run.bytes_to_prepare().0, fixed_bytes: run.fixed_bytes() }
    }

    fn shrunk_bytes(&self, factor: f64) -> f64 {
        self.fixed_bytes as f64 + factor * self.bytes.saturating_sub(self.fixed_bytes) as f64
    }

    /// The factor with which the data take `limit_bytes`.
    fn factor(&self, limit_bytes: f64) -> f64 {
        match self.bytes.saturating_sub(self.fixed_bytes) {
            0 => 1.0,
            shrinkable => (limit_bytes - self.fixed_bytes as f64) / shrinkable as f64,
        }
    }
}

/// A number between 0 and 1, rounded down to two significant digits.
fn rounded_down(factor: f64) -> f64 {
    let scale = 10_f64.powi(1 - decimal_exponent(factor));
    (factor * scale).floor() / scale
}

/// Records in the ledger of its directory how far `run` is shrunk, where it may shrink.
///
/// # Errors
/// The ledger cannot be written.
pub(crate) fn record_fit(run: &Experiment, ledger: &mut Ledger) -> Result<(), LedgerError> {
    match run.disk_fit.filter(|fit| ledger.entries().disk_fit(fit.required_bytes) != Some(*fit)) {
        Some(fit) => ledger.append(&format!("fit-{}", fit.required_bytes), LedgerEntry::Fit(fit)),
        None => Ok(()),
    }
}

/// The space allocated to the data of the workloads `names` and to their snapshots.
fn allocated_by_workloads(directory: &Path, names: &BTreeSet<&str>) -> u64 {
    let snapshots = snapshots(directory).into_iter();
    let snapshots = snapshots.filter(|one| names.contains(one.data.workload.as_str())).map(|one| one.path);
    let live = names.iter().map(|name| directory.join(name));
    // A file shared by a database and its snapshot counts once.
    let mut seen = BTreeSet::new();
    let mut is_first = |file: &Metadata| seen.insert((file.dev(), file.ino()));
    live.chain(snapshots).map(|folder| allocated_bytes(&folder, &mut is_first)).sum()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use manometer_workload::settings::WorkloadSettings;

    use super::*;

    fn experiment(directory: &str, fit: bool, size: &str) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"{directory}\"\nfit = {fit}\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"{size}\"\ninstances = 2\n[plan]\nphase = \"1s\"\n"
        );
        fs::write(&path, text).unwrap();
        crate::file::load(&path, &[]).unwrap()
    }

    const NONE: &str = "/var/tmp/manometer-none";

    fn fit(run: Experiment) -> Experiment {
        let by = fit_of(&run, &disk_fits([&run]));
        run.fitted(by)
    }

    #[test]
    fn an_experiment_too_large_shrinks_with_its_resolved_file() {
        let fitted = fit(experiment(NONE, true, "900TiB"));
        let free = mount::free_bytes(Path::new("/var/tmp")).unwrap();
        assert!(fitted.bytes_to_prepare().0 <= free);
        assert!(fitted.findings[0].text.contains("of those in the file"));
        let WorkloadSettings::Io(io) = &fitted.neighbours[0].workload.settings else { panic!() };
        assert_eq!(fitted.resolved["neighbour"][0]["file_size"], serde_json::json!(io.file_size));
    }

    #[test]
    fn an_experiment_that_fits_or_must_not_shrink_keeps_its_size() {
        for (may, size, factor) in [(true, "64KiB", Some(1.0)), (false, "900TiB", None)] {
            let (fitted, original) = (fit(experiment(NONE, may, size)), experiment(NONE, may, size));
            assert_eq!(fitted.disk_fit.map(|fit| fit.factor), factor);
            assert_eq!(Experiment { disk_fit: None, ..fitted }, original);
        }
    }

    #[test]
    fn a_recorded_fit_is_kept_while_available_space_changes_little() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut run = experiment(dir.path().to_str().unwrap(), true, "64KiB");
        let (free, required_bytes) = (mount::free_bytes(dir.path()).unwrap(), 128 << 10);
        run.disk_fit = Some(DiskFit { factor: 1.0, available_bytes: free, required_bytes });
        let mut ledger = Ledger::in_folder(dir.path());
        record_fit(&run, &mut ledger).unwrap();
        let known = ledger.entries().disk_fit(required_bytes).unwrap();
        let demands = [SpaceDemand { bytes: required_bytes, fixed_bytes: 0 }];
        assert!(is_still_right(&known, &demands, 2 * required_bytes - 4096), "a little over half of the space");
        assert!(!is_still_right(&known, &demands, required_bytes), "more than three quarters");
        assert_eq!(ledger.entries().disk_fit(required_bytes + 1), None, "of another experiment");
    }

    #[test]
    fn fixed_experiments_and_other_directories_do_not_affect_the_fit() {
        let small = experiment(NONE, true, "64KiB");
        let (fixed, elsewhere) =
            (experiment(NONE, false, "900TiB"), experiment("/var/tmp/manometer-no", true, "900TiB"));
        let all = disk_fits([&small, &fixed, &elsewhere]);
        let factors = [&small, &fixed].map(|run| fit_of(run, &all).map(|fit| fit.factor));
        assert_eq!(factors, [Some(1.0), None]);
        assert!(fit_of(&elsewhere, &all).is_some());
    }

    #[test]
    fn a_recorded_fit_is_replaced_once_it_is_far_off() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let run = experiment(dir.path().to_str().unwrap(), true, "900TiB");
        let first = fit(run.clone());
        let other = DiskFit { factor: rounded_down(first.disk_fit.unwrap().factor * 0.9), ..first.disk_fit.unwrap() };
        record_fit(&run.clone().fitted(Some(other)), &mut Ledger::in_folder(dir.path())).unwrap();
        assert_eq!(fit(run.clone()).disk_fit, Some(other), "though it would be decided differently now");
        let tiny = DiskFit { factor: rounded_down(other.factor / 10.0), ..other };
        record_fit(&run.clone().fitted(Some(tiny)), &mut Ledger::in_folder(dir.path())).unwrap();
        assert!(fit(run).disk_fit.unwrap().factor > tiny.factor, "much more space is available");
    }

    #[test]
    fn only_the_shrinkable_part_of_the_data_shrinks() {
        let demand = |bytes, fixed_bytes| SpaceDemand { bytes, fixed_bytes };
        let factor = |demands: &[SpaceDemand]| smallest_fit(demands, 1000).map(|fit| fit.factor);
        assert_eq!(factor(&[demand(1100, 100)]), Some(0.4));
        assert_eq!(factor(&[demand(1100, 100), demand(2000, 0)]), Some(0.25));
        assert_eq!(factor(&[demand(400, 100)]), Some(1.0));
        assert_eq!(factor(&[demand(2000, 2000)]), Some(1.0), "nothing can shrink");
        assert_eq!(factor(&[demand(2000, 600)]), None, "the fixed part alone exceeds the share");
        assert_eq!(factor(&[demand(0, 0)]), None);
    }

    #[test]
    fn a_personality_without_an_explicit_size_scales_to_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let of = |settings: &str| {
            let text = format!(
                "name = \"a test\"\n[device]\ndirectory = \"{NONE}\"\n[primary]\nkind = \"files\"\n{settings}\n[plan]\nphase = \"1s\"\n"
            );
            fs::write(&path, text).unwrap();
            crate::file::load(&path, &[]).unwrap()
        };
        let mean = "mean_file_size = \"1GiB\"";
        let scaled = fit(of(&format!("personality = \"varmail\"\n{mean}")));
        let files = scaled.primary.as_ref().unwrap().settings.get("files").as_u64().unwrap();
        assert!(files < 4_000_000, "{files}");
        assert_eq!(scaled.resolved["primary"]["files"], files);
        assert!(scaled.findings[0].text.contains("of their workload's default"), "{}", scaled.findings[0].text);
        let explicit = of(&format!("personality = \"varmail\"\nfiles = 4_000_000\n{mean}"));
        assert_eq!(fit(explicit.clone()), explicit);
        let explicit = of("personality = \"oltp\"\nmean_file_size = \"1TiB\"");
        assert_eq!(fit(explicit.clone()), explicit);
    }

    #[test]
    fn files_shared_with_a_snapshot_count_once() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (live, other) = (dir.path().join("n1/db"), dir.path().join("else"));
        for folder in [&live, &other] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("1.sst"), vec![1; 1 << 20]).unwrap();
        }
        fs::hard_link(live.join("1.sst"), live.join("2.sst")).unwrap();
        let bytes = allocated_by_workloads(dir.path(), &BTreeSet::from(["n1", "n2"]));
        assert!((1 << 20..2 << 20).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_factor_is_rounded_down_to_two_digits() {
        for (factor, rounded) in [(0.2799, 0.27), (0.001_234, 0.0012), (0.0999, 0.099)] {
            assert_eq!(rounded_down(factor), rounded);
        }
        let demand = |bytes| [SpaceDemand { bytes, fixed_bytes: 0 }];
        assert_eq!(smallest_fit(&demand(100), 300).map(|fit| fit.factor), Some(1.0));
        assert_eq!(smallest_fit(&demand(0), 300), None);
        assert_eq!(smallest_fit(&demand(100), 150).map(|fit| fit.factor), Some(0.75));
    }
}
