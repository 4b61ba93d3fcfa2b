//! Runs a `kv` workload, from its settings to its end.

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_measure::stopwatch;
use manometer_target::engine::directory::DatabaseManifest;
use manometer_target::engine::{Engine, EngineError, StorageKind, external};
use serde_json::json;

use super::error::KvError;
use super::headroom::headroom;
use super::load::load;
use super::pace::Arrivals;
use super::plan::{KvPlan, manifest_options};
use super::plan_history::PlanHistory;
use super::script::read_script;
use super::settings::KvSettings;
use super::storage::{self, EngineData, EngineRequest};
use super::threads::run_threads;
use super::workload::KvWorkload;
use crate::error::WorkloadError;
use crate::interface::{Driver, PreparedWorkload, Progress, WorkloadContext, WorkloadData};

/// Runs the workload `settings` at `place` until `driver` stops it: prepares the database, then sends requests.
///
/// # Errors
/// The settings, the folder or the engine are invalid, the engine failed, or a record was lost.
pub fn run<C: Clock>(
    place: &WorkloadContext,
    settings: &KvSettings,
    driver: &mut dyn Driver,
    clock: &C,
) -> Result<WorkloadData, WorkloadError> {
    let plan = KvPlan::new(settings)?;
    let request = EngineRequest {
        engine: plan.engine,
        options: &plan.options,
        value_bytes: plan.value_bytes(),
        marker: marker(&plan, place.seed),
        loads: place.loads(),
    };
    let (engine, mut storage) = storage::open(place, request).map_err(KvError::from)?;
    let is_reused = storage.is_reused();
    let mut progress = Progress::new(driver, "loading");
    if plan.engine.storage != StorageKind::Nothing && !is_reused && place.loads() {
        fill(&plan, place.seed, &*engine, &mut storage, &mut progress, clock)?;
    }
    if !progress.is_stopped {
        let mut facts = facts(&plan, &*engine, is_reused);
        let seed = place.request_seed();
        if let Some(headroom) = headroom(&plan, seed, clock) {
            facts.insert("headroom_ops_per_s".to_owned(), json!(headroom));
        }
        let mut mark_changed = || storage.set_changed(&*engine);
        let first_arrival = place.first_arrival();
        let requests = Requests { plan, settings, seed, first_arrival, facts, mark_changed: &mut mark_changed };
        requests.send(&*engine, driver, clock)?;
    }
    Ok(storage.into_data(engine))
}

/// Loads the records, settles the engine, and marks the database as loaded.
fn fill(
    plan: &KvPlan,
    seed: u64,
    engine: &dyn Engine,
    storage: &mut EngineData,
    progress: &mut Progress<'_>,
    clock: &impl Clock,
) -> Result<(), KvError> {
    load(plan, seed, engine, progress, clock)?;
    if !progress.is_stopped {
        engine.settle()?;
        storage.set_loaded(engine)?;
    }
    Ok(())
}

/// The requests of a workload whose data are loaded.
pub struct Requests<'a> {
    /// What to send.
    pub plan: KvPlan,
    /// The settings that the plan follows from.
    pub settings: &'a KvSettings,
    /// The seed of every random choice.
    pub seed: u64,
    /// Where the first of constant arrivals lies, in gaps between arrivals.
    pub first_arrival: f64,
    /// Facts that the driver receives once all is ready.
    pub facts: Settings,
    /// Called before the first request that changes which records exist, or their lengths.
    pub mark_changed: &'a mut dyn FnMut() -> Result<(), EngineError>,
}

impl Requests<'_> {
    /// Sends them to `engine`, controlled by `driver`.
    ///
    /// # Errors
    /// The engine failed, or lost a record.
    pub fn send<C: Clock>(self, engine: &dyn Engine, driver: &mut dyn Driver, clock: &C) -> Result<(), WorkloadError> {
        let Self { plan, settings, seed, first_arrival, facts, mark_changed } = self;
        let script = read_script(settings).map_err(KvError::from)?;
        if plan.spec.unstable().is_some() {
            mark_changed().map_err(KvError::from)?;
        }
        let plans = PlanHistory::new(plan);
        run_threads(&plans, seed, Arrivals::starting_at(first_arrival), engine, clock, |threads| {
            let mut workload = KvWorkload::new(clock, engine, threads, settings, seed, mark_changed);
            driver.drive(PreparedWorkload { facts, state: Some(engine.state_sampler()), script }, &mut workload)
        })
    }
}

/// The marker of the database of `plan`.
pub(crate) fn marker(plan: &KvPlan, seed: u64) -> DatabaseManifest {
    DatabaseManifest {
        engine: plan.engine.name.to_owned(),
        engine_version: (plan.engine.version)(),
        options: manifest_options(&plan.options),
        records: plan.spec.loaded,
        form: plan.spec.form(),
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
        engine.state_sampler().columns().into_iter().map(|column| (column.name, json!(column.unit))).collect();
    let notes: Vec<String> =
        plan.notes.iter().cloned().chain(engine.external_server().and_then(external::note)).collect();
    let mut facts = Settings::new();
    let own = json!({
        "engine": plan.engine.name,
        "engine_version": (plan.engine.version)(),
        "durability": plan.engine.durability,
        "workload": plan.workload,
        "records": plan.spec.records,
        "value_bytes": plan.value_bytes(),
        "record_bytes": plan.record_bytes(),
        "distribution": plan.spec.describe_distribution(),
        "exponent": plan.spec.distribution.exponent(),
        "loaded": plan.spec.loaded,
        "unstable": plan.spec.unstable(),
        "threads": plan.threads,
        "loop": plan.pace.name(),
        "stopwatch": stopwatch::name(),
        "pipeline": plan.pipeline,
        "load": plan.load,
        "reused": reused,
        "notes": notes,
        "state_units": units,
    });
    if let serde_json::Value::Object(own) = own {
        facts.extend(own.into_iter().filter(|(_, fact)| !fact.is_null()));
    }
    // The engine's own facts about this run override the general ones, above all its durability.
    facts.extend(engine.facts());
    facts
}
