//! From a job to threads at work: check, make the files, say what was found, run.

use std::collections::VecDeque;
use std::path::Path;
use std::thread::Builder;

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_target::engine::directory::DatabaseDirectory;
use rapidhash::v3::rapidhash_v3;
use serde_json::{Value, json};

use super::FilesError;
use super::driver::Driver;
use super::oltp::{self, Database};
use super::plan::{FilesPlan, MAX_THREADS};
use super::settings::{FilesSettings, Personality};
use super::shared::{Halt, Shared};
use super::tally::{Beat, SKIPPED};
use super::trees::Trees;
use crate::control::{Controls, Sink};
use crate::kv::Finished;
use crate::kv::load::Watch;
use crate::protocol::{Control, Job, Message};
use crate::settings::SettingError;

/// What is worked on.
enum Ground {
    Trees(Trees),
    Database(Database),
}

/// Runs the workload `settings` of `job` until it is told to stop: makes the files, says [`Message::Ready`], and then
/// works and sends samples as the control lines say. Samples come from `Ready` on; the last one may be shorter than the
/// interval. That it is done, or why it failed, is for the caller to say.
///
/// # Errors
/// The settings or the folder are not as they should be, the files do not fit, or an operation failed.
pub fn run(
    job: &Job,
    settings: &FilesSettings,
    controls: &Controls,
    sink: &mut dyn Sink,
    clock: &dyn Clock,
) -> Result<Finished, FilesError> {
    if job.interval_ms == 0 {
        return Err(SettingError::new("interval", "0", "write a stretch of time such as 1s").into());
    }
    let plan = FilesPlan::new(settings)?;
    let path = job.directory.join(&job.name);
    let mut folder = DatabaseDirectory::prepare(&path, plan.marker(job.seed), job.existing)?;
    let reused = folder.is_reused();
    let mut heard = VecDeque::new();
    if !reused {
        let mut watch = Watch::new(controls, sink);
        watch.what = "writing files";
        if let Err(error) = make(&plan, &folder.database(), job.seed, &mut watch, clock) {
            // Files by halves are of no use and take the space of others; why they could not be made says more than that
            // they could not be removed.
            let _ = folder.remove();
            return Err(error);
        }
        if watch.stopped {
            return watch.unheard.map_or(Ok(finished(folder)), |error| Err(error.into()));
        }
        heard = watch.early;
        folder.set_loaded()?;
    }
    let ground = Ground::new(&plan, job.seed, &folder.database())?;
    if !plan.is_stable() {
        folder.set_changed()?;
    }
    let notes: Vec<String> = scaled(&plan).into_iter().chain(ground.note()).collect();
    sink.send(Message::Ready { facts: facts(&plan, &ground, reused, &notes) })?;
    notes.into_iter().try_for_each(|text| sink.send(Message::Note { t_ns: clock.now_ns(), text }))?;
    work(&plan, &ground, (job, settings), (controls, heard), sink, clock)?;
    Ok(finished(folder))
}

fn finished(folder: DatabaseDirectory) -> Finished {
    Finished { database: Some(folder), elsewhere: None }
}

/// Makes the files, unless told to stop meanwhile.
fn make(plan: &FilesPlan, root: &Path, seed: u64, watch: &mut Watch<'_>, clock: &dyn Clock) -> Result<(), FilesError> {
    let data_seed = seed ^ clock.now_ns();
    let mut progress = |done, total| watch.look(done, total);
    match plan.personality {
        Personality::Oltp => oltp::make(plan, root, data_seed, &mut progress),
        Personality::Fileserver | Personality::Varmail => {
            Trees::new(plan, seed, root).make(plan, data_seed, &mut progress)
        }
    }
}

