//! Runs a replay.

use std::num::NonZero;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Dispatch, ReplayOutcome, stopwatch};
use manometer_target::engine::directory::DatabaseManifest;
use manometer_target::engine::{Engine, external};
use serde_json::json;

use super::client::{Client, ClientContext, ReplayCounters, RequestSource};
use super::error::ReplayError;
use super::lane::{Lane, LaneAssignment, LaneReceiver, lanes};
use super::leader_followers::{LeaderFollowers, LeaderState};
use super::load::load;
use super::open_loop::OpenLoopThreads;
use super::order::{KeyOrder, Order};
use super::plan::ReplayPlan;
use super::read_ahead::read_ahead;
use super::request::ReplayRequest;
use super::schedule::{Schedule, margin_ns};
use super::scheduling::SchedulingClass;
use super::second_pass::reopen;
use super::settings::{ReplayModel, ReplaySettings, Timing};
use super::survey::hash_id;
use super::thread_guard::ThreadGuard;
use super::workload::ReplayWorkload;
use crate::error::WorkloadError;
use crate::interface::{Driver, PreparedWorkload, Progress, WorkloadContext, WorkloadData, WorkloadEvent};
use crate::kv::gate::Gate;
use crate::kv::manifest_options;
use crate::kv::pace::wake_precisely;
use crate::kv::request::KvOperation;
use crate::kv::sampler::Sampler;
use crate::kv::storage::{self, EngineData, EngineRequest};

/// How often the end of the threads is polled, in nanoseconds.
const POLL_NS: u64 = 10_000_000;

/// Replays a trace at `place` until its end, or until `driver` stops it. Reads the trace once to survey it, loads the
/// keys that it requires, and sends its requests. The last event is the outcome.
///
/// # Errors
/// The settings, the trace, the directory or the engine are invalid, or the engine failed.
pub fn run<C: Clock>(
    place: &WorkloadContext,
    settings: &ReplaySettings,
    driver: &mut dyn Driver,
    clock: &C,
) -> Result<WorkloadData, WorkloadError> {
    let plan = ReplayPlan::new(settings)?;
    let request = EngineRequest {
        engine: plan.engine,
        options: &plan.options,
        value_bytes: plan.value_bytes_mean,
        marker: marker(&plan, place.seed),
        loads: plan.prepares(),
    };
    let (engine, mut storage) = storage::open(place, request).map_err(ReplayError::from)?;
    let is_reused = storage.is_reused();
    let mut progress = Progress::new(driver, "loading");
    if plan.prepares() && !is_reused {
        fill(&plan, place.seed, &*engine, &mut storage, &mut progress)?;
    }
    if !progress.is_stopped {
        if plan.operations.iter().any(|operation| !matches!(operation, KvOperation::Read | KvOperation::Scan)) {
            storage.set_changed(&*engine).map_err(ReplayError::from)?;
        }
        // Processes that share a trace have one seed: they spread requests equally, and make different values.
        let seeds = ReplaySeeds { times: place.seed, requests: place.seed.wrapping_add(plan.part()) };
        let replayed = replay(&plan, seeds, &*engine, clock, driver, is_reused)?;
        driver.emit(WorkloadEvent::Replayed { t_ns: clock.now_ns(), replayed: Box::new(replayed) });
    }
    Ok(storage.into_data(engine))
}

/// The seeds of a replay.
#[derive(Debug, Clone, Copy)]
struct ReplaySeeds {
    /// Of the times of requests that are spread.
    times: u64,
    /// Of values.
    requests: u64,
}

/// Loads the keys that the trace requires, settles the engine, and marks the database as loaded.
fn fill(
    plan: &ReplayPlan,
    seed: u64,
    engine: &dyn Engine,
    storage: &mut EngineData,
    progress: &mut Progress<'_>,
) -> Result<(), ReplayError> {
    load(plan, seed, plan.required.as_deref().unwrap_or_default(), engine, progress)?;
    if !progress.is_stopped {
        engine.settle()?;
        storage.set_loaded(engine)?;
    }
    Ok(())
}

