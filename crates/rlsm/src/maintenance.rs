//! Maintenance: the threads that flush, compact and sync, and how writes wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::allocator;
use crate::clock;
use crate::compaction;
use crate::engine::Engine;
use crate::flush::{flush, flush_all};
use crate::options::Sync;
use crate::write_pipeline::SharedPipeline;
use crate::{Error, Result};

/// How often the compaction thread looks for work without a signal.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Writes stall while this many immutable memtables are not flushed.
const IMMUTABLE_MEMTABLES_MAX: usize = 2;

/// Runs flushes and compactions, on threads or on the writer's.
pub(crate) enum MaintenanceRunner {
    Background(BackgroundMaintenance),
    Inline(InlineMaintenance),
}

impl MaintenanceRunner {
    /// Makes room for a write group of `bytes`: delays it while compaction is behind, stalls it while too many
    /// memtables are immutable, and rotates a full memtable. The group's leader calls this.
    pub fn make_room_for_write(&self, engine: &Engine, pipeline: &SharedPipeline, bytes: u64) -> Result<()> {
        if let Self::Background(_) = self {
            delay_write(engine, bytes);
        }
        if !pipeline.lock().is_memtable_full(engine) {
            return Ok(());
        }
        // Not under the pipeline's lock: a flush for a user takes it, and makes the room.
        if let Self::Background(background) = self {
            background.wait_for_flush(engine)?;
        }
        let mut pipeline = pipeline.lock();
        if pipeline.is_memtable_full(engine) {
            pipeline.rotate_memtable(engine)?;
        }
        if let Self::Background(background) = self {
            background.signals.wake();
        }
        Ok(())
    }

    /// Runs inline maintenance after a write group.
    pub fn run_after_write(&self, engine: &Engine, pipeline: &SharedPipeline) -> Result<()> {
        match self {
            Self::Inline(inline) if !engine.superversion().immutable_memtables.is_empty() => {
                let _exclusive = inline.exclusive.lock();
                run_all_due(engine, pipeline)
            }
            _ => Ok(()),
        }
    }

    /// Excludes all other maintenance until the returned guard is dropped.
    pub fn pause(&self) -> MaintenancePause<'_> {
        match self {
            Self::Background(background) => {
                let _wake = Some(WakeOnDrop(&background.signals));
                MaintenancePause {
                    _flush: Some(background.signals.flush.lock()),
                    _compact: background.signals.compact.lock(),
                    _wake,
                }
            }
            Self::Inline(inline) => MaintenancePause { _flush: None, _compact: inline.exclusive.lock(), _wake: None },
        }
    }

    /// Runs all flushes and compactions that are due. The caller holds the [`MaintenancePause`].
    pub fn run_all_due(&self, engine: &Engine, pipeline: &SharedPipeline) -> Result<()> {
        run_all_due(engine, pipeline)
    }

    /// Ends the threads once each has finished its current step.
    pub fn stop(&mut self) {
        match self {
            Self::Background(background) => background.stop(),
            Self::Inline(inline) => inline.wal_sync.stop(),
        }
    }
}

/// While it lives, no other flush or compaction runs.
pub(crate) struct MaintenancePause<'a> {
    _flush: Option<MutexGuard<'a, ()>>,
    _compact: MutexGuard<'a, ()>,
    _wake: Option<WakeOnDrop<'a>>,
}

/// Wakes writers, which may wait for the room that was made.
struct WakeOnDrop<'a>(&'a MaintenanceSignals);

impl Drop for WakeOnDrop<'_> {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// Delays a write while compaction is behind.
fn delay_write(engine: &Engine, bytes: u64) {
    let began = clock::now();
    let delay_ns = engine.pressure.write_controller.delay_ns(bytes, began.as_nanos() as u64);
    if delay_ns > 0 {
        std::thread::park_timeout(Duration::from_nanos(delay_ns));
        engine.counters.slowdowns.add(1);
        engine.counters.slowed_ns.add((clock::now() - began).as_nanos() as u64);
    }
}

fn run_all_due(engine: &Engine, pipeline: &SharedPipeline) -> Result<()> {
    flush_all(engine)?;
    pipeline.lock().forget_wals_before(engine.log());
    while compaction::compact_level0(engine, false)? {}
    while compaction::run_deferred(engine)? {}
    engine.reclaim()?;
    allocator::release_free_memory();
    Ok(())
}

/// Maintenance on the thread that writes. Only syncs at an interval have a thread of their own.
pub(crate) struct InlineMaintenance {
    exclusive: Mutex<()>,
    wal_sync: BackgroundMaintenance,
}

impl InlineMaintenance {
    pub fn start(engine: &Arc<Engine>, pipeline: &Arc<SharedPipeline>) -> Result<Self> {
        let mut wal_sync = BackgroundMaintenance::new();
        wal_sync.spawn_wal_sync(engine, pipeline)?;
        Ok(Self { exclusive: Mutex::new(()), wal_sync })
    }
}

/// Maintenance on background threads: one flushes, one compacts, and one syncs the WAL at an interval, if configured.
pub(crate) struct BackgroundMaintenance {
    signals: Arc<MaintenanceSignals>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct MaintenanceSignals {
    is_stopped: AtomicBool,
    /// Incremented by everything that may create work.
    work_epoch: Mutex<u64>,
    changed: Condvar,
    /// Held during a flush.
    flush: Mutex<()>,
    /// Held during a compaction step.
    compact: Mutex<()>,
}

impl MaintenanceSignals {
    fn wake(&self) {
        *self.work_epoch.lock() += 1;
        self.changed.notify_all();
    }

