//! Who flushes and compacts, and how writers wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::allocator;
use crate::clock;
use crate::compact;
use crate::core::Core;
use crate::flush::{flush, flush_all};
use crate::options::Sync;
use crate::write::SharedWriter;
use crate::{Error, Result};

/// Who compacts looks for work this often, at the least.
const IDLE: Duration = Duration::from_secs(1);

/// Writers wait while so many full memory buffers are not flushed.
const FROZEN_MAX: usize = 2;

/// The work behind a database.
pub(crate) enum Work {
    Background(Background),
    Inline(Inline),
}

impl Work {
    /// Freezes the memory buffer if it is full, and waits while too many are frozen, and for compaction if it is
    /// behind. For the leader of a group of `bytes`.
    pub fn make_room(&self, core: &Core, writer: &SharedWriter, bytes: u64) -> Result<()> {
        if let Self::Background(_) = self {
            slow_down(core, bytes);
        }
        if !writer.lock().is_full(core) {
            return Ok(());
        }
        // Not under the writer's lock: who flushes on a user's behalf takes it, and makes the room.
        if let Self::Background(background) = self {
            background.wait_for_room(core)?;
        }
        let mut writer = writer.lock();
        if writer.is_full(core) {
            writer.freeze(core)?;
        }
        if let Self::Background(background) = self {
            background.signals.wake();
        }
        Ok(())
    }

    /// After a group was written.
    pub fn after_write(&self, core: &Core, writer: &SharedWriter) -> Result<()> {
        match self {
            Self::Inline(inline) if !core.view().frozen.is_empty() => {
                let _alone = inline.alone.lock();
                catch_up(core, writer)
            }
            _ => Ok(()),
        }
    }

    /// Keeps all other work from running until the returned value is dropped.
    pub fn pause(&self) -> Paused<'_> {
        match self {
            Self::Background(background) => {
                let _wake = Some(WakeWhenDropped(&background.signals));
                Paused {
                    _flush: Some(background.signals.flush.lock()),
                    _compact: background.signals.compact.lock(),
                    _wake,
                }
            }
            Self::Inline(inline) => Paused { _flush: None, _compact: inline.alone.lock(), _wake: None },
        }
    }

    /// Does all that is due. For who has paused the others.
    pub fn catch_up(&self, core: &Core, writer: &SharedWriter) -> Result<()> {
        catch_up(core, writer)
    }

    /// Ends the threads, after what each is at.
    pub fn stop(&mut self) {
        match self {
            Self::Background(background) => background.stop(),
            Self::Inline(inline) => inline.syncing.stop(),
        }
    }
}

/// While it lives, nobody else flushes or compacts.
pub(crate) struct Paused<'a> {
    _flush: Option<MutexGuard<'a, ()>>,
    _compact: MutexGuard<'a, ()>,
    _wake: Option<WakeWhenDropped<'a>>,
}

/// Writers may wait for the room that was made.
struct WakeWhenDropped<'a>(&'a Signals);

impl Drop for WakeWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// Keeps writers from running ahead of compaction.
fn slow_down(core: &Core, bytes: u64) {
    let began = clock::now();
    let wait_ns = core.pressure.pace.wait_ns(bytes, began.as_nanos() as u64);
    if wait_ns > 0 {
        std::thread::park_timeout(Duration::from_nanos(wait_ns));
        core.counters.slowdowns.add(1);
        core.counters.slowed_ns.add((clock::now() - began).as_nanos() as u64);
    }
}

fn catch_up(core: &Core, writer: &SharedWriter) -> Result<()> {
    flush_all(core)?;
    writer.lock().forget_before(core.log());
    while compact::compact(core, false)? {}
    while compact::at_leisure(core)? {}
    core.reclaim()?;
    allocator::give_back();
    Ok(())
}

/// Work done by whoever writes, but for syncs at an interval, which come whether or not anyone writes.
pub(crate) struct Inline {
    alone: Mutex<()>,
    syncing: Background,
}

impl Inline {
    pub fn start(core: &Arc<Core>, writer: &Arc<SharedWriter>) -> Result<Self> {
        let mut syncing = Background::new();
        syncing.spawn_syncing(core, writer)?;
        Ok(Self { alone: Mutex::new(()), syncing })
    }
}

/// Work done by threads: one flushes, one compacts, and one syncs the log where that is asked for.
pub(crate) struct Background {
    signals: Arc<Signals>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Signals {
    is_stopped: AtomicBool,
    /// Counts what may have given the threads work.
    news: Mutex<u64>,
    changed: Condvar,
    /// Held by who flushes.
    flush: Mutex<()>,
    /// Held by who compacts.
    compact: Mutex<()>,
}

impl Signals {
    fn wake(&self) {
        *self.news.lock() += 1;
        self.changed.notify_all();
    }