/// Sends the requests until the trace ends or `driver` stops.
fn replay<C: Clock>(
    plan: &ReplayPlan,
    seeds: ReplaySeeds,
    engine: &dyn Engine,
    clock: &C,
    driver: &mut dyn Driver,
    is_reused: bool,
) -> Result<ReplayOutcome, WorkloadError> {
    let seed = seeds.requests;
    let reader = reopen(&plan.file, plan.stamp)?;
    let (margin_ns, allowed) = if plan.time == Timing::Full { (0, None) } else { calibrate(clock)? };
    let (gate, first_error) = (Gate::default(), Mutex::new(None));
    let schedule = Schedule::new(margin_ns, spinners());
    let context = ClientContext { plan, seed, clock, gate: &gate, schedule: &schedule, first_error: &first_error };
    let open_loop = if plan.model == ReplayModel::Open {
        engine.open_loop(plan.threads).transpose().map_err(ReplayError::from)?
    } else {
        None
    };
    let open_loop = open_loop.map(OpenLoopThreads::new);
    let (counted, threads) =
        if open_loop.is_some() { (1, OpenLoopThreads::NUMBER) } else { (plan.threads, plan.threads) };
    let counters: Vec<ReplayCounters> = (0..counted).map(|_| ReplayCounters::default()).collect();
    let (senders, receivers) = lanes(plan.lane_assignment());
    let keys = (threads > 1 && !plan.model.is_ordered() && open_loop.is_none()).then(KeyOrder::new);
    let leader_followers =
        LeaderFollowers::new(LeaderState { lane: Lane::new(&receivers[0]), dispatch: Dispatch::new(plan.resolution) });
    let at_work = AtomicU32::new(threads);
    let ((began_ns, cut), dispatch) = std::thread::scope(|scope| {
        let reader_thread = scope.spawn(|| read_ahead(plan, seeds.times, reader, senders));
        let mut clients = Vec::new();
        if let Some(open_loop) = &open_loop {
            clients.extend(open_loop.start(scope, &context, &counters[0], &receivers[0], &at_work));
        } else {
            for (thread, counters) in (0..).zip(&counters) {
                let order = keys.as_ref().map_or(Order::Own(0), Order::Shared);
                let source = source(plan, thread, &receivers, &leader_followers);
                let (context, at_work, own) = (&context, &at_work, own_lane(plan, thread, &receivers));
                clients.push(scope.spawn(move || {
                    let _guard = ThreadGuard { at_work, own };
                    Ok(Client::new(context, thread, counters, engine.session(), order).run(source))
                }));
            }
        }
        let sampler = Sampler::new(&plan.operations, counters.iter().map(|counters| &counters.counted));
        let mut workload = ReplayWorkload::new(engine, (&gate, &schedule), &counters, &at_work, sampler);
        let facts = facts(plan, engine, is_reused, &context, (threads, allowed));
        let driven = driver
            .drive(PreparedWorkload { facts, state: Some(engine.state_sampler()), script: Vec::new() }, &mut workload);
        let outcome = (workload.began_ns, !workload.is_at_end());
        gate.stop();
        open_loop.iter().for_each(OpenLoopThreads::stop);
        // Close the lanes before the threads have ended: a thread with an empty lane waits for the reader, and the
        // reader for room in another lane.
        receivers.iter().for_each(LaneReceiver::close);
        // `check` releases a writer that the engine stalls, for example on a full disk.
        while clients.iter().any(|client| !client.is_finished()) {
            clock.sleep(POLL_NS);
            let _ = engine.check_background();
        }
        // Join all: an unjoined thread that panicked would make the scope panic.
        let ended: Vec<_> =
            clients.into_iter().map(|client| client.join().unwrap_or(Err(ReplayError::Panicked))).collect();
        let fed = reader_thread.join().unwrap_or(Err(ReplayError::Panicked));
        driven?;
        let dispatch = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
        fed?;
        Ok::<_, WorkloadError>((outcome, dispatch))
    })?;
    let first_error = first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_led = plan.model == ReplayModel::Open && open_loop.is_none();
    let whole = if is_led { Some(leader_followers.dispatch()) } else { merge_dispatch(dispatch) };
    let ended_ns = counters.iter().map(ReplayCounters::ended_ns).max().unwrap_or(0);
    let length_ns = ended_ns.saturating_sub(began_ns);
    Ok(ReplayOutcome { error: first_error, length_ns, interrupted: cut, ..replayed(plan, &counters, whole) })
}

/// Measures how early threads must wake, on a thread with the scheduling class of the client threads.
fn calibrate<C: Clock>(clock: &C) -> Result<(u64, Option<SchedulingClass>), ReplayError> {
    let trial = || {
        wake_precisely();
        let allowed = SchedulingClass::here();
        (margin_ns(clock), Some(allowed))
    };
    std::thread::scope(|scope| scope.spawn(trial).join().map_err(|_| ReplayError::Panicked))
}

/// How many threads may spin at a time: all processors but one, which is left to the reader.
fn spinners() -> u32 {
    let processors = available_parallelism().map_or(1, NonZero::get);
    u32::try_from(processors.saturating_sub(1)).unwrap_or(u32::MAX).max(1)
}

