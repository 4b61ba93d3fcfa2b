//! A `kv` workload from its job to its end.

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_measure::stopwatch;
use manometer_target::engine::directory::{DatabaseDirectory, Marker};
use manometer_target::engine::elsewhere::{self, DataElsewhere, Left};
use manometer_target::engine::{Engine, EngineError, Keeps, OpenRequest};
use serde_json::json;

use super::course::course;
use super::driver::Driver;
use super::error::KvError;
use super::headroom::headroom;
use super::load::{Watch, load};
use super::plan::{KvPlan, options_told};
use super::plans::Plans;
use super::settings::KvSettings;
use super::state_reader::StateReader;
use crate::control::{Controls, Sink};
use crate::protocol::{Job, Message};

/// What a workload on an engine leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// The database, held until dropped; nothing for an engine that keeps none.
    pub database: Option<DatabaseDirectory>,
    /// What was put into a server that is not ours and may be emptied.
    pub elsewhere: Option<Left>,
}

impl Finished {
    /// Removes it.
    ///
    /// # Errors
    /// The folder cannot be removed, or the server refuses to be emptied.
    pub fn remove(self) -> Result<(), EngineError> {
        self.database.map_or(Ok(()), DatabaseDirectory::remove)?;
        self.elsewhere.map_or(Ok(()), Left::remove)
    }
}

/// Runs the workload `settings` of `job` until it is told to stop: prepares the database, says
/// [`Message::Ready`], and then sends requests and samples as the control lines say. The caller sends
/// [`Message::Done`] or [`Message::Error`].
///
/// # Errors
/// The settings, the folder or the engine are not as they should be, or a record was lost.
pub fn run<C: Clock>(
    job: &Job,
    settings: &KvSettings,
    controls: &Controls,
    sink: &mut dyn Sink,
    clock: &C,
) -> Result<Finished, KvError> {
    let plan = KvPlan::new(settings)?;
    let path = job.directory.join(&job.name);
    let mut database = match plan.engine.keeps == Keeps::Disk && !plan.options.lead_elsewhere() {
        true => Some(DatabaseDirectory::prepare(&path, marker(&plan, job.seed), job.existing)?),
        false => None,
    };
    let folder = database.as_ref().map_or(path, DatabaseDirectory::database);
    let request = OpenRequest { directory: &folder, options: &plan.options, value_bytes: plan.value_bytes() };
    let engine = (plan.engine.open)(&request)?;
    let prepare = |server| DataElsewhere::prepare(server, marker(&plan, job.seed), job.existing);
    let mut elsewhere = engine.elsewhere().map(prepare).transpose()?;
    let mut watch = Watch::new(controls, sink);
    let is_there = database.as_ref().is_some_and(DatabaseDirectory::is_reused)
        || elsewhere.as_ref().is_some_and(DataElsewhere::is_reused);
    if plan.engine.keeps != Keeps::Nothing && !is_there {
        load(&plan, job.seed, &*engine, &mut watch, clock)?;
        if !watch.stopped {
            engine.settle()?;
            database.as_mut().map_or(Ok(()), DatabaseDirectory::set_loaded)?;
            elsewhere.as_mut().map_or(Ok(()), |data| data.set_loaded(&*engine))?;
        }
    }
    if !watch.stopped {
        let mut mark_changed = || {
            database.as_mut().map_or(Ok(()), DatabaseDirectory::set_changed)?;
            elsewhere.as_mut().map_or(Ok(()), |data| data.set_changed(&*engine))
        };
        if plan.work.unstable().is_some() {
            mark_changed()?;
        }
        let mut facts = facts(&plan, &*engine, is_there);
        if let Some(headroom) = headroom(&plan, job.seed, clock) {
            facts.insert("headroom_ops_per_s".to_owned(), json!(headroom));
        }
        watch.sink.send(Message::Ready { facts })?;
        let plans = Plans::new(plan);
        std::thread::scope(|scope| {
            let reader = StateReader::new(scope, engine.state(), clock, job.interval_ms);
            let seed_and_interval = (job.seed, job.interval_ms);
            course(&plans, job.seed, &*engine, clock, |crew| {
                Driver::new(clock, &*engine, crew, settings, seed_and_interval, reader, &mut mark_changed)?.drive(watch)
            })
        })?;
    }
    Ok(Finished { database, elsewhere: if is_there { None } else { Left::of(engine) } })
}

/// What the marker of the database of `plan` says of what it follows from.
pub(crate) fn marker(plan: &KvPlan, seed: u64) -> Marker {
    Marker {
        engine: plan.engine.name.to_owned(),
        engine_version: (plan.engine.version)(),
        options: options_told(&plan.options),
        records: plan.work.loaded,
        form: plan.work.form(),
        value_bytes: plan.value_bytes() as u64,
        load: json!(plan.load).as_str().unwrap_or_default().to_owned(),
        seed,
        loaded: false,
        changed: false,
        made_at_unix_ns: 0,
    }
}

fn facts(plan: &KvPlan, engine: &dyn Engine, reused: bool) -> Settings {
    let units: Settings =
        engine.state().columns().into_iter().map(|column| (column.name, json!(column.unit))).collect();
    let notes: Vec<String> = plan.notes.iter().cloned().chain(engine.elsewhere().and_then(elsewhere::note)).collect();
    let mut facts = Settings::new();
    let told = json!({
        "engine": plan.engine.name,
        "engine_version": (plan.engine.version)(),
        "durability": plan.engine.durability,
        "workload": plan.workload,
        "records": plan.work.records,
        "value_bytes": plan.value_bytes(),
        "record_bytes": plan.record_bytes(),
        "distribution": plan.work.distribution_told(),
        "exponent": plan.work.distribution.exponent(),
        "loaded": plan.work.loaded,
        "unstable": plan.work.unstable(),
        "threads": plan.threads,
        "loop": plan.pace.name(),
        "stopwatch": stopwatch::name(),
        "pipeline": plan.pipeline,
        "load": plan.load,
        "reused": reused,
        "notes": notes,
        "state_units": units,
    });
    if let serde_json::Value::Object(told) = told {
        facts.extend(told.into_iter().filter(|(_, fact)| !fact.is_null()));
    }
    // What the engine itself says of this run, of its durability above all, is nearer than what is said of it.
    facts.extend(engine.facts());
    facts
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
