//! The client threads, from their start to their end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use manometer_measure::Clock;
use manometer_target::engine::Engine;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::client::{Client, ClientContext};
use super::error::KvError;
use super::gate::Gate;
use super::pace::{self, Arrivals};
use super::plan_history::PlanHistory;
use super::population::Population;
use super::thread_counters::ThreadCounters;

/// How often the threads' end is polled.
const POLL_NS: u64 = 10_000_000;

/// The client threads, as the workload sees them.
pub(super) struct ClientThreads<'a> {
    pub(super) plans: &'a PlanHistory,
    pub(super) gate: &'a Gate,
    pub(super) arrivals: &'a Arrivals,
    pub(super) counters: &'a [ThreadCounters],
    failed: &'a Mutex<Option<KvError>>,
    /// Threads that have requests left to send.
    at_work: &'a AtomicU32,
    /// Background threads, which end only with the run.
    background: u32,
}

impl ClientThreads<'_> {
    /// Whether a thread has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// How many threads have requests left to send.
    pub(super) fn at_work(&self) -> u32 {
        self.at_work.load(Ordering::Acquire)
    }

    /// Whether every thread, background ones included, waits at the closed gate or has nothing left to send.
    pub(super) fn are_parked(&self) -> bool {
        self.gate.parked() >= self.at_work() + self.background
    }
}

/// Starts the threads of the latest of `plans` on `engine` at a closed gate, calls `drive` with them, and ends them.
pub(super) fn run_threads<C: Clock, T, E: From<KvError>>(
    plans: &PlanHistory,
    seed: u64,
    arrivals: Arrivals,
    engine: &dyn Engine,
    clock: &C,
    drive: impl FnOnce(&ClientThreads<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let plan = plans.latest();
    let (gate, population) = (Gate::default(), Population::new(plan.spec.record_range()));
    arrivals.change(&plan.pace, seed, clock.now_ns());
    let context = ClientContext { plan, plans, seed, clock, gate: &gate, population: &population, arrivals: &arrivals };
    let counters: Vec<ThreadCounters> = (0..plan.all_threads()).map(|_| ThreadCounters::default()).collect();
    let (failed, at_work) = (Mutex::new(None), AtomicU32::new(plan.threads));
    let places = if plan.pin { processors()? } else { Vec::new() };
    let driven = std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for (thread, counters) in (0..).zip(&counters) {
            // Background threads end with the others: the run does not wait for them.
            let at_work = (thread < plan.threads).then_some(&at_work);
            let guard = ThreadGuard { at_work, failed: &failed };
            let (context, places) = (&context, &places);
            clients.push(scope.spawn(move || {
                pace::wake_precisely();
                guard.finish(
                    pin(thread, places).and_then(|()| Client::new(context, thread, counters, engine.session()).run()),
                );
            }));
        }
        let threads = ClientThreads {
            plans,
            gate: &gate,
            arrivals: &arrivals,
            counters: &counters,
            failed: &failed,
            at_work: &at_work,
            background: plan.all_threads() - plan.threads,
        };
        let driven = drive(&threads);
        gate.stop();
        // The check releases a writer that the engine stalls, for example on a full disk.
        while clients.iter().any(|client| !client.is_finished()) {
            clock.sleep(POLL_NS);
            let _ = engine.check_background();
        }
        // All of them: an unjoined thread that panicked would make the scope panic.
        let panicked: Vec<bool> = clients.into_iter().map(|client| client.join().is_err()).collect();
        if panicked.contains(&true) { Err(KvError::Panicked.into()) } else { driven }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None => driven,
    }
}

/// Records the end of its thread, a panic included.
struct ThreadGuard<'a> {
    at_work: Option<&'a AtomicU32>,
    failed: &'a Mutex<Option<KvError>>,
}

impl ThreadGuard<'_> {
    fn finish(self, result: Result<(), KvError>) {
        if let Err(error) = result {
            self.fail(error);
        }
    }

    fn fail(&self, error: KvError) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl Drop for ThreadGuard<'_> {
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

/// Pins this thread to its processor among `places`, if there are any.
fn pin(thread: u32, places: &[usize]) -> Result<(), KvError> {
    if places.is_empty() {
        return Ok(());
    }
    let mut own = CpuSet::new();
    own.set(places[thread as usize % places.len()]);
    sched_setaffinity(None, &own).map_err(|errno| KvError::Pin { thread, reason: errno.into() })
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
