//! Feeling pressure: the engine measures its own device and is content with less of it while a neighbour squeezes it.
//!
//! After the interference thesis's outlook (seed 000, section 5.1: engines that are resilient to neighbours). What the
//! engine does about a squeeze: rewriting of ranges waits, within bounds; compaction's writes are taken to the device
//! slice by slice, with pauses; writers wait a moment for one another, to share a sync; memory goes to what waits most.

mod baseline;
mod gauge;
mod measured;
mod memory;
mod window;

pub(crate) use measured::measured;
pub(crate) use memory::Memory;

use memory::Lean;
use window::Latency;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock;
use crate::pace::Pace;
use crate::plan::{Load, PlanSettings, can_wait};
use crate::stats::Counter;

use gauge::{Gauge, Kind, Sample};

/// While the device is squeezed, compaction has no more than so many bytes on their way to it.
const SLICE_BYTES: u64 = 4 << 20;

/// After a slice, compaction leaves the device alone for as long as that one took, but no longer than this.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// Writers wait for one another in steps of this part of a sync, while each step brings one more …
const LINGER_PART: u64 = 16;

/// … but no more of them than this. No step is longer than a sync usually takes: some are as fast as ever.
const LINGER_STEPS: u32 = 4;

/// Memory moves to what is waited for so many times as long as for the other.
const LEANING: u64 = 2;

/// A test's squeezes and the times between them last for so many appends to the log …
const TURN: u64 = 64;

/// … and its slices are as small as what it writes.
const TURN_SLICE_BYTES: u64 = 8 << 10;

/// Whether the device is squeezed, where that comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feeling {
    /// Never.
    Off,
    /// As measured.
    Measured,
    /// By turns, by the number of appends to the log: for tests that are to be the same every time.
    InTurns,
}

/// How the device is doing, and what the engine does about it.
pub(crate) struct Pressure {
    feeling: Feeling,
    /// Whether compaction may pause: somebody else writes meanwhile.
    may_pause: bool,
    pub pace: Arc<Pace>,
    gauge: Mutex<Gauge>,
    is_squeezed: AtomicBool,
    /// Appends to the log, for [`Feeling::InTurns`].
    appends: AtomicU64,
    /// How long writers wait for one another at a time, in nanoseconds.
    linger_step_ns: AtomicU64,
    /// How many shared the last write.
    last_group: AtomicUsize,
    /// How many rewritings were put off and not made up for.
    owed: AtomicU64,
    done: Done,
}

/// What was done about squeezes that are over, and about this one.
#[derive(Debug, Default)]
struct Done {
    squeezes: Counter,
    squeezed_ns: Counter,
    postponed_bytes: Counter,
    paused_ns: Counter,
    lingered_ns: Counter,
}

/// What users are told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub squeezes: u64,
    pub squeezed: Duration,
    pub postponed_bytes: u64,
    pub paused: Duration,
    pub lingered: Duration,
    pub sync: Option<Latency>,
    pub read: Option<Latency>,
}

impl Pressure {
    pub fn new(feeling: Feeling, may_pause: bool) -> Self {
        Self {
            feeling,
            may_pause,
            pace: Arc::default(),
            gauge: Mutex::default(),
            is_squeezed: AtomicBool::new(false),
            appends: AtomicU64::new(0),
            linger_step_ns: AtomicU64::new(0),
            last_group: AtomicUsize::new(0),
            owed: AtomicU64::new(0),
            done: Done::default(),
        }
    }

    /// Whether a neighbour squeezes the device.
    pub fn is_squeezed(&self) -> bool {
        self.is_squeezed.load(Ordering::Relaxed)
    }

    /// Takes note of an operation that has just ended.
    fn add(&self, sample: Sample) {
        if self.feeling == Feeling::Measured {
            self.judge(|gauge, now_ns| gauge.add(now_ns, sample));
        }
    }

    /// Takes note of an append to the log.
    fn turn(&self) {
        if self.feeling == Feeling::InTurns {
            let appends = self.appends.fetch_add(1, Ordering::Relaxed);
            self.is_squeezed.store(appends / TURN % 2 == 1, Ordering::Relaxed);
        }
    }

    /// Looks whether it is time to change one's mind, for who measures nothing meanwhile.
    pub fn look(&self) {
        if self.feeling == Feeling::Measured {
            self.judge(Gauge::look);
        }
    }