    /// Waits until the epoch differs from `seen_epoch`, which is updated, or until `limit` has passed. Returns `false`
    /// once the database closes.
    fn wait(&self, seen_epoch: &mut u64, limit: Option<Duration>) -> bool {
        let mut work_epoch = self.work_epoch.lock();
        if *work_epoch == *seen_epoch && !self.is_stopped.load(Ordering::Acquire) {
            match limit {
                Some(limit) => {
                    self.changed.wait_for(&mut work_epoch, limit);
                }
                None => self.changed.wait(&mut work_epoch),
            }
        }
        *seen_epoch = *work_epoch;
        !self.is_stopped.load(Ordering::Acquire)
    }
}

impl BackgroundMaintenance {
    fn new() -> Self {
        Self { signals: Arc::default(), threads: Vec::new() }
    }

    pub fn start(engine: &Arc<Engine>, pipeline: &Arc<SharedPipeline>) -> Result<Self> {
        let mut background = Self::new();
        background.spawn("rlsm-flush", engine, pipeline, flush_loop)?;
        background.spawn("rlsm-compact", engine, pipeline, compaction_loop)?;
        background.spawn_wal_sync(engine, pipeline)?;
        Ok(background)
    }

    fn spawn_wal_sync(&mut self, engine: &Arc<Engine>, pipeline: &Arc<SharedPipeline>) -> Result<()> {
        let Sync::Interval(interval) = engine.options.sync else { return Ok(()) };
        self.spawn("rlsm-sync", engine, pipeline, move |engine, pipeline, signals| {
            wal_sync_loop(engine, pipeline, signals, interval)
        })
    }

    fn spawn(
        &mut self,
        name: &str,
        engine: &Arc<Engine>,
        pipeline: &Arc<SharedPipeline>,
        work: impl FnOnce(&Engine, &SharedPipeline, &MaintenanceSignals) + Send + 'static,
    ) -> Result<()> {
        let (engine, pipeline, signals) = (Arc::clone(engine), Arc::clone(pipeline), Arc::clone(&self.signals));
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&engine, &pipeline, &signals));
        self.threads.push(thread.map_err(Error::io("starting the thread", name))?);
        Ok(())
    }

    /// Stalls until another memtable may become immutable.
    fn wait_for_flush(&self, engine: &Engine) -> Result<()> {
        if engine.superversion().immutable_memtables.len() < IMMUTABLE_MEMTABLES_MAX {
            return Ok(());
        }
        let began = clock::now();
        let mut seen_epoch = 0;
        while engine.superversion().immutable_memtables.len() >= IMMUTABLE_MEMTABLES_MAX {
            engine.check()?;
            self.signals.wait(&mut seen_epoch, None);
        }
        engine.counters.stalls.add(1);
        engine.counters.stalled_ns.add((clock::now() - began).as_nanos() as u64);
        Ok(())
    }

    fn stop(&mut self) {
        self.signals.is_stopped.store(true, Ordering::Release);
        self.signals.wake();
        for thread in self.threads.drain(..) {
            // The panic of a thread has been printed by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for BackgroundMaintenance {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A failure stops all writing and reaches the next writer: this thread has no caller to return it to.
fn flush_loop(engine: &Engine, pipeline: &SharedPipeline, signals: &MaintenanceSignals) {
    let mut seen_epoch = 0;
    loop {
        loop {
            let _exclusive = signals.flush.lock();
            if !flush(engine).is_ok_and(|did| did) {
                break;
            }
            drop(_exclusive);
            if let Some(mut pipeline) = pipeline.try_lock() {
                pipeline.forget_wals_before(engine.log());
            }
            signals.wake();
            allocator::release_free_memory();
        }
        if engine.check().is_err() {
            signals.wake();
            return;
        }
        if !signals.wait(&mut seen_epoch, None) {
            return;
        }
    }
}

fn compaction_loop(engine: &Engine, _: &SharedPipeline, signals: &MaintenanceSignals) {
    let mut seen_epoch = 0;
    loop {
        while !signals.is_stopped.load(Ordering::Acquire) {
            let _exclusive = signals.compact.lock();
            let step = compaction::compact_level0(engine, false)
                .and_then(|did| if did { Ok(true) } else { compaction::run_deferred(engine) });
            // What a step replaced is in use until it has returned.
            if !step.and_then(|did| engine.reclaim().map(|()| did)).is_ok_and(|did| did) {
                break;
            }
            drop(_exclusive);
            signals.wake();
            allocator::release_free_memory();
        }
        if engine.check().is_err() {
            signals.wake();
            return;
        }
        // Scans signal nothing, but may create work.
        if !signals.wait(&mut seen_epoch, Some(POLL_INTERVAL)) {
            return;
        }
    }
}

fn wal_sync_loop(engine: &Engine, pipeline: &SharedPipeline, signals: &MaintenanceSignals, interval: Duration) {
    let mut seen_epoch = 0;
    while signals.wait(&mut seen_epoch, Some(interval)) {
        if pipeline.lock().sync(engine).is_err() {
            return;
        }
    }
}
