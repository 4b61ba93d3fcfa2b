//! Pressure: the engine measures the latency of its device and yields while a noisy neighbour slows it.
//!
//! After the outlook of the interference thesis (Lange 2023, section 5.1: engines that are resilient to neighbours).
//! Under pressure, rewrites of ranges are postponed, within bounds; compaction syncs in slices, with pauses; the leader
//! of a write group lingers for more writers; memory moves to what waits most.

mod baseline;
mod gauge;
mod io_sample;
mod measured_storage;
mod memory_budget;
mod window;

pub(crate) use measured_storage::measure_storage;
pub(crate) use memory_budget::MemoryBudget;

use memory_budget::MemoryShift;
use window::Latency;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock;
use crate::counters::Counter;
use crate::plan::{CompactionSettings, RangeLoad, can_postpone};
use crate::write_controller::WriteController;

use gauge::PressureGauge;
use io_sample::{IoKind, LatencySample};

/// Under pressure, compaction has at most this many unsynced bytes.
const SLICE_BYTES: u64 = 4 << 20;

/// After a slice, compaction pauses for as long as its sync took, up to this time.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// A group commit lingers in steps of this fraction of a sync's latency, while each step brings another writer …
const LINGER_FRACTION: u64 = 16;

/// … up to this many steps. No step is longer than the usual latency of a sync: some syncs are as fast as ever.
const LINGER_STEPS: u32 = 4;

/// Memory moves to the side that waits this many times as long as the other.
const SHIFT_RATIO: u64 = 2;

/// In tests with alternating pressure, its phases last for this many appends to the WAL …
const ALTERNATION_APPENDS: u64 = 64;

/// … and slices are as small as the data.
const ALTERNATION_SLICE_BYTES: u64 = 8 << 10;

/// Where pressure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PressureSource {
    /// The engine does not measure.
    Off,
    /// Measured latency.
    Measured,
    /// Alternates with the number of appends to the WAL: for deterministic tests.
    Alternating,
}

/// The state of the device, and what the engine does about it.
pub(crate) struct Pressure {
    source: PressureSource,
    /// Whether compaction may pause: it has a thread of its own.
    may_pause: bool,
    pub write_controller: Arc<WriteController>,
    gauge: Mutex<PressureGauge>,
    is_under_pressure: AtomicBool,
    /// Appends to the WAL, for [`PressureSource::Alternating`].
    appends: AtomicU64,
    /// The length of a linger step, in nanoseconds.
    linger_step_ns: AtomicU64,
    /// The number of writers in the last group.
    last_group_size: AtomicUsize,
    /// Rewrites that were postponed and not made up for, at most.
    postponed_rewrites: AtomicU64,
    done: PressureCounters,
}

/// Counters of what pressure caused.
#[derive(Debug, Default)]
struct PressureCounters {
    squeezes: Counter,
    squeezed_ns: Counter,
    postponed_bytes: Counter,
    paused_ns: Counter,
    lingered_ns: Counter,
}

/// Statistics for users.
#[derive(Debug, Default)]
pub(crate) struct PressureStats {
    pub squeezes: u64,
    pub squeezed: Duration,
    pub postponed_bytes: u64,
    pub paused: Duration,
    pub lingered: Duration,
    pub sync: Option<Latency>,
    pub read: Option<Latency>,
}

impl Pressure {
    pub fn new(source: PressureSource, may_pause: bool) -> Self {
        Self {
            source,
            may_pause,
            write_controller: Arc::default(),
            gauge: Mutex::default(),
            is_under_pressure: AtomicBool::new(false),
            appends: AtomicU64::new(0),
            linger_step_ns: AtomicU64::new(0),
            last_group_size: AtomicUsize::new(0),
            postponed_rewrites: AtomicU64::new(0),
            done: PressureCounters::default(),
        }
    }

    /// Whether the device is under pressure.
    pub fn is_under_pressure(&self) -> bool {
        self.is_under_pressure.load(Ordering::Relaxed)
    }

    /// Records a measured operation.
    fn add(&self, sample: LatencySample) {
        if self.source == PressureSource::Measured {
            self.update_gauge(|gauge, now_ns| gauge.add(now_ns, sample));
        }
    }

    /// Records an append to the WAL.
    fn record_append(&self) {
        if self.source == PressureSource::Alternating {
            let appends = self.appends.fetch_add(1, Ordering::Relaxed);
            self.is_under_pressure.store(appends / ALTERNATION_APPENDS % 2 == 1, Ordering::Relaxed);
        }
    }

    /// Updates the state when no I/O does.
    pub fn poll(&self) {
        if self.source == PressureSource::Measured {
            self.update_gauge(PressureGauge::poll);
        }
    }

