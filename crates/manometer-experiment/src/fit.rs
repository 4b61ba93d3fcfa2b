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
    for run in runs.into_iter().filter(|run| run.scales_to_disk()) {
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
    fits.get(&directory_of(run)).copied().filter(|_| run.scales_to_disk())
}

impl Fit {
    fn of(directory: &Path, runs: &[&Experiment]) -> Option<Self> {
        let wanted: Vec<Wanted> = runs.iter().map(|run| Wanted::of(run)).collect();
        let wanted_bytes = wanted.iter().map(|wanted| wanted.bytes).max()?;
        let names = runs.iter().flat_map(|run| run.workloads()).map(|workload| workload.name.as_str()).collect();
        let at_hand_bytes = environment::free_bytes(directory)? + bytes_of_workloads(directory, &names);
        // A damaged ledger is told when the run opens it.
        let known = Book::read(directory).ok().and_then(|book| book.fit(wanted_bytes));
        let known = known.filter(|known| known.stays(&wanted, at_hand_bytes));
        known.or_else(|| Self::new(&wanted, at_hand_bytes))
    }

    /// By how much the data of all that is `wanted` have to shrink so that none takes more than its share of
    /// `at_hand_bytes`; nothing where that is none.
    fn new(wanted: &[Wanted], at_hand_bytes: u64) -> Option<Self> {
        let factor = wanted.iter().map(|wanted| wanted.factor(at_hand_bytes as f64 * SHARE)).fold(1.0, f64::min);
        let wanted_bytes = wanted.iter().map(|wanted| wanted.bytes).max().filter(|bytes| *bytes > 0)?;
        let factor = if factor > 0.0 && factor < 1.0 { rounded_down(factor) } else { factor };
        (factor > 0.0).then_some(Self { factor, at_hand_bytes, wanted_bytes })
    }

    fn stays(&self, wanted: &[Wanted], at_hand_bytes: u64) -> bool {
        let taken = wanted.iter().map(|wanted| wanted.shrunk_bytes(self.factor)).fold(0.0, f64::max);
        STAYS.contains(&(taken / at_hand_bytes as f64))
    }

    /// The factor in words: `27 %`.
    fn text(&self) -> String {
        let digits = (-1 - decimal_exponent(self.factor)).max(0) as usize;
        format!("{:.digits$} %", 100.0 * self.factor)
    }
}

/// What an experiment wants to write.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    bytes: u64,
    /// Of these, what does not shrink.
    fixed_bytes: u64,
}

impl Wanted {
    fn of(run: &Experiment) -> Self {
        Self { bytes: run.bytes_to_prepare().0, fixed_bytes: run.fixed_bytes() }
    }

    /// What is left when that shrinks which may.
    fn shrunk_bytes(&self, factor: f64) -> f64 {
        self.fixed_bytes as f64 + factor * self.bytes.saturating_sub(self.fixed_bytes) as f64
    }

    /// What leaves `room` bytes, as far as that can be had by shrinking.
    fn factor(&self, room: f64) -> f64 {
        match self.bytes.saturating_sub(self.fixed_bytes) {
            0 => 1.0,
            shrinks => (room - self.fixed_bytes as f64) / shrinks as f64,
        }
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
    let what = match run.fit {
        true => "records and file sizes are",
        false => "files whose number or size nobody has said are",
    };
    let whose = if run.fit { "what the file says" } else { "their workload's own" };
    let text = format!(
        "The disk has {:.0} MiB to offer, and the experiment wants {:.0} MiB: {what} {} of {whose}, {:.0} MiB in all.",
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
        let wanted = [Wanted { bytes: wanted_bytes, fixed_bytes: 0 }];
        assert!(known.stays(&wanted, 2 * wanted_bytes - 4096), "a little over half of the space");
        assert!(!known.stays(&wanted, wanted_bytes), "more than three quarters");
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
    fn files_whose_number_nobody_said_shrink_beside_data_that_stay() {
        let wanted = |bytes, fixed_bytes| Wanted { bytes, fixed_bytes };
        let factor = |wanted: &[Wanted]| Fit::new(wanted, 1000).map(|fit| fit.factor);
        assert_eq!(factor(&[wanted(1100, 100)]), Some(0.4));
        assert_eq!(factor(&[wanted(1100, 100), wanted(2000, 0)]), Some(0.25));
        assert_eq!(factor(&[wanted(400, 100)]), Some(1.0));
        assert_eq!(factor(&[wanted(2000, 2000)]), Some(1.0), "nothing that could shrink");
        assert_eq!(factor(&[wanted(2000, 600)]), None, "what stays takes more than the share");
        assert_eq!(factor(&[wanted(0, 0)]), None);
    }

    #[test]
    fn a_personality_scales_to_the_disk_unless_its_size_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let of = |said: &str| {
            let text = format!(
                "name = \"a test\"\n[device]\ndirectory = \"{NONE}\"\n[primary]\nkind = \"files\"\n{said}\n[plan]\nphase = \"1s\"\n"
            );
            fs::write(&path, text).unwrap();
            crate::file::load(&path, &[]).unwrap()
        };
        let mean = "mean_file_size = \"1GiB\"";
        let scaled = fit(of(&format!("personality = \"varmail\"\n{mean}")));
        let files = scaled.primary.as_ref().unwrap().settings.get("files").as_u64().unwrap();
        assert!(files < 4_000_000, "{files}");
        assert_eq!(scaled.resolved["primary"]["files"], files);
        assert!(scaled.known[0].text.contains("of their workload's own"), "{}", scaled.known[0].text);
        let said = of(&format!("personality = \"varmail\"\nfiles = 4_000_000\n{mean}"));
        assert_eq!(fit(said.clone()), said);
        let said = of("personality = \"oltp\"\nmean_file_size = \"1TiB\"");
        assert_eq!(fit(said.clone()), said);
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
        let wanted = |bytes| [Wanted { bytes, fixed_bytes: 0 }];
        assert_eq!(Fit::new(&wanted(100), 300).map(|fit| fit.factor), Some(1.0));
        assert_eq!(Fit::new(&wanted(0), 300), None);
        assert_eq!(Fit::new(&wanted(100), 150).map(|fit| fit.factor), Some(0.75));
    }
}
