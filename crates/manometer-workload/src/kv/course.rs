//! The threads that ask, from their start to their end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use manometer_measure::Clock;
use manometer_target::engine::Engine;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::client::{Client, Shared};
use super::counted::Counted;
use super::error::KvError;
use super::gate::Gate;
use super::pace::{self, Arrivals};
use super::plans::Plans;
use super::population::Population;

/// How often the end of the threads is looked for.
const LOOK_NS: u64 = 10_000_000;

/// The threads at work, as whoever drives them sees them.
pub(super) struct Crew<'a> {
    pub(super) plans: &'a Plans,
    pub(super) gate: &'a Gate,
    pub(super) arrivals: &'a Arrivals,
    pub(super) counted: &'a [Counted],
    failed: &'a Mutex<Option<KvError>>,
    /// Threads that have not yet sent all they were to send.
    at_work: &'a AtomicU32,
    /// Threads that ask in the background, which end only when all is over.
    background: u32,
}

impl Crew<'_> {
    /// Whether a thread has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// How many threads have something left to send.
    pub(super) fn at_work(&self) -> u32 {
        self.at_work.load(Ordering::Acquire)
    }

    /// Whether every thread, in the background or not, waits at the closed gate or has nothing left to send.
    pub(super) fn has_landed(&self) -> bool {
        self.gate.parked() >= self.at_work() + self.background
    }
}

/// Starts the threads of `plan` on `engine` before a closed gate, lets `drive` work with them, and ends them.
pub(super) fn course<C: Clock, T>(
    plans: &Plans,
    seed: u64,
    engine: &dyn Engine,
    clock: &C,
    drive: impl FnOnce(&Crew<'_>) -> Result<T, KvError>,
) -> Result<T, KvError> {
    let plan = plans.latest();
    let (gate, arrivals, population) = (Gate::default(), Arrivals::default(), Population::new(plan.work.part()));
    arrivals.change(&plan.pace, seed, clock.now_ns());
    let shared = Shared { plan, plans, seed, clock, gate: &gate, population: &population, arrivals: &arrivals };
    let counted: Vec<Counted> = (0..plan.all_threads()).map(|_| Counted::default()).collect();
    let (failed, at_work) = (Mutex::new(None), AtomicU32::new(plan.threads));
    let places = if plan.pin { processors()? } else { Vec::new() };
    let driven = std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for (thread, counted) in (0..).zip(&counted) {
            // Threads in the background go on for as long as others do: nobody waits for them.
            let at_work = (thread < plan.threads).then_some(&at_work);
            let duty = Duty { at_work, failed: &failed };
            let (shared, places) = (&shared, &places);
            clients.push(scope.spawn(move || {
                pace::wake_precisely();
                duty.done(
                    pin(thread, places).and_then(|()| Client::new(shared, thread, counted, engine.session()).run()),
                );
            }));
        }
        let crew = Crew {
            plans,
            gate: &gate,
            arrivals: &arrivals,
            counted: &counted,
            failed: &failed,
            at_work: &at_work,
            background: plan.all_threads() - plan.threads,
        };
        let driven = drive(&crew);
        gate.stop();
        // A writer that the engine holds back, on a full disk say, is let go by the look alone.
        while clients.iter().any(|client| !client.is_finished()) {
            clock.sleep(LOOK_NS);
            let _ = engine.check();
        }
        // Every one of them: one that panicked and is not joined would have the scope panic too.
        let panicked: Vec<bool> = clients.into_iter().map(|client| client.join().is_err()).collect();
        if panicked.contains(&true) { Err(KvError::Panicked) } else { driven }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => driven,
    }
}

/// A thread's duty: it ends with the thread, however that ends, so that nobody waits for one that panicked.
struct Duty<'a> {
    at_work: Option<&'a AtomicU32>,
    failed: &'a Mutex<Option<KvError>>,
}

impl Duty<'_> {
    fn done(self, result: Result<(), KvError>) {
        if let Err(error) = result {
            self.fail(error);
        }
    }

    fn fail(&self, error: KvError) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fail(KvError::Panicked);
        }
        if let Some(at_work) = self.at_work {
            at_work.fetch_sub(1, Ordering::Release);
        }
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
#[path = "course_tests.rs"]
mod tests;
