//! Runs a `paths` workload: checks the settings, creates the tree, reports the facts, runs the threads.

use std::path::Path;

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_trace::synthesis::paths::PathTree;
use serde_json::{Value, json};

use super::client::PathClient;
use super::open_tree::OpenTree;
use super::plan::PathsPlan;
use super::settings::PathsSettings;
use super::{change, mix, tree};
use crate::error::WorkloadError;
use crate::file_threads::creation::ReportProgress;
use crate::file_threads::{
    FileOperation, FileWork, FilesError, Prepared, PreparedFolder, ThreadChange, ThreadContext, ThreadEnd,
    prepare_folder, run_threads,
};
use crate::interface::{Driver, WorkloadContext, WorkloadData};
use crate::setting_error::SettingError;

/// Runs the workload `settings` at `place` until `driver` stops it: creates the tree, then uses it. Samples come from the start
/// on; the last one may be shorter than the interval.
///
/// # Errors
/// The settings or the folder are invalid, the tree does not fit, or an operation failed.
pub fn run(
    place: &WorkloadContext,
    settings: &PathsSettings,
    driver: &mut dyn Driver,
    clock: &dyn Clock,
) -> Result<WorkloadData, WorkloadError> {
    super::validate(settings).map_err(FilesError::from)?;
    let plan = PathsPlan::new(settings).map_err(FilesError::from)?;
    let seeds = (place.seed, place.seed ^ clock.now_ns());
    let mut create = |root: &Path, progress: &mut ReportProgress<'_>| tree::create(&plan, root, seeds, progress);
    let folder = match prepare_folder(place, plan.marker(place.seed), driver, &mut create)? {
        PreparedFolder::Complete(folder) => folder,
        PreparedFolder::Stopped(folder) => return Ok(WorkloadData::in_folder(folder)),
    };
    let work = PathsWork(OpenTree::new(plan.clone(), folder.database())?);
    let prepared = Prepared {
        work: &work,
        settings: settings.clone(),
        threads: plan.threads,
        rate: plan.rate,
        seed: place.thread_seed(),
        facts: facts(&plan, folder.is_reused()),
        notes: Vec::new(),
        script: change::read_script(settings).unwrap_or_default(),
    };
    run_threads(prepared, driver, clock)?;
    Ok(WorkloadData::in_folder(folder))
}

/// What the threads do.
struct PathsWork(OpenTree);

impl FileWork for PathsWork {
    type Settings = PathsSettings;

    fn operations(&self) -> &'static [FileOperation] {
        &mix::OPERATIONS
    }

    fn work(&self, shared: &ThreadContext<'_>, number: u32) -> Result<(), ThreadEnd> {
        PathClient::new(shared, &self.0, number).run()
    }

    fn apply(&self, current: &PathsSettings, changes: &Settings) -> Result<ThreadChange<PathsSettings>, SettingError> {
        change::apply(current, changes)
    }

    fn put_in_force(&self, settings: &PathsSettings) {
        // It was planned when it was checked.
        if let Ok(changed) = PathsPlan::new(settings) {
            self.0.change(changed);
        }
    }
}

fn facts(plan: &PathsPlan, reused: bool) -> Settings {
    let facts = json!({
        "files": plan.model.files,
        "directories_with_files": PathTree::new(&plan.model).directories(),
        "depth": plan.model.depth,
        "directory_width": plan.model.directory_width,
        "mean_file_bytes": plan.model.mean_file_bytes,
        "data_bytes": plan.bytes(),
        "threads": plan.threads,
        "rate": plan.rate,
        "reused": reused,
    });
    let Value::Object(facts) = facts else { return Settings::new() };
    facts.into_iter().collect()
}