/// The source of requests of thread `thread`.
fn source<'t, 'o>(
    plan: &ReplayPlan,
    thread: u32,
    receivers: &'o [LaneReceiver<ReplayRequest>],
    leader_followers: &'t LeaderFollowers<'o>,
) -> RequestSource<'t, 'o> {
    let dispatch = || Box::new(Dispatch::new(plan.resolution));
    match (plan.model, plan.time) {
        (ReplayModel::Open, _) => RequestSource::LeaderFollowers(leader_followers),
        (ReplayModel::ClosedUnordered, _) | (_, Timing::Full) => RequestSource::Full(Lane::new(&receivers[0])),
        (ReplayModel::ClosedConservative, _) => RequestSource::Paced(Lane::new(&receivers[0]), dispatch()),
        (ReplayModel::ClosedPerClient, _) => RequestSource::Paced(Lane::new(&receivers[thread as usize]), dispatch()),
    }
}

/// The lane that only thread `thread` consumes.
fn own_lane<'o>(
    plan: &ReplayPlan,
    thread: u32,
    receivers: &'o [LaneReceiver<ReplayRequest>],
) -> Option<&'o LaneReceiver<ReplayRequest>> {
    matches!(plan.lane_assignment(), LaneAssignment::PerOwner(_)).then(|| &receivers[thread as usize])
}

/// The dispatch delays of all threads together; `None` without a schedule.
fn merge_dispatch(dispatch: Vec<Option<Dispatch>>) -> Option<Dispatch> {
    dispatch.into_iter().flatten().reduce(|mut all, one| {
        all.add(&one);
        all
    })
}

/// The counts of all threads together.
fn replayed(plan: &ReplayPlan, counters: &[ReplayCounters], dispatch: Option<Dispatch>) -> ReplayOutcome {
    let totals = counters.iter().map(ReplayCounters::totals);
    let [sent, errors, order_violations, given_up, in_flight_max] =
        totals.fold([0; 5], |all, one| std::array::from_fn(|place| all[place] + one[place]));
    ReplayOutcome {
        model: plan.model.name().to_owned(),
        ordered: plan.model.is_ordered(),
        requests: plan.requests,
        sent,
        errors,
        order_violations,
        given_up,
        in_flight_max,
        damage: plan.damage.clone(),
        lost: plan.lost,
        sent_as: plan.sent_as.clone(),
        dispatch,
        ..ReplayOutcome::default()
    }
}

fn marker(plan: &ReplayPlan, seed: u64) -> DatabaseManifest {
    let required = plan.required.as_deref().unwrap_or_default();
    let each =
        required.iter().map(|one| hash_id(one.key ^ hash_id(u64::from(one.key_bytes))) ^ one.value_bytes.unwrap_or(0));
    let check = each.fold(0, |all: u64, one| all.wrapping_add(hash_id(one)));
    DatabaseManifest {
        engine: plan.engine.name.to_owned(),
        engine_version: (plan.engine.version)(),
        options: manifest_options(&plan.options),
        records: required.len() as u64,
        form: format!("keys of a trace, {check:016x}"),
        value_bytes: plan.value_size.map_or(0, u64::from),
        load: "bulk".to_owned(),
        seed,
        loaded: false,
        changed: false,
        made_at_unix_ns: 0,
    }
}

fn facts<C>(
    plan: &ReplayPlan,
    engine: &dyn Engine,
    reused: bool,
    context: &ClientContext<'_, C>,
    (threads, allowed): (u32, Option<SchedulingClass>),
) -> Settings {
    let units: Settings =
        engine.state_sampler().columns().into_iter().map(|column| (column.name, json!(column.unit))).collect();
    let notes: Vec<String> =
        plan.notes.iter().cloned().chain(engine.external_server().and_then(external::note)).collect();
    let describe = json!({
        "engine": plan.engine.name,
        "engine_version": (plan.engine.version)(),
        "durability": plan.engine.durability,
        "trace": plan.file.trace,
        "model": plan.model,
        "time": plan.time,
        "factor": (plan.time == Timing::Scaled).then_some(plan.factor),
        "requests": plan.requests,
        "span_s": allowed.map(|_| plan.resolution.span_ns as f64 / 1e9),
        "records": plan.required.as_ref().map(Vec::len),
        "threads": threads,
        "connections": (threads != plan.threads).then_some(plan.threads),
        "spread": plan.spread_name(),
        "margin_us": allowed.map(|_| context.schedule.margin_ns() as f64 / 1e3),
        "scheduling": allowed.map(SchedulingClass::describe),
        "stopwatch": stopwatch::name(),
        "reused": reused,
        "notes": notes,
        "state_units": units,
    });
    let mut facts = Settings::new();
    if let serde_json::Value::Object(describe) = describe {
        facts.extend(describe.into_iter().filter(|(_, fact)| !fact.is_null()));
    }
    // The engine's own facts about this run override the general ones, above all its durability.
    facts.extend(engine.facts());
    facts
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