    /// Waits until there is news after `seen`, which it brings up to date, or until `limit` has passed; false once the
    /// database closes.
    fn wait(&self, seen: &mut u64, limit: Option<Duration>) -> bool {
        let mut news = self.news.lock();
        if *news == *seen && !self.is_stopped.load(Ordering::Acquire) {
            match limit {
                Some(limit) => {
                    self.changed.wait_for(&mut news, limit);
                }
                None => self.changed.wait(&mut news),
            }
        }
        *seen = *news;
        !self.is_stopped.load(Ordering::Acquire)
    }
}

impl Background {
    fn new() -> Self {
        Self { signals: Arc::default(), threads: Vec::new() }
    }

    pub fn start(core: &Arc<Core>, writer: &Arc<SharedWriter>) -> Result<Self> {
        let mut background = Self::new();
        background.spawn("rlsm-flush", core, writer, flush_often)?;
        background.spawn("rlsm-compact", core, writer, compact_often)?;
        background.spawn_syncing(core, writer)?;
        Ok(background)
    }

    fn spawn_syncing(&mut self, core: &Arc<Core>, writer: &Arc<SharedWriter>) -> Result<()> {
        let Sync::Interval(interval) = core.options.sync else { return Ok(()) };
        self.spawn("rlsm-sync", core, writer, move |core, writer, signals| sync_often(core, writer, signals, interval))
    }

    fn spawn(
        &mut self,
        name: &str,
        core: &Arc<Core>,
        writer: &Arc<SharedWriter>,
        work: impl FnOnce(&Core, &SharedWriter, &Signals) + Send + 'static,
    ) -> Result<()> {
        let (core, writer, signals) = (Arc::clone(core), Arc::clone(writer), Arc::clone(&self.signals));
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&core, &writer, &signals));
        self.threads.push(thread.map_err(Error::io("starting a thread for", name))?);
        Ok(())
    }

    /// Waits until another memory buffer may be frozen.
    fn wait_for_room(&self, core: &Core) -> Result<()> {
        if core.view().frozen.len() < FROZEN_MAX {
            return Ok(());
        }
        let began = clock::now();
        let mut seen = 0;
        while core.view().frozen.len() >= FROZEN_MAX {
            core.check()?;
            self.signals.wait(&mut seen, None);
        }
        core.counters.stalls.add(1);
        core.counters.stalled_ns.add((clock::now() - began).as_nanos() as u64);
        Ok(())
    }

    fn stop(&mut self) {
        self.signals.is_stopped.store(true, Ordering::Release);
        self.signals.wake();
        for thread in self.threads.drain(..) {
            // A thread that panicked has told so on its own.
            let _ = thread.join();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A failure ends all writing, which says so to whoever writes next; the thread itself has nobody to tell.
fn flush_often(core: &Core, writer: &SharedWriter, signals: &Signals) {
    let mut seen = 0;
    loop {
        loop {
            let _alone = signals.flush.lock();
            if !flush(core).is_ok_and(|did| did) {
                break;
            }
            drop(_alone);
            if let Some(mut writer) = writer.try_lock() {
                writer.forget_before(core.log());
            }
            signals.wake();
            allocator::give_back();
        }
        if core.check().is_err() {
            signals.wake();
            return;
        }
        if !signals.wait(&mut seen, None) {
            return;
        }
    }
}

fn compact_often(core: &Core, _: &SharedWriter, signals: &Signals) {
    let mut seen = 0;
    loop {
        while !signals.is_stopped.load(Ordering::Acquire) {
            let _alone = signals.compact.lock();
            let step =
                compact::compact(core, false).and_then(|did| if did { Ok(true) } else { compact::at_leisure(core) });
            // What a step replaced is in use until it has returned.
            if !step.and_then(|did| core.reclaim().map(|()| did)).is_ok_and(|did| did) {
                break;
            }
            drop(_alone);
            signals.wake();
            allocator::give_back();
        }
        if core.check().is_err() {
            signals.wake();
            return;
        }
        // Scans bring no news, but may bring work.
        if !signals.wait(&mut seen, Some(IDLE)) {
            return;
        }
    }
}

fn sync_often(core: &Core, writer: &SharedWriter, signals: &Signals, interval: Duration) {
    let mut seen = 0;
    while signals.wait(&mut seen, Some(interval)) {
        if writer.lock().sync(core).is_err() {
            return;
        }
    }
}
