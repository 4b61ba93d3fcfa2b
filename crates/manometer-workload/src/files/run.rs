//! Runs a `files` workload: checks the settings, creates the files, reports the facts, runs the threads.

use std::path::Path;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Rate};
use serde_json::{Value, json};

use super::file_tree::FileTree;
use super::oltp::{self, Database};
use super::plan::{FilesPlan, operations};
use super::settings::{FilesSettings, Personality};
use super::{FilesError, change, tree_worker};
use crate::error::WorkloadError;
use crate::file_threads::creation::ReportProgress;
use crate::file_threads::{
    FileOperation, FileWork, Prepared, PreparedFolder, SKIPPED, ThreadChange, ThreadContext, ThreadEnd, prepare_folder,
    run_threads,
};
use crate::interface::{Driver, WorkloadContext, WorkloadData};
use crate::setting_error::SettingError;

/// The files of a run.
enum DataSet {
    FileTree(FileTree),
    Database(Database),
}

/// Runs the workload `settings` at `place` until `driver` stops it: creates the files, then uses them. Samples come from the
/// start on; the last one may be shorter than the interval.
///
/// # Errors
/// The settings or the folder are invalid, the files do not fit, or an operation failed.
pub fn run(
    place: &WorkloadContext,
    settings: &FilesSettings,
    driver: &mut dyn Driver,
    clock: &dyn Clock,
) -> Result<WorkloadData, WorkloadError> {
    let plan = FilesPlan::new(settings).map_err(FilesError::from)?;
    let data_seed = place.seed ^ clock.now_ns();
    let mut create =
        |root: &Path, progress: &mut ReportProgress<'_>| create(&plan, root, (place.seed, data_seed), progress);
    let mut folder = match prepare_folder(place, plan.marker(place.seed), driver, &mut create)? {
        PreparedFolder::Complete(folder) => folder,
        PreparedFolder::Stopped(folder) => return Ok(WorkloadData::in_folder(folder)),
    };
    let data = DataSet::new(&plan, place.seed, &folder.database())?;
    if !plan.is_stable() {
        folder.set_changed().map_err(FilesError::from)?;
    }
    let notes: Vec<String> = scaled(&plan).into_iter().chain(data.note()).collect();
    let prepared = Prepared {
        work: &data,
        settings: settings.clone(),
        threads: plan.threads,
        rate: plan.rate,
        seed: place.thread_seed(),
        facts: facts(&plan, settings.rate, &data, folder.is_reused(), &notes),
        notes,
        script: Vec::new(),
    };
    run_threads(prepared, driver, clock)?;
    Ok(WorkloadData::in_folder(folder))
}

/// Creates the files, unless `progress` breaks.
fn create(
    plan: &FilesPlan,
    root: &Path,
    (seed, data_seed): (u64, u64),
    progress: &mut ReportProgress<'_>,
) -> Result<(), FilesError> {
    match plan.personality {
        Personality::Oltp => oltp::create(plan, root, data_seed, progress),
        Personality::Fileserver | Personality::Varmail => {
            FileTree::new(plan, seed, root).create(plan, data_seed, progress)
        }
    }
}

impl DataSet {
    fn new(plan: &FilesPlan, seed: u64, root: &Path) -> Result<Self, FilesError> {
        Ok(match plan.personality {
            Personality::Oltp => Self::Database(Database::open(plan, root)?),
            Personality::Fileserver | Personality::Varmail => Self::FileTree(FileTree::new(plan, seed, root)),
        })
    }

    /// A note for the user.
    fn note(&self) -> Option<String> {
        match self {
            Self::FileTree(_) => None,
            Self::Database(database) => database.note(),
        }
    }
}

impl FileWork for DataSet {
    type Settings = FilesSettings;

    fn operations(&self) -> &'static [FileOperation] {
        match self {
            Self::FileTree(file_tree) => operations(file_tree.personality),
            Self::Database(_) => operations(Personality::Oltp),
        }
    }

    fn skips(&self) -> bool {
        true
    }

    fn writers(&self) -> u32 {
        match self {
            Self::FileTree(_) => 0,
            Self::Database(database) => database.writers(),
        }
    }

    fn work(&self, shared: &ThreadContext<'_>, number: u32) -> Result<(), ThreadEnd> {
        let writers = self.writers();
        match self {
            Self::FileTree(file_tree) => tree_worker::work(file_tree, shared, number),
            Self::Database(database) if number < writers => database.write(shared, number),
            Self::Database(database) => database.read(shared, number, number - writers),
        }
    }

    fn apply(&self, current: &FilesSettings, changes: &Settings) -> Result<ThreadChange<FilesSettings>, SettingError> {
        change::apply(current, changes)
    }

    fn close(&self) {
        match self {
            Self::FileTree(file_tree) => file_tree.pool.close(),
            Self::Database(database) => database.close(),
        }
    }
}

fn facts(plan: &FilesPlan, rate: Option<Rate>, data: &DataSet, reused: bool, notes: &[String]) -> Settings {
    let mut facts = json!({
        "personality": plan.personality.name(),
        "files": plan.files,
        "files_at_first": plan.present(),
        "mean_file_bytes": plan.mean_file_bytes,
        "data_bytes": plan.bytes(),
        "scale": plan.scale(),
        "threads": plan.threads,
        "rate": rate,
        "reused": reused,
        "state_units": { SKIPPED: "turns" },
    });
    let own = match data {
        DataSet::FileTree(_) => json!({
            "mean_append_bytes": plan.mean_append_bytes,
            "directory_width": plan.directory_width,
        }),
        DataSet::Database(database) => json!({
            "direct": plan.direct,
            "request_bytes": database.request_bytes(),
            "writers": database.writers(),
            "io_engine": database.engine(),
        }),
    };
    let (Value::Object(facts), Value::Object(own)) = (&mut facts, own) else { return Settings::new() };
    facts.extend(own);
    facts.insert("notes".to_owned(), json!(notes));
    if !plan.is_stable() {
        facts.insert("unstable".to_owned(), json!("it creates, extends and deletes files"));
    }
    std::mem::take(facts).into_iter().collect()
}

/// A note where the data do not have the personality's default size.
fn scaled(plan: &FilesPlan) -> Option<String> {
    let name = plan.personality.name();
    (plan.scale() != 1.0).then(|| {
        let mib = plan.bytes() as f64 / f64::from(1 << 20);
        let percent = 100.0 * plan.scale();
        format!("the data are {percent:.2} % of those of {name}: {} files, {mib:.0} MiB", plan.present())
    })
}