    fn update_gauge(&self, with: impl FnOnce(&mut PressureGauge, u64)) {
        let now_ns = clock::now().as_nanos() as u64;
        let mut gauge = self.gauge.lock();
        let before = gauge.pressure_since_ns();
        with(&mut gauge, now_ns);
        match (before, gauge.pressure_since_ns()) {
            (None, Some(_)) => self.done.squeezes.add(1),
            (Some(since_ns), None) => self.done.squeezed_ns.add(now_ns.saturating_sub(since_ns)),
            _ => {}
        }
        self.is_under_pressure.store(gauge.pressure_since_ns().is_some(), Ordering::Relaxed);
        let step_ns = |sync: Latency| (sync.now_ns / LINGER_FRACTION).min(sync.usual_ns);
        self.linger_step_ns.store(gauge.latency(IoKind::Sync).map_or(0, step_ns), Ordering::Relaxed);
    }

    /// Decides whether the rewrite of a range with this load is postponed, and counts it if so.
    pub fn postpone_rewrite(&self, plan: &CompactionSettings, load: RangeLoad) -> bool {
        let does = self.is_under_pressure() && can_postpone(plan, load);
        if does {
            self.postponed_rewrites.fetch_add(1, Ordering::Relaxed);
            self.done.postponed_bytes.add(load.bytes);
        }
        does
    }

    /// The number of rewrites that were postponed and not made up for, at most.
    pub fn postponed_rewrites(&self) -> u64 {
        self.postponed_rewrites.load(Ordering::Relaxed)
    }

    /// Reduces the postponed rewrites from `postponed_rewrites` to `left`; those postponed since are added.
    pub fn settle_postponed(&self, postponed_rewrites: u64, left: u64) {
        self.postponed_rewrites.fetch_sub(postponed_rewrites - left, Ordering::Relaxed);
    }

    /// The limit of compaction's unsynced bytes; `None` without pressure.
    fn slice_bytes(&self) -> Option<u64> {
        let bytes = if self.source == PressureSource::Alternating { ALTERNATION_SLICE_BYTES } else { SLICE_BYTES };
        self.is_under_pressure().then_some(bytes)
    }

    /// Pauses compaction after a slice whose sync took this long, unless compaction is so far behind that writes are
    /// delayed.
    fn pause(&self, took: Duration) {
        if self.may_pause && !self.write_controller.is_delaying_writes() {
            self.done.paused_ns.add(park(took.min(PAUSE_MAX)));
        }
    }

    /// Records the size of a write group.
    pub fn record_group_size(&self, writers: usize) {
        self.last_group_size.store(writers, Ordering::Relaxed);
    }

    /// Lingers for more writers on behalf of the leader of a group, while `waiting` grows. A lone writer does not
    /// linger.
    pub fn linger(&self, waiting: impl Fn() -> usize) {
        if !self.is_under_pressure() {
            return;
        }
        let step = Duration::from_nanos(self.linger_step_ns.load(Ordering::Relaxed));
        let mut seen = waiting();
        if step.is_zero() || seen == 0 && self.last_group_size.load(Ordering::Relaxed) <= 1 {
            return;
        }
        for _ in 0..LINGER_STEPS {
            self.done.lingered_ns.add(park(step));
            let now = waiting();
            if now == seen {
                break;
            }
            seen = now;
        }
    }

    /// Which side gives memory to the other: the block cache while syncs wait for the device, the memtable while reads
    /// do.
    pub fn memory_shift(&self) -> MemoryShift {
        if !self.is_under_pressure() {
            return MemoryShift::None;
        }
        if self.source == PressureSource::Alternating {
            return MemoryShift::ToCache;
        }
        let gauge = self.gauge.lock();
        let (reads_ns, syncs_ns) = (gauge.waited_ns(IoKind::Read), gauge.waited_ns(IoKind::Sync));
        if reads_ns > SHIFT_RATIO * syncs_ns {
            MemoryShift::ToCache
        } else if syncs_ns > SHIFT_RATIO * reads_ns {
            MemoryShift::ToMemtable
        } else {
            MemoryShift::None
        }
    }

    pub fn stats(&self) -> PressureStats {
        self.poll();
        let gauge = self.gauge.lock();
        let now_ns = clock::now().as_nanos() as u64;
        let squeezed_ns = gauge.pressure_since_ns().map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        PressureStats {
            squeezes: self.done.squeezes.get(),
            squeezed: Duration::from_nanos(self.done.squeezed_ns.get() + squeezed_ns),
            postponed_bytes: self.done.postponed_bytes.get(),
            paused: Duration::from_nanos(self.done.paused_ns.get()),
            lingered: Duration::from_nanos(self.done.lingered_ns.get()),
            sync: gauge.latency(IoKind::Sync),
            read: gauge.latency(IoKind::Read),
        }
    }
}

/// Sleeps, and returns for how long, in nanoseconds.
fn park(time: Duration) -> u64 {
    let began = clock::now();
    std::thread::park_timeout(time);
    (clock::now() - began).as_nanos() as u64
}
