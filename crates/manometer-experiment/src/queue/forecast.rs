//! Forecasts the preparation of each run of a set: the steps before it, and the data that its workers create.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::definition::Experiment;
use crate::prepare::ledger::LedgerEntries;
use crate::prepare::steps::{DirectoryState, PrepareScope, PrepareStep, created_by_workers, plan_steps};

/// The preparation of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunPreparation {
    /// The steps before the run.
    pub steps: Vec<PrepareStep>,
    /// The bytes of the data that its workers create.
    pub by_workers_bytes: u64,
}

impl RunPreparation {
    /// The bytes that it writes, as far as they are known in advance.
    pub fn bytes(&self) -> u64 {
        self.steps.iter().map(PrepareStep::bytes).fold(self.by_workers_bytes, u64::saturating_add)
    }

    /// The maximum time until the primary has settled.
    pub fn settle_s(&self) -> f64 {
        let settle_s = |step: &PrepareStep| match step {
            PrepareStep::Data { settle_s, .. } => settle_s.unwrap_or(0.0),
            PrepareStep::Precondition { .. } | PrepareStep::Snapshot { .. } | PrepareStep::Restore { .. } => 0.0,
        };
        self.steps.iter().map(settle_s).sum()
    }
}

/// Forecasts the preparations of consecutive runs in one device directory.
#[derive(Debug)]
pub struct PreparationForecast<'a> {
    entries: &'a LedgerEntries,
    reuse: bool,
    created: &'a BTreeSet<PathBuf>,
    state: Option<DirectoryState>,
    /// The workloads of the runs so far.
    known: BTreeSet<String>,
}

impl<'a> PreparationForecast<'a> {
    /// Before the first run, in the directory with the ledger `entries`; `reuse` and `created` as in
    /// [`RunSetup`](crate::setup::RunSetup).
    pub fn new(entries: &'a LedgerEntries, reuse: bool, created: &'a BTreeSet<PathBuf>) -> Self {
        Self { entries, reuse, created, state: None, known: BTreeSet::new() }
    }

    /// The preparation of `run`, which is the next one.
    pub fn next_run(&mut self, run: &Experiment) -> RunPreparation {
        let before = match self.state.take() {
            Some(state) => state.with_new_workloads(run, self.entries, &self.known),
            None => DirectoryState::read(run, self.entries, self.reuse, self.created),
        };
        self.known.extend(run.workloads().map(|workload| workload.name.clone()));
        let steps = plan_steps(run, &before, PrepareScope::Run);
        let by_workers = created_by_workers(run, &before, &steps).map(|workload| workload.settings.bytes_to_prepare());
        let by_workers_bytes = by_workers.fold(0, u64::saturating_add);
        self.state = Some(before.after_run(run, &steps));
        RunPreparation { steps, by_workers_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::runs_of;

    const MIB: u64 = 1 << 20;

    /// The bytes that preparing each run of a file writes: by steps, and by workers.
    fn bytes(prepare: &str, primary: &str, sweep: &str) -> Vec<(u64, u64)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[prepare]\n{prepare}\n{primary}\n\
             [[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n[plan]\nphase = \"1s\"\n[sweep]\n{sweep}\n"
        );
        std::fs::write(&path, text).unwrap();
        let (entries, runs) = (LedgerEntries::default(), runs_of(&crate::file::load(&path, &[]).unwrap()));
        let created = BTreeSet::new();
        let mut forecast = PreparationForecast::new(&entries, false, &created);
        let of = |run: &Experiment| {
            let one = forecast.next_run(run);
            (one.bytes() - one.by_workers_bytes, one.by_workers_bytes)
        };
        runs.iter().map(|run| &run.experiment).map(of).collect()
    }

    fn primary(workload: &str, records: u64) -> String {
        format!("[primary]\nengine = \"lmdb\"\nworkload = \"{workload}\"\nrecords = {records}")
    }

    #[test]
    fn data_that_runs_do_not_change_are_created_once() {
        assert_eq!(bytes("", "", "repeats = 3"), [(0, MIB), (0, 0), (0, 0)]);
        let sizes = "\"n.file_size\" = [\"1MiB\", \"2MiB\"]\norder = \"interleaved\"\nrepeats = 2";
        assert_eq!(bytes("", "", sizes), [MIB, 2 * MIB, MIB, 2 * MIB].map(|bytes| (0, bytes)));
    }

    #[test]
    fn a_primary_that_inserts_is_loaded_for_every_run() {
        let updates = bytes("", &primary("ycsb-b", 1000), "repeats = 2");
        assert_eq!(updates[1], (0, 0));
        let inserts = bytes("", &primary("ycsb-d", 1000), "repeats = 2");
        assert_eq!(inserts[0].1, inserts[1].1 + MIB, "all but the neighbour's file");
        assert!(inserts[1].1 > 0);
    }

    #[test]
    fn a_primary_that_phases_change_settles_for_every_run() {
        let settle_s = |primary: &str| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("e.toml");
            let text = format!(
                "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[prepare]\nsettle = \"10m\"\n\
                 {primary}\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n[sweep]\nrepeats = 2\n"
            );
            std::fs::write(&path, text).unwrap();
            let (entries, created) = (LedgerEntries::default(), BTreeSet::new());
            let mut forecast = PreparationForecast::new(&entries, false, &created);
            let runs = runs_of(&crate::file::load(&path, &[]).unwrap());
            runs.iter().map(|run| forecast.next_run(&run.experiment).settle_s()).collect::<Vec<_>>()
        };
        let plain = primary("ycsb-b", 1000);
        assert_eq!(settle_s(&format!("{plain}\n[plan]\nphase = \"1s\"")), [600.0, 0.0]);
        let varied = "[plan]\nphase = \"1s\"\nvary = { \"primary.rate\" = [1000, 2000] }";
        assert_eq!(settle_s(&format!("{plain}\n{varied}")), [600.0, 600.0]);
    }

    #[test]
    fn rewriting_and_copies_count_and_databases_are_loaded_once() {
        let prepare = "snapshot = true\nrewrite_files = true\nsettle = \"10m\"";
        let sweep = "\"primary.records\" = [1000, 2000]\norder = \"interleaved\"\nrepeats = 2";
        let all = bytes(prepare, &primary("ycsb-b", 10), sweep);
        let [one, two] = [all[2].0, all[3].0];
        assert!(0 < one && one < two, "{all:?}");
        // Loaded, copied and restored, after the neighbour's file was created and rewritten; then only restored.
        assert_eq!(all, [(2 * MIB + 3 * one, 0), (3 * two, 0), (one, 0), (two, 0)]);
    }
}