/// Has the threads work until it is over.
fn work(
    plan: &FilesPlan,
    ground: &Ground,
    (job, settings): (&Job, &FilesSettings),
    (controls, early): (&Controls, VecDeque<Control>),
    sink: &mut dyn Sink,
    clock: &dyn Clock,
) -> Result<(), FilesError> {
    // Every thread has numbers of its own for what it draws: another workload's of the same seed are others.
    let seed = job.seed ^ rapidhash_v3(job.name.as_bytes());
    let shared = Shared::new(plan, seed, clock, MAX_THREADS + ground.writers());
    let mut beat = Beat::new(plan.operations(), job.interval_ms.saturating_mul(1_000_000), clock.now_ns());
    let driven = std::thread::scope(|scope| {
        let (shared, writers) = (&shared, ground.writers());
        // Writers have the first numbers: however many readers there are, they keep theirs.
        let mut start = |number: u32| {
            let run = move || {
                if let Err(Halt::Failed(error)) = ground.work(shared, number, writers) {
                    shared.fail(error);
                    ground.close();
                }
            };
            let started = Builder::new().spawn_scoped(scope, run);
            started.map(drop).map_err(|source| FilesError::Thread { number: number + 1, source })
        };
        let started = (0..writers).try_for_each(&mut start);
        let mut start_reader = |number: u32| start(number + writers);
        let driven = started.and_then(|()| {
            let (settings, beat, start) = (settings.clone(), &mut beat, &mut start_reader);
            Driver { shared, controls, sink: &mut *sink, early, beat, settings, start, started: 0 }.drive()
        });
        shared.roster.stop();
        ground.close();
        driven
    });
    let now_ns = clock.now_ns();
    let told = driven.and_then(|()| {
        let last = beat.sample(&shared.tally, now_ns).map(Message::Sample);
        Ok(last.map_or(Ok(()), |last| sink.send(last))?)
    });
    shared.into_failed().map_or(told, Err)
}

impl Ground {
    fn new(plan: &FilesPlan, seed: u64, root: &Path) -> Result<Self, FilesError> {
        Ok(match plan.personality {
            Personality::Oltp => Self::Database(Database::open(plan, root)?),
            Personality::Fileserver | Personality::Varmail => Self::Trees(Trees::new(plan, seed, root)),
        })
    }

    /// Threads beside those that the settings name.
    fn writers(&self) -> u32 {
        match self {
            Self::Trees(_) => 0,
            Self::Database(database) => database.writers(),
        }
    }

    /// The work of the thread `number`, of which the first `writers` are those beside.
    fn work(&self, shared: &Shared<'_>, number: u32, writers: u32) -> Result<(), Halt> {
        match self {
            Self::Trees(trees) => trees.work(shared, number),
            Self::Database(database) if number < writers => database.write(shared, number),
            Self::Database(database) => database.read(shared, number, number - writers),
        }
    }

    /// What a reader must know.
    fn note(&self) -> Option<String> {
        match self {
            Self::Trees(_) => None,
            Self::Database(database) => database.note(),
        }
    }

    /// Lets go who waits, for good.
    fn close(&self) {
        match self {
            Self::Trees(trees) => trees.entries.close(),
            Self::Database(database) => database.close(),
        }
    }
}

fn facts(plan: &FilesPlan, ground: &Ground, reused: bool, notes: &[String]) -> Settings {
    let mut told = json!({
        "personality": plan.personality.name(),
        "files": plan.files,
        "files_at_first": plan.present(),
        "mean_file_bytes": plan.mean_file_bytes,
        "data_bytes": plan.bytes(),
        "scale": plan.scale(),
        "threads": plan.threads,
        "reused": reused,
        "state_units": { SKIPPED: "turns" },
    });
    let own = match ground {
        Ground::Trees(_) => json!({
            "mean_append_bytes": plan.mean_append_bytes,
            "directory_width": plan.directory_width,
        }),
        Ground::Database(database) => json!({
            "direct": plan.direct,
            "request_bytes": database.request_bytes(),
            "writers": database.writers(),
            "io_engine": database.engine(),
        }),
    };
    let (Value::Object(told), Value::Object(own)) = (&mut told, own) else { return Settings::new() };
    told.extend(own);
    told.insert("notes".to_owned(), json!(notes));
    if !plan.is_stable() {
        told.insert("unstable".to_owned(), json!("it creates, extends and deletes files"));
    }
    std::mem::take(told).into_iter().collect()
}

/// That the data are not the personality's own, where they are not.
fn scaled(plan: &FilesPlan) -> Option<String> {
    let name = plan.personality.name();
    (plan.scale() != 1.0).then(|| {
        let mib = plan.bytes() as f64 / f64::from(1 << 20);
        let percent = 100.0 * plan.scale();
        format!("the data are {percent:.2} % of those of {name}: {} files, {mib:.0} MiB", plan.present())
    })
}
