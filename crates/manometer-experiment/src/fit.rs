//! Experiments that shrink to fit a small disk.
//!
//! By how much is decided once for all runs of a command in one device directory, and kept in its ledger: what is
//! prepared now must be what a run finds later, though free space is never the same twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::host::environment;
use serde::{Deserialize, Serialize};

use crate::file::Experiment;
use crate::prepare::allocated_bytes;
use crate::prepare::ledger::{Book, Entry, Ledger, LedgerError};
use crate::prepare::snapshot::snapshots;

/// The share of the space at hand that an experiment may fill.
const SHARE: f64 = 0.5;

/// A size that was decided before stays while it takes no less and no more of the space at hand.
const STAYS: std::ops::RangeInclusive<f64> = 0.25..=0.75;

/// By how much the experiments of one device directory shrink, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// What records and file sizes are multiplied by.
    pub factor: f64,
    /// The space at hand when that was decided.
    pub at_hand_bytes: u64,
    /// What the largest of them wanted.
    pub wanted_bytes: u64,
}

/// By how much experiments shrink, by device directory (absolute): 1 where they fit.
pub type Fits = BTreeMap<PathBuf, Fit>;

/// By how much `runs` shrink, where they may: all in one device directory by the same share, so that none takes more
/// than half of the space at hand there.
pub fn fits<'a>(runs: impl IntoIterator<Item = &'a Experiment>) -> Fits {
    let mut directories: BTreeMap<PathBuf, Vec<&Experiment>> = BTreeMap::new();
    for run in runs.into_iter().filter(|run| run.fit) {
        directories.entry(directory_of(run)).or_default().push(run);
    }
    let fit = |(directory, runs): (PathBuf, Vec<&Experiment>)| {
        let fit = Fit::of(&directory, &runs)?;
        Some((directory, fit))
    };
    directories.into_iter().filter_map(fit).collect()
}

fn directory_of(run: &Experiment) -> PathBuf {
    std::path::absolute(&run.directory).unwrap_or_else(|_| run.directory.clone())
}

/// By how much `run` is to shrink, 1 where it fits; nothing where it must not.
pub fn fit_of(run: &Experiment, fits: &Fits) -> Option<Fit> {
    fits.get(&directory_of(run)).copied().filter(|_| run.fit)
}

impl Fit {
    fn of(directory: &Path, runs: &[&Experiment]) -> Option<Self> {
        let wanted_bytes = runs.iter().map(|run| run.bytes_to_prepare().0).max()?;
        let names = runs.iter().flat_map(|run| run.workloads()).map(|workload| workload.name.as_str()).collect();
        let at_hand_bytes = environment::free_bytes(directory)? + bytes_of_workloads(directory, &names);
        // A damaged ledger is told when the run opens it.
        let known = Book::read(directory).ok().and_then(|book| book.fit(wanted_bytes));
        let known = known.filter(|known| known.stays(at_hand_bytes));
        known.or_else(|| Self::new(wanted_bytes, at_hand_bytes))
    }

    /// By how much `wanted_bytes` have to shrink to take no more than their share of `at_hand_bytes`; nothing where that
    /// is none.
    fn new(wanted_bytes: u64, at_hand_bytes: u64) -> Option<Self> {
        let factor = at_hand_bytes as f64 * SHARE / wanted_bytes as f64;
        let factor = if factor < 1.0 { rounded_down(factor) } else { 1.0 };
        (wanted_bytes > 0 && factor > 0.0).then_some(Self { factor, at_hand_bytes, wanted_bytes })
    }

    fn stays(&self, at_hand_bytes: u64) -> bool {
        STAYS.contains(&(self.factor * self.wanted_bytes as f64 / at_hand_bytes as f64))
    }

    /// The factor in words: `27 %`.
    fn text(&self) -> String {
        let digits = (-1 - decimal_exponent(self.factor)).max(0) as usize;
        format!("{:.digits$} %", 100.0 * self.factor)
    }
}

/// Two digits of a number between 0 and 1.
fn rounded_down(factor: f64) -> f64 {
    let scale = 10_f64.powi(1 - decimal_exponent(factor));
    (factor * scale).floor() / scale
}

/// The power of ten at which a number above 0 begins: -1 for 0.27.
fn decimal_exponent(number: f64) -> i32 {
    number.log10().floor() as i32
}

/// The experiment shrunk by `fit`.
pub fn fitted(run: Experiment, fit: Option<Fit>) -> Experiment {
    let Some(fit) = fit else { return run };
    if fit.factor == 1.0 {
        return Experiment { shrunk_by: Some(fit), ..run };
    }
    let wanted = run.bytes_to_prepare();
    let mut run = run.shrunk(fit.factor);
    let text = format!(
        "The disk has {:.0} MiB to offer, and the experiment wants {:.0} MiB: records and file sizes are {} of what \
         the file says, {:.0} MiB in all.",
        ByteSize(fit.at_hand_bytes).mib(),
        wanted.mib(),
        fit.text(),
        run.bytes_to_prepare().mib(),
    );
    run.known.push(Finding { id: "scaled-down".to_owned(), severity: Severity::Warning, phase: None, text });
    run.shrunk_by = Some(fit);
    run
}

/// Writes down in the ledger of its directory by how much `run` is shrunk, where it may be.
///
/// # Errors
/// The ledger cannot be written.
pub(crate) fn remember(run: &Experiment, ledger: &mut Ledger) -> Result<(), LedgerError> {
    match run.shrunk_by.filter(|fit| ledger.book().fit(fit.wanted_bytes) != Some(*fit)) {
        Some(fit) => ledger.append(&format!("fit-{}", fit.wanted_bytes), Entry::Fit(fit)),
        None => Ok(()),
    }
}

