//! A `kv` workload from its job to its end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_target::engine::directory::{DatabaseDirectory, Marker};
use manometer_target::engine::elsewhere::{self, DataElsewhere, Left};
use manometer_target::engine::{Engine, Keeps, OpenRequest};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::json;

use super::client::{Client, Shared};
use super::counted::Counted;
use super::error::KvError;
use super::gate::Gate;
use super::load::{Watch, load};
use super::plan::KvPlan;
use super::population::Population;
use super::sampler::Sampler;
use super::settings::KvSettings;
use crate::control::{Controls, Sink};
use crate::protocol::{Control, Job, Message};

/// The longest time between two looks at the control lines.
const LOOK_NS: u64 = 10_000_000;

/// What a workload leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// The database, held until dropped; nothing for an engine that keeps none.
    pub database: Option<DatabaseDirectory>,
    /// What was put into a server that is not ours and may be emptied.
    pub elsewhere: Option<Left>,
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
        if plan.work.unstable().is_some() {
            database.as_mut().map_or(Ok(()), DatabaseDirectory::set_changed)?;
            elsewhere.as_mut().map_or(Ok(()), |data| data.set_changed(&*engine))?;
        }
        watch.sink.send(Message::Ready { facts: facts(&plan, &*engine, is_there) })?;
        Course { plan: &plan, job, engine: &*engine, clock }.run(watch)?;
    }
    Ok(Finished { database, elsewhere: if is_there { None } else { Left::of(engine) } })
}

fn marker(plan: &KvPlan, seed: u64) -> Marker {
    Marker {
        engine: plan.engine.name.to_owned(),
        engine_version: (plan.engine.version)(),
        options: plan.options_told(),
        records: plan.work.loaded,
        form: plan.work.form(),
        value_bytes: plan.value_bytes() as u64,
        load: json!(plan.load).as_str().unwrap_or_default().to_owned(),
        seed,
        loaded: false,
        changed: false,
    }
}

