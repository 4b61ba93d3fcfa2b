//! Runs a `files` workload: checks the settings, creates the files, reports the facts, runs the threads.

use std::ops::ControlFlow;
use std::path::Path;
use std::thread::Builder;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Rate};
use manometer_target::engine::directory::DatabaseDirectory;
use rapidhash::v3::rapidhash_v3;
use serde_json::{Value, json};

use super::counts::SKIPPED;
use super::file_tree::FileTree;
use super::oltp::{self, Database};
use super::plan::{FilesPlan, MAX_THREADS};
use super::settings::{FilesSettings, Personality};
use super::shared::{Shared, ThreadEnd};
use super::workload::FilesWorkload;
use super::{FilesError, tree_worker};
use crate::error::WorkloadError;
use crate::sample::{Counts, Sample};
use crate::workload::{Driver, PreparedWorkload, Progress, WorkloadContext, WorkloadData, WorkloadEvent};

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
    let mut folder = DatabaseDirectory::prepare(&place.folder(), plan.marker(place.seed), place.existing)
        .map_err(FilesError::from)?;
    let is_reused = folder.is_reused();
    if !is_reused {
        let mut progress = Progress::new(driver, "writing files");
        let created = create(&plan, &folder.database(), place.seed, &mut progress, clock);
        if let Err(error) = created {
            // Incomplete files are useless and take space. The error of creating them matters more than one of removing them.
            let _ = folder.remove();
            return Err(error.into());
        }
        if progress.is_stopped {
            return Ok(WorkloadData { database: Some(folder), external: None });
        }
        folder.set_loaded().map_err(FilesError::from)?;
    }
    let data = DataSet::new(&plan, place.seed, &folder.database())?;
    if !plan.is_stable() {
        folder.set_changed().map_err(FilesError::from)?;
    }
    let notes: Vec<String> = scaled(&plan).into_iter().chain(data.note()).collect();
    let facts = facts(&plan, settings.rate, &data, is_reused, &notes);
    // The random numbers of each thread differ from those of another workload with the same seed.
    let seed = place.seed ^ rapidhash_v3(place.name.as_bytes());
    work(&plan, &data, (settings, seed), (facts, notes), driver, clock)?;
    Ok(WorkloadData { database: Some(folder), external: None })
}

/// Creates the files, unless `progress` breaks.
fn create(
    plan: &FilesPlan,
    root: &Path,
    seed: u64,
    progress: &mut Progress<'_>,
    clock: &dyn Clock,
) -> Result<(), FilesError> {
    let data_seed = seed ^ clock.now_ns();
    let progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()> = &mut |done, total| progress.report(done, total);
    match plan.personality {
        Personality::Oltp => oltp::create(plan, root, data_seed, progress),
        Personality::Fileserver | Personality::Varmail => {
            FileTree::new(plan, seed, root).create(plan, data_seed, progress)
        }
    }
}

/// Runs the threads until the workload ends.
fn work(
    plan: &FilesPlan,
    data: &DataSet,
    (settings, seed): (&FilesSettings, u64),
    (facts, notes): (Settings, Vec<String>),
    driver: &mut dyn Driver,
    clock: &dyn Clock,
) -> Result<(), WorkloadError> {
    let shared = Shared::new(plan, seed, clock, MAX_THREADS + data.writers());
    let mut counted_ns = clock.now_ns();
    let driven = std::thread::scope(|scope| {
        let (shared, writers) = (&shared, data.writers());
        // Writers have the first numbers, for any number of readers.
        let mut start = |number: u32| {
            let run = move || {
                if let Err(ThreadEnd::Failed(error)) = data.work(shared, number, writers) {
                    shared.fail(error);
                    data.close();
                }
            };
            let started = Builder::new().spawn_scoped(scope, run);
            started.map(drop).map_err(|source| FilesError::Thread { number: number + 1, source })
        };
        let started = (0..writers).try_for_each(&mut start);
        let mut start_reader = |number: u32| start(number + writers);
        let driven = started.map_err(WorkloadError::from).and_then(|()| {
            let mut workload = FilesWorkload::new(shared, settings.clone(), &mut start_reader, notes)?;
            let driven = driver.drive(PreparedWorkload { facts, state: None, script: Vec::new() }, &mut workload);
            counted_ns = workload.counted_ns;
            driven
        });
        shared.gate.stop();
        data.close();
        driven
    });
    // Operations that completed while the threads ended count as well.
    let t_ns = clock.now_ns();
    let Counts { operations, dropped, state } = shared.counts.take_counts(plan.operations());
    let length_ns = t_ns.saturating_sub(counted_ns);
    driver.emit(WorkloadEvent::Sample(Sample { t_ns, length_ns, operations, dropped, state, state_t_ns: None }));
    shared.into_failed().map_or(driven, |error| Err(error.into()))
}

impl DataSet {
    fn new(plan: &FilesPlan, seed: u64, root: &Path) -> Result<Self, FilesError> {
        Ok(match plan.personality {
            Personality::Oltp => Self::Database(Database::open(plan, root)?),
            Personality::Fileserver | Personality::Varmail => Self::FileTree(FileTree::new(plan, seed, root)),
        })
    }

    /// Threads in addition to those of the settings.
    fn writers(&self) -> u32 {
        match self {
            Self::FileTree(_) => 0,
            Self::Database(database) => database.writers(),
        }
    }

    /// Runs the thread `number`; the first `writers` threads are writers.
    fn work(&self, shared: &Shared<'_>, number: u32, writers: u32) -> Result<(), ThreadEnd> {
        match self {
            Self::FileTree(file_tree) => tree_worker::work(file_tree, shared, number),
            Self::Database(database) if number < writers => database.write(shared, number),
            Self::Database(database) => database.read(shared, number, number - writers),
        }
    }

    /// A note for the user.
    fn note(&self) -> Option<String> {
        match self {
            Self::FileTree(_) => None,
            Self::Database(database) => database.note(),
        }
    }

    /// Releases waiting threads, for good.
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