/// What the data of the workloads `names` take by now, their snapshots included.
fn bytes_of_workloads(directory: &Path, names: &BTreeSet<&str>) -> u64 {
    let kept = snapshots(directory).into_iter();
    let kept = kept.filter(|one| names.contains(one.prepared.workload.as_str())).map(|one| one.path);
    let live = names.iter().map(|name| directory.join(name));
    // A file that a database and its snapshot share is there once.
    let mut seen = BTreeSet::new();
    let mut once = |file: &Metadata| seen.insert((file.dev(), file.ino()));
    live.chain(kept).map(|folder| allocated_bytes(&folder, &mut once)).sum()
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
        let by = fit_of(&run, &fits([&run]));
        fitted(run, by)
    }

    #[test]
    fn what_does_not_fit_shrinks_and_its_own_file_says_so_too() {
        let fitted = fit(experiment(NONE, true, "900TiB"));
        let free = environment::free_bytes(Path::new("/var/tmp")).unwrap();
        assert!(fitted.bytes_to_prepare().0 <= free);
        assert!(fitted.known[0].text.contains("of what the file says"));
        let WorkloadSettings::Io(io) = &fitted.neighbours[0].workload.settings else { panic!() };
        assert_eq!(fitted.resolved["neighbour"][0]["file_size"], serde_json::json!(io.file_size));
    }

    #[test]
    fn what_fits_or_must_not_shrink_stays() {
        for (may, size, factor) in [(true, "64KiB", Some(1.0)), (false, "900TiB", None)] {
            let (fitted, asked) = (fit(experiment(NONE, may, size)), experiment(NONE, may, size));
            assert_eq!(fitted.shrunk_by.map(|fit| fit.factor), factor);
            assert_eq!(Experiment { shrunk_by: None, ..fitted }, asked);
        }
    }

    #[test]
    fn what_just_fitted_is_not_shrunk_when_others_take_a_little_space() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut run = experiment(dir.path().to_str().unwrap(), true, "64KiB");
        let (free, wanted_bytes) = (environment::free_bytes(dir.path()).unwrap(), 128 << 10);
        run.shrunk_by = Some(Fit { factor: 1.0, at_hand_bytes: free, wanted_bytes });
        let mut ledger = Ledger::open(dir.path()).unwrap();
        remember(&run, &mut ledger).unwrap();
        let known = ledger.book().fit(wanted_bytes).unwrap();
        assert!(known.stays(2 * wanted_bytes - 4096), "a little over half of the space");
        assert!(!known.stays(wanted_bytes), "more than three quarters");
        assert_eq!(ledger.book().fit(wanted_bytes + 1), None, "another experiment's");
    }

    #[test]
    fn one_that_must_not_shrink_or_lies_elsewhere_shrinks_no_other() {
        let small = experiment(NONE, true, "64KiB");
        let (fixed, elsewhere) =
            (experiment(NONE, false, "900TiB"), experiment("/var/tmp/manometer-no", true, "900TiB"));
        let all = fits([&small, &fixed, &elsewhere]);
        let factors = [&small, &fixed].map(|run| fit_of(run, &all).map(|fit| fit.factor));
        assert_eq!(factors, [Some(1.0), None]);
        assert!(fit_of(&elsewhere, &all).is_some());
    }

    #[test]
    fn a_size_that_was_decided_stays_while_it_is_about_right() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let run = experiment(dir.path().to_str().unwrap(), true, "900TiB");
        let first = fit(run.clone());
        let other = Fit { factor: rounded_down(first.shrunk_by.unwrap().factor * 0.9), ..first.shrunk_by.unwrap() };
        remember(&fitted(run.clone(), Some(other)), &mut Ledger::open(dir.path()).unwrap()).unwrap();
        assert_eq!(fit(run.clone()).shrunk_by, Some(other), "though it would be decided otherwise now");
        let tiny = Fit { factor: rounded_down(other.factor / 10.0), ..other };
        remember(&fitted(run.clone(), Some(tiny)), &mut Ledger::open(dir.path()).unwrap()).unwrap();
        assert!(fit(run).shrunk_by.unwrap().factor > tiny.factor, "the disk has much more to offer by now");
    }

    #[test]
    fn data_and_their_snapshots_are_at_hand_and_shared_files_once() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (live, other) = (dir.path().join("n1/db"), dir.path().join("else"));
        for folder in [&live, &other] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("1.sst"), vec![1; 1 << 20]).unwrap();
        }
        fs::hard_link(live.join("1.sst"), live.join("2.sst")).unwrap();
        let bytes = bytes_of_workloads(dir.path(), &BTreeSet::from(["n1", "n2"]));
        assert!((1 << 20..2 << 20).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_factor_has_two_digits_and_is_told_with_them() {
        for (factor, rounded, text) in [(0.2799, 0.27, "27 %"), (0.001_234, 0.0012, "0.12 %"), (0.0999, 0.099, "9.9 %")]
        {
            assert_eq!(rounded_down(factor), rounded);
            let fit = Fit { factor: rounded, at_hand_bytes: 0, wanted_bytes: 0 };
            assert_eq!(fit.text(), text);
        }
        assert_eq!(Fit::new(100, 300).map(|fit| fit.factor), Some(1.0));
        assert_eq!(Fit::new(0, 300), None);
        assert_eq!(Fit::new(100, 150).map(|fit| fit.factor), Some(0.75));
    }
}