fn facts(plan: &KvPlan, engine: &dyn Engine, reused: bool) -> Settings {
    let units: Settings =
        engine.state().columns().iter().map(|(name, unit)| ((*name).to_owned(), json!(unit))).collect();
    let notes: Vec<String> = plan.notes.iter().cloned().chain(engine.elsewhere().and_then(elsewhere::note)).collect();
    let mut facts = Settings::new();
    let told = json!({
        "engine": plan.engine.name,
        "engine_version": (plan.engine.version)(),
        "durability": plan.engine.durability,
        "workload": plan.workload,
        "records": plan.work.records,
        "value_bytes": plan.value_bytes(),
        "distribution": plan.work.distribution.kind(),
        "exponent": plan.work.distribution.exponent(),
        "loaded": plan.work.loaded,
        "unstable": plan.work.unstable(),
        "threads": plan.threads,
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

/// The requests themselves, from `ready` to `stop`.
struct Course<'a, C> {
    plan: &'a KvPlan,
    job: &'a Job,
    engine: &'a dyn Engine,
    clock: &'a C,
}

impl<C: Clock> Course<'_, C> {
    fn run(&self, watch: Watch) -> Result<(), KvError> {
        let gate = Gate::default();
        let population = Population::new(self.plan.work.part());
        let at_work = AtomicU32::new(self.plan.threads);
        let shared =
            Shared { plan: self.plan, seed: self.job.seed, clock: self.clock, gate: &gate, population: &population };
        let counted: Vec<Counted> = (0..self.plan.all_threads()).map(|_| Counted::default()).collect();
        let failed = Mutex::new(None);
        let places = if self.plan.pin { processors()? } else { Vec::new() };
        let driven = std::thread::scope(|scope| {
            let mut clients = Vec::new();
            for (thread, counted) in (0..).zip(&counted) {
                let (shared, failed, places, at_work) = (&shared, &failed, &places, &at_work);
                clients.push(scope.spawn(move || {
                    let result = pin(thread, places)
                        .and_then(|()| Client::new(shared, thread, counted, self.engine.session()).run());
                    if thread < self.plan.threads {
                        at_work.fetch_sub(1, Ordering::Release);
                    }
                    if let Err(error) = result {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }));
            }
            let mut driver = Driver {
                clock: self.clock,
                engine: self.engine,
                gate: &gate,
                failed: &failed,
                at_work: &at_work,
                sampler: Sampler::new(
                    &self.plan.work.operations(),
                    &counted,
                    self.engine.state(),
                    self.job.interval_ms,
                ),
                going: false,
            };
            let driven = driver.drive(watch);
            gate.stop();
            // A writer that the engine holds back, on a full disk say, is let go by the look alone.
            while clients.iter().any(|client| !client.is_finished()) {
                self.clock.sleep(LOOK_NS);
                let _ = self.engine.check();
            }
            let panicked = clients.into_iter().any(|client| client.join().is_err());
            if panicked { Err(KvError::Panicked) } else { driven }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => driven,
        }
    }
}

/// Heeds control lines and takes samples while the threads are at work.
struct Driver<'a, C> {
    clock: &'a C,
    engine: &'a dyn Engine,
    gate: &'a Gate,
    failed: &'a Mutex<Option<KvError>>,
    /// Threads that have not yet sent all they were to send.
    at_work: &'a AtomicU32,
    sampler: Sampler<'a>,
    going: bool,
}

impl<C: Clock> Driver<'_, C> {
    /// Drives until told to stop, until everything has been asked, or until a thread fails.
    fn drive(&mut self, mut watch: Watch) -> Result<(), KvError> {
        while self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            self.engine.check()?;
            if self.at_work.load(Ordering::Acquire) == 0 {
                return self.halt(watch.sink);
            }
            match watch.early.pop_front().or_else(|| watch.controls.poll()) {
                Some(Control::Go) => self.go(),
                Some(Control::Wait) => self.halt(watch.sink)?,
                Some(Control::Stop) => return self.halt(watch.sink),
                Some(Control::Set(settings)) => {
                    let reason = "the settings of a kv workload cannot change while it runs".to_owned();
                    watch.sink.send(Message::Refused { line: Control::Set(settings).to_string(), reason })?;
                }
                None => self.wait_and_sample(watch.sink)?,
            }
        }
        Ok(())
    }

    fn go(&mut self) {
        if !self.going {
            self.sampler.begin(self.clock.now_ns());
            self.gate.open();
            self.going = true;
        }
    }

    /// Holds the threads and tells what they did since the last beat.
    fn halt(&mut self, sink: &mut dyn Sink) -> Result<(), KvError> {
        if self.going {
            self.gate.close();
            self.going = false;
            sink.send(Message::Sample(self.sampler.take(self.clock.now_ns())))?;
        }
        Ok(())
    }

    /// Waits for the next beat, but not so long that a control line would have to.
    fn wait_and_sample(&mut self, sink: &mut dyn Sink) -> Result<(), KvError> {
        let now_ns = self.clock.now_ns();
        let look_ns = now_ns + LOOK_NS;
        if !self.going {
            self.clock.sleep_until(look_ns);
        } else if now_ns >= self.sampler.beat_ns() {
            sink.send(Message::Sample(self.sampler.take(now_ns)))?;
        } else {
            self.clock.sleep_until(look_ns.min(self.sampler.beat_ns()));
        }
        Ok(())
    }
}

/// The processors this process may run on, in order.
fn processors() -> Result<Vec<usize>, KvError> {
    let allowed = sched_getaffinity(None).map_err(|errno| KvError::Pin { thread: 0, reason: errno.into() })?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// Ties this thread to its place among `places`, if there are any.
fn pin(thread: u32, places: &[usize]) -> Result<(), KvError> {
    if places.is_empty() {
        return Ok(());
    }
    let mut own = CpuSet::new();
    own.set(places[thread as usize % places.len()]);
    sched_setaffinity(None, &own).map_err(|errno| KvError::Pin { thread, reason: errno.into() })
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
