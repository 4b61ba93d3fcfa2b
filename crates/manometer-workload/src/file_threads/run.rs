//! Runs the threads of a workload from its facts to its last sample.

use std::thread::Builder;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Rate};

use super::counts::FileCounts;
use super::workload::FileThreads;
use super::{FileWork, FilesError, MAX_THREADS, ThreadContext, ThreadEnd};
use crate::error::WorkloadError;
use crate::interface::{Driver, PreparedWorkload, WorkloadEvent};
use crate::sample::{Sample, SampleCounts};
use crate::script::ScriptStep;

/// A workload whose files exist.
pub(crate) struct Prepared<'a, W: FileWork> {
    pub(crate) work: &'a W,
    pub(crate) settings: W::Settings,
    pub(crate) threads: u32,
    pub(crate) rate: Option<Rate>,
    /// The seed of the threads.
    pub(crate) seed: u64,
    pub(crate) facts: Settings,
    /// What the user is told first.
    pub(crate) notes: Vec<String>,
    pub(crate) script: Vec<ScriptStep>,
}

/// Runs the threads until `driver` stops them.
pub(crate) fn run_threads<W: FileWork>(
    prepared: Prepared<'_, W>,
    driver: &mut dyn Driver,
    clock: &dyn Clock,
) -> Result<(), WorkloadError> {
    let Prepared { work, settings, threads, rate, seed, facts, notes, script } = prepared;
    let writers = work.writers();
    let counts = FileCounts::new(MAX_THREADS + writers, work.skips());
    let shared = ThreadContext::new((threads, rate), seed, clock, counts);
    let mut counted_ns = clock.now_ns();
    let driven = std::thread::scope(|scope| {
        let shared = &shared;
        // Writers have the first numbers, whatever the number of the others.
        let mut start = |number: u32| {
            let run = move || {
                if let Err(ThreadEnd::Failed(error)) = work.work(shared, number) {
                    shared.fail(error);
                    work.close();
                }
            };
            let started = Builder::new().spawn_scoped(scope, run);
            started.map(drop).map_err(|source| FilesError::Thread { number: number + 1, source })
        };
        let started = (0..writers).try_for_each(&mut start);
        let mut start_reader = |number: u32| start(number + writers);
        let driven = started.map_err(WorkloadError::from).and_then(|()| {
            let mut workload = FileThreads::new(shared, (work, settings), (threads, rate), &mut start_reader, notes)?;
            let driven = driver.drive(PreparedWorkload { facts, state: None, script }, &mut workload);
            counted_ns = workload.counted_ns;
            driven
        });
        shared.gate.stop();
        work.close();
        driven
    });
    // Operations that completed while the threads ended count as well.
    let t_ns = clock.now_ns();
    let SampleCounts { operations, dropped, state } = shared.counts.take_counts(work.operations());
    let length_ns = t_ns.saturating_sub(counted_ns);
    driver.emit(WorkloadEvent::Sample(Sample { t_ns, length_ns, operations, dropped, state, state_t_ns: None }));
    shared.into_failed().map_or(driven, |error| Err(error.into()))
}
