//! The runs of one command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use manometer_experiment::conductor::{self, RunError};
use manometer_experiment::definition::format_settings;
use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_experiment::queue::forecast::PreparationForecast;
use manometer_experiment::setup::RunSetup;
use manometer_experiment::{Experiment, plan};
use manometer_measure::event::RunStatus;
use manometer_measure::human;
use manometer_report::AnalysedRecording;
use serde_json::json;

use super::args::Args;
use crate::output::{self, Format};
use crate::progress::{Progress, ProgressFormat};
use crate::recordings;

/// The common parameters of the runs of one command.
pub(super) struct RunContext<'a> {
    pub(super) args: &'a Args,
    pub(super) interrupted: &'a AtomicBool,
}

impl RunContext<'_> {
    /// Runs one experiment. `before` are the folders whose data earlier runs of the set created, `created` those whose data
    /// this one creates, however it ends.
    pub(super) fn perform(
        &self,
        experiment: &Experiment,
        dir: &Path,
        before: &BTreeSet<PathBuf>,
        created: &mut BTreeSet<PathBuf>,
    ) -> Result<RunStatus, RunError> {
        let (program, reuse) = (crate::process::executable(), self.args.reuse);
        let setup = RunSetup { program, out: dir.to_owned(), reuse, created: before, interrupted: self.interrupted };
        let mut progress = Progress::new(experiment, self.args.progress);
        let outcome = conductor::run(experiment, &setup, created, &mut |update| progress.show(&update));
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

    /// Analyses the recording in `dir` and prints its summary.
    pub(super) fn show(&self, dir: &Path) -> anyhow::Result<AnalysedRecording> {
        let recorded = recordings::summarise_and_write(dir)?;
        if self.args.format == Format::Text {
            output::print_text(&crate::text::summary(&recorded.summary))?;
            output::print_text(&format!("\nReport: {}", dir.join(recordings::FILE).display()))?;
        }
        Ok(recorded)
    }
}
