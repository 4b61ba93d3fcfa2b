//! What preparing the runs of a set writes, run after run: the steps before each, and what its own workers make.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::file::Experiment;
use crate::prepare::ledger::Book;
use crate::prepare::steps::{Found, Step, left_to_workers, steps};

/// What preparing one run writes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preparing {
    /// What is done before the run.
    pub steps: Vec<Step>,
    /// The bytes of data that its workers make, because nobody did before.
    pub by_workers_bytes: u64,
}

impl Preparing {
    /// All that it writes, as far as that is known before.
    pub fn bytes(&self) -> u64 {
        self.steps.iter().map(Step::bytes).fold(self.by_workers_bytes, u64::saturating_add)
    }

    /// How long the primary runs until it is settled, at most.
    pub fn settle_s(&self) -> f64 {
        let settling = |step: &Step| match step {
            Step::Data { settle_s, .. } => settle_s.unwrap_or(0.0),
            Step::Precondition { .. } | Step::Snapshot { .. } | Step::Restore { .. } => 0.0,
        };
        self.steps.iter().map(settling).sum()
    }
}

/// What the runs of one device directory find there, as they come.
#[derive(Debug)]
pub struct Ahead<'a> {
    book: &'a Book,
    reuse: bool,
    made: &'a BTreeSet<PathBuf>,
    found: Option<Found>,
    /// The workloads that had their turn.
    known: BTreeSet<String>,
}

impl<'a> Ahead<'a> {
    /// Before the first run, in the directory of `book`; `reuse` and `made` as in [`Setup`](crate::conductor::Setup).
    pub fn new(book: &'a Book, reuse: bool, made: &'a BTreeSet<PathBuf>) -> Self {
        Self { book, reuse, made, found: None, known: BTreeSet::new() }
    }

    /// Prepares `run`, which then runs.
    pub fn prepare(&mut self, run: &Experiment) -> Preparing {
        let before = match self.found.take() {
            Some(found) => found.with_others(run, self.book, &self.known),
            None => Found::of(run, self.book, self.reuse, self.made),
        };
        self.known.extend(run.workloads().map(|workload| workload.name.clone()));
        let steps = steps(run, &before, false);
        let by_workers = left_to_workers(run, &before, &steps).map(|workload| workload.settings.bytes_to_prepare());
        let by_workers_bytes = by_workers.fold(0, u64::saturating_add);
        self.found = Some(before.after(run, &steps));
        Preparing { steps, by_workers_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::runs;

    const MIB: u64 = 1 << 20;

    /// What preparing each run of a file writes: in steps, and by workers.
    fn bytes(prepare: &str, primary: &str, sweep: &str) -> Vec<(u64, u64)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[prepare]\n{prepare}\n{primary}\n\
             [[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n[plan]\nphase = \"1s\"\n[sweep]\n{sweep}\n"
        );
        std::fs::write(&path, text).unwrap();
        let (book, runs) = (Book::default(), runs(&crate::file::load(&path, &[]).unwrap()));
        let made = BTreeSet::new();
        let mut ahead = Ahead::new(&book, false, &made);
        let of = |run: &Experiment| {
            let one = ahead.prepare(run);
            (one.bytes() - one.by_workers_bytes, one.by_workers_bytes)
        };
        runs.iter().map(|run| &run.experiment).map(of).collect()
    }

    fn primary(workload: &str, records: u64) -> String {
        format!("[primary]\nengine = \"lmdb\"\nworkload = \"{workload}\"\nrecords = {records}")
    }

    #[test]
    fn what_a_run_left_as_it_was_made_is_made_once() {
        assert_eq!(bytes("", "", "repeats = 3"), [(0, MIB), (0, 0), (0, 0)]);
        let sizes = "\"n.file_size\" = [\"1MiB\", \"2MiB\"]\norder = \"interleaved\"\nrepeats = 2";
        assert_eq!(bytes("", "", sizes), [MIB, 2 * MIB, MIB, 2 * MIB].map(|bytes| (0, bytes)));
    }

    #[test]
    fn a_primary_that_changes_its_data_is_loaded_for_every_run() {
        let stays = bytes("", &primary("ycsb-b", 1000), "repeats = 2");
        assert_eq!(stays[1], (0, 0));
        let inserts = bytes("", &primary("ycsb-d", 1000), "repeats = 2");
        assert_eq!(inserts[0].1, inserts[1].1 + MIB, "all but the neighbour's file");
        assert!(inserts[1].1 > 0);
    }

    #[test]
    fn a_primary_whose_requests_change_in_a_phase_settles_for_every_run() {
        let settle_s = |primary: &str| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("e.toml");
            let text = format!(
                "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[prepare]\nsettle = \"10m\"\n\
                 {primary}\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n[sweep]\nrepeats = 2\n"
            );
            std::fs::write(&path, text).unwrap();
            let (book, made) = (Book::default(), BTreeSet::new());
            let mut ahead = Ahead::new(&book, false, &made);
            let runs = runs(&crate::file::load(&path, &[]).unwrap());
            runs.iter().map(|run| ahead.prepare(&run.experiment).settle_s()).collect::<Vec<_>>()
        };
        let plain = primary("ycsb-b", 1000);
        assert_eq!(settle_s(&format!("{plain}\n[plan]\nphase = \"1s\"")), [600.0, 0.0]);
        let varied = "[plan]\nphase = \"1s\"\nvary = { \"primary.rate\" = [1000, 2000] }";
        assert_eq!(settle_s(&format!("{plain}\n{varied}")), [600.0, 600.0]);
    }

    #[test]
    fn files_rewritten_and_snapshots_copied_count_and_records_are_loaded_once() {
        let prepare = "snapshot = true\nrewrite_files = true\nsettle = \"10m\"";
        let sweep = "\"primary.records\" = [1000, 2000]\norder = \"interleaved\"\nrepeats = 2";
        let all = bytes(prepare, &primary("ycsb-b", 10), sweep);
        let [one, two] = [all[2].0, all[3].0];
        assert!(0 < one && one < two, "{all:?}");
        // Loaded, copied and put back, the neighbour's file made and rewritten first; then only put back.
        assert_eq!(all, [(2 * MIB + 3 * one, 0), (3 * two, 0), (one, 0), (two, 0)]);
    }
}