    fn judge(&self, with: impl FnOnce(&mut Gauge, u64)) {
        let now_ns = clock::now().as_nanos() as u64;
        let mut gauge = self.gauge.lock();
        let before = gauge.squeezed_since_ns();
        with(&mut gauge, now_ns);
        match (before, gauge.squeezed_since_ns()) {
            (None, Some(_)) => self.done.squeezes.add(1),
            (Some(since_ns), None) => self.done.squeezed_ns.add(now_ns.saturating_sub(since_ns)),
            _ => {}
        }
        self.is_squeezed.store(gauge.squeezed_since_ns().is_some(), Ordering::Relaxed);
        let step_ns = |sync: Latency| (sync.now_ns / LINGER_PART).min(sync.usual_ns);
        self.linger_step_ns.store(gauge.latency(Kind::Sync).map_or(0, step_ns), Ordering::Relaxed);
    }

    /// Whether rewriting a range that stands so is put off; takes note of it.
    pub fn postpones(&self, plan: &PlanSettings, load: Load) -> bool {
        let does = self.is_squeezed() && can_wait(plan, load);
        if does {
            self.owed.fetch_add(1, Ordering::Relaxed);
            self.done.postponed_bytes.add(load.bytes);
        }
        does
    }

    /// How many rewritings were put off and not made up for, at most.
    pub fn owed(&self) -> u64 {
        self.owed.load(Ordering::Relaxed)
    }

    /// Takes note that so many of the `owed` are left, but for those put off since.
    pub fn pay(&self, owed: u64, left: u64) {
        self.owed.fetch_sub(owed - left, Ordering::Relaxed);
    }

    /// How much compaction may have on its way to the device; `None` if that does not matter.
    fn slice_bytes(&self) -> Option<u64> {
        let bytes = if self.feeling == Feeling::InTurns { TURN_SLICE_BYTES } else { SLICE_BYTES };
        self.is_squeezed().then_some(bytes)
    }

    /// Leaves the device alone for a while after a slice that took so long, unless compaction is so late that writers
    /// wait for it.
    fn pause(&self, took: Duration) {
        if self.may_pause && !self.pace.is_late() {
            self.done.paused_ns.add(park(took.min(PAUSE_MAX)));
        }
    }

    /// Takes note that so many writers share a write.
    pub fn note_group(&self, writers: usize) {
        self.last_group.store(writers, Ordering::Relaxed);
    }

    /// Waits, on behalf of who is about to write for all who are `waiting`, for more to come. One who writes alone has
    /// nobody to wait for.
    pub fn linger(&self, waiting: impl Fn() -> usize) {
        if !self.is_squeezed() {
            return;
        }
        let step = Duration::from_nanos(self.linger_step_ns.load(Ordering::Relaxed));
        let mut seen = waiting();
        if step.is_zero() || seen == 0 && self.last_group.load(Ordering::Relaxed) <= 1 {
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

    /// Which memory serves better elsewhere: that of blocks while writers wait for the device, that of writes while
    /// readers do.
    pub fn lean(&self) -> Lean {
        if !self.is_squeezed() {
            return Lean::None;
        }
        if self.feeling == Feeling::InTurns {
            return Lean::ToCache;
        }
        let gauge = self.gauge.lock();
        let (reads_ns, syncs_ns) = (gauge.waited_ns(Kind::Read), gauge.waited_ns(Kind::Sync));
        if reads_ns > LEANING * syncs_ns {
            Lean::ToCache
        } else if syncs_ns > LEANING * reads_ns {
            Lean::ToMemtable
        } else {
            Lean::None
        }
    }

    pub fn told(&self) -> Told {
        self.look();
        let gauge = self.gauge.lock();
        let now_ns = clock::now().as_nanos() as u64;
        let squeezed_ns = gauge.squeezed_since_ns().map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        Told {
            squeezes: self.done.squeezes.get(),
            squeezed: Duration::from_nanos(self.done.squeezed_ns.get() + squeezed_ns),
            postponed_bytes: self.done.postponed_bytes.get(),
            paused: Duration::from_nanos(self.done.paused_ns.get()),
            lingered: Duration::from_nanos(self.done.lingered_ns.get()),
            sync: gauge.latency(Kind::Sync),
            read: gauge.latency(Kind::Read),
        }
    }
}

/// Waits, and tells how long it was, in nanoseconds.
fn park(time: Duration) -> u64 {
    let began = clock::now();
    std::thread::park_timeout(time);
    (clock::now() - began).as_nanos() as u64
}
