//! The runs of one command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use manometer_experiment::conductor::{self, RunError};
use manometer_experiment::definition::format_settings;
use manometer_experiment::lock::{DiskLocks, LockError};
use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_experiment::progress::ProgressUpdate;
use manometer_experiment::queue::forecast::PreparationForecast;
use manometer_experiment::setup::RunSetup;
use manometer_experiment::{Experiment, plan};
use manometer_measure::event::RunStatus;
use manometer_measure::{Clock as _, Directory, MonotonicClock, Recording, human};
use manometer_report::AnalysedRecording;
use serde_json::json;

use super::args::Args;
use super::array;
use crate::metrics::{self, LiveMetrics};
use crate::output::{self, Format};
use crate::progress::{Progress, ProgressFormat};
use crate::recordings;

/// The common parameters of the runs of one command.
pub(super) struct RunContext<'a> {
    pub(super) args: &'a Args,
    pub(super) interrupted: &'a Arc<AtomicBool>,
}

/// How often a disk that another run uses is tried again, in nanoseconds.
const TRY_AGAIN_NS: u64 = 1_000_000_000;

impl RunContext<'_> {
    /// Locks the disks below `storage`: directories, files or devices. With `--wait`, waits until no other run uses them.
    ///
    /// # Errors
    /// Another run uses one, the wait was interrupted, or a lock cannot be created.
    pub(super) fn lock_disks(&self, storage: &[&Path]) -> anyhow::Result<DiskLocks> {
        let mut is_told = false;
        loop {
            let error = match DiskLocks::take(storage.iter().copied()) {
                Ok(locks) => return Ok(locks),
                Err(error) => error,
            };
            let held = match &error {
                LockError::DiskHeld { disk, holder, .. } if self.args.wait => {
                    format!("waiting for the disk {disk}, which another run uses (process {holder})")
                }
                _ => return Err(error.into()),
            };
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(anyhow!("interrupted while {held}"));
            }
            if !std::mem::replace(&mut is_told, true) {
                output::note(&held);
            }
            MonotonicClock.sleep(TRY_AGAIN_NS);
        }
    }

    /// Runs one experiment, with its recording in the empty folder `out`. `before` are the folders whose data earlier runs of
    /// the set created, `created` those whose data this one creates, however it ends.
    pub(super) fn perform(
        &self,
        experiment: &Experiment,
        out: &Directory,
        before: &BTreeSet<PathBuf>,
        created: &mut BTreeSet<PathBuf>,
    ) -> Result<RunStatus, RunError> {
        let (program, reuse) = (crate::process::executable(), self.args.reuse);
        let setup = RunSetup { program, reuse, created: before, interrupted: self.interrupted };
        let mut progress = Progress::new(experiment, self.args.progress);
        let mut metrics = self.args.metrics.as_ref().map(|path| LiveMetrics::new(path, &experiment.name));
        let mut show = |update: ProgressUpdate<'_>| {
            progress.show(&update);
            metrics.iter_mut().for_each(|metrics| metrics.show(&update));
        };
        let run = || conductor::run(experiment, &setup, out, created, &mut show);
        let outcome = array::run_on_array(experiment, out, self.interrupted, run);
        progress.finish();
        outcome
    }

    /// Prints that run `number` of `of` starts, with its recording in `dir`; earlier runs `created` data.
    pub(super) fn announce(
        &self,
        number: usize,
        of: usize,
        experiment: &Experiment,
        dir: &Path,
        created: &BTreeSet<PathBuf>,
    ) {
        let plan = plan::plan(experiment);
        let swept = &experiment.swept;
        if self.args.progress == ProgressFormat::Json {
            let event = json!({
                "event": "run", "run": number, "runs": of, "settings": swept, "path": dir.to_string_lossy(), "seconds": plan.duration_s(),
            });
            // A closed standard error shows in the next update.
            let _ = output::event(&event);
            return;
        }
        let number = if of == 1 { String::new() } else { format!("run {number} of {of}: ") };
        let swept = if swept.is_empty() { String::new() } else { format!(" ({})", format_settings(swept)) };
        // A damaged ledger is an error when the run opens it.
        let ledger = LedgerEntries::read(&experiment.directory).unwrap_or_default();
        let preparing = PreparationForecast::new(&ledger, self.args.reuse, created).next_run(experiment);
        output::note(&format!(
            "{number}{}{swept}: {} phases, {} after writing {} of data in {}",
            experiment.name,
            plan.phases.len(),
            crate::number::duration(plan.duration_s()),
            human::bytes(preparing.bytes()),
            experiment.directory.display(),
        ));
    }

    /// Analyses `recording` and prints its summary.
    pub(super) fn show(&self, recording: Recording) -> anyhow::Result<AnalysedRecording> {
        let recorded = recordings::summarise_and_write(recording)?;
        if let Some(path) = &self.args.metrics {
            metrics::write(path, std::slice::from_ref(&recorded))?;
        }
        if self.args.format == Format::Text {
            output::print_text(&crate::text::summary(&recorded.summary))?;
            output::print_text(&format!("\nReport: {}", recorded.recording.dir.join(recordings::FILE).display()))?;
        }
        Ok(recorded)
    }
}
