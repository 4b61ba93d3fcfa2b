//! Whether a neighbour squeezes the device, told from what the engine's own operations take. Nothing here looks at a
//! clock.

use super::baseline::{Baselines, Load};
use super::window::{Latency, Window};

/// Latencies are judged together over at least so long.
const WINDOW_NS: u64 = 1_000_000_000;

/// A window that has too few latencies to be judged ends after so long.
const WINDOW_NS_MAX: u64 = 5_000_000_000;

/// The device is squeezed when what it does takes at least so many times as long as usual …
const ENTER: f64 = 3.0;

/// … in so many windows after one another,
const ENTER_WINDOWS: u32 = 2;

/// and no longer when it takes less than so many times as long …
const LEAVE: f64 = 1.7;

/// … in so many windows more than it does not.
const LEAVE_WINDOWS: u32 = 3;

/// What has lasted so long is usual from then on.
const PATIENCE_NS: u64 = 1_200_000_000_000;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A sync of a write-ahead log.
    Sync,
    /// A read of about a block that had to wait for the device.
    Read,
}

pub(super) const KINDS: usize = 2;

/// One operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub kind: Kind,
    pub load: Load,
    pub latency_ns: u64,
}

/// Judges latencies.
#[derive(Default)]
pub(super) struct Gauge {
    baselines: [Baselines; KINDS],
    window: Window,
    /// Since when the device is squeezed, if it is.
    since_ns: Option<u64>,
    /// How many windows spoke for the other state: after one another, or more than spoke against it.
    against: u32,
    latencies: [Option<Latency>; KINDS],
    /// How long writers and readers waited for the device in the last window, by kind.
    waited_ns: [u64; KINDS],
}

impl Gauge {
    /// Takes note of an operation that ended at `now_ns`.
    pub fn add(&mut self, now_ns: u64, sample: Sample) {
        let kind = sample.kind as usize;
        if self.since_ns.is_none() {
            self.baselines[kind].learn(sample.load, now_ns, sample.latency_ns);
        }
        let usual_ns = self.baselines[kind].usual_ns(sample.load);
        self.window.add(now_ns, kind, sample.latency_ns, usual_ns);
        self.look(now_ns);
    }

    /// Judges what has been gathered, if it is time to.
    pub fn look(&mut self, now_ns: u64) {
        let Some(began_ns) = self.window.began_ns else {
            // While nothing is measured, nothing else begins a window.
            self.window.began_ns = self.since_ns.map(|_| now_ns);
            return;
        };
        let lasted_ns = now_ns.saturating_sub(began_ns);
        if lasted_ns < WINDOW_NS || !self.window.tells() && lasted_ns < WINDOW_NS_MAX {
            return;
        }
        let mut window = std::mem::take(&mut self.window);
        (self.latencies, self.waited_ns) = (window.latencies(), window.waited_ns);
        self.turn(now_ns, window.slowness());
    }

    /// Changes between the two states, for a window in which operations took `slowness` times as long as usual.
    fn turn(&mut self, now_ns: u64, slowness: Option<f64>) {
        let Some(since_ns) = self.since_ns else {
            let is_slow = slowness.is_some_and(|slowness| slowness >= ENTER);
            self.against = if is_slow { self.against + 1 } else { 0 };
            if self.against == ENTER_WINDOWS {
                (self.since_ns, self.against) = (Some(now_ns), 0);
                self.baselines.iter_mut().for_each(Baselines::drop_unfinished);
            }
            return;
        };
        if now_ns.saturating_sub(since_ns) >= PATIENCE_NS {
            *self = Self::default();
            return;
        }
        // Who measures nothing has no harm from a neighbour.
        let is_fast = slowness.is_none_or(|slowness| slowness < LEAVE);
        self.against = if is_fast { self.against + 1 } else { self.against.saturating_sub(1) };
        if self.against == LEAVE_WINDOWS {
            (self.since_ns, self.against) = (None, 0);
        }
    }

    /// Since when the device is squeezed; `None` if it is not.
    pub fn squeezed_since_ns(&self) -> Option<u64> {
        self.since_ns
    }

    /// What operations of a kind took last; `None` if there were too few, or what is usual is not known.
    pub fn latency(&self, kind: Kind) -> Option<Latency> {
        self.latencies[kind as usize]
    }

    /// How long the engine waited for operations of a kind in the last window, summed, in nanoseconds.
    pub fn waited_ns(&self, kind: Kind) -> u64 {
        self.waited_ns[kind as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const QUIET: Load = Load { is_busy: false, log2: 0 };
    const BUSY: Load = Load { is_busy: true, log2: 0 };

    /// A gauge and the time.
    struct Bench {
        gauge: Gauge,
        now_ns: u64,
    }

    impl Bench {
        /// After a minute in which a sync took 1 ms, and 4 ms beside compaction.
        fn settled() -> Self {
            let mut bench = Self { gauge: Gauge::default(), now_ns: 0 };
            bench.syncs(30, QUIET, 1);
            bench.syncs(30, BUSY, 4);
            assert!(!bench.is_squeezed());
            bench
        }

        /// A hundred operations a second.
        fn run(&mut self, seconds: u64, kind: Kind, load: Load, latency_ms: u64) {
            for _ in 0..seconds * 100 {
                self.now_ns += S / 100;
                self.gauge.add(self.now_ns, Sample { kind, load, latency_ns: latency_ms * 1_000_000 });
            }
        }

        fn syncs(&mut self, seconds: u64, load: Load, latency_ms: u64) {
            self.run(seconds, Kind::Sync, load, latency_ms);
        }

        fn is_squeezed(&self) -> bool {
            self.gauge.squeezed_since_ns().is_some()
        }
    }

    #[test]
    fn a_neighbour_is_felt_within_seconds_and_its_leaving_too() {
        let mut bench = Bench::settled();
        bench.syncs(3, QUIET, 10);
        assert!(bench.is_squeezed());
        assert_eq!(bench.gauge.latency(Kind::Sync), Some(Latency { now_ns: 10_000_000, usual_ns: 1_000_000 }));
        bench.syncs(5, QUIET, 1);
        assert!(!bench.is_squeezed());
    }

    #[test]
    fn a_moment_is_no_neighbour() {
        let mut bench = Bench::settled();
        for _ in 0..10 {
            bench.syncs(1, QUIET, 10);
            bench.syncs(2, QUIET, 1);
            assert!(!bench.is_squeezed());
        }
    }

    #[test]
    fn a_host_that_is_busy_now_and_then_is_no_neighbour_that_stays() {
        let mut bench = Bench::settled();
        bench.syncs(3, QUIET, 10);
        assert!(bench.is_squeezed());
        for _ in 0..6 {
            bench.syncs(2, QUIET, 1);
            bench.syncs(1, QUIET, 10);
        }
        assert!(!bench.is_squeezed());
    }

    #[test]
    fn between_the_two_bounds_all_stays_as_it_is() {
        let mut bench = Bench::settled();
        bench.syncs(30, QUIET, 2);
        assert!(!bench.is_squeezed());
        bench.syncs(3, QUIET, 10);
        bench.syncs(30, QUIET, 2);
        assert!(bench.is_squeezed());
    }

    #[test]
    fn own_compaction_is_no_neighbour() {
        let mut bench = Bench::settled();
        bench.syncs(60, BUSY, 4);
        assert!(!bench.is_squeezed());
        bench.syncs(3, BUSY, 40);
        assert!(bench.is_squeezed());
    }

    #[test]
    fn own_readers_are_no_neighbour() {
        let mut bench = Bench { gauge: Gauge::default(), now_ns: 0 };
        bench.run(30, Kind::Read, Load::new(false, 1), 1);
        bench.run(30, Kind::Read, Load::new(false, 8), 8);
        assert!(!bench.is_squeezed());
        bench.run(3, Kind::Read, Load::new(false, 8), 30);
        assert!(bench.is_squeezed());
    }

    #[test]
    fn one_slow_kind_is_enough() {
        let mut bench = Bench::settled();
        bench.run(30, Kind::Read, QUIET, 1);
        for _ in 0..400 {
            bench.now_ns += S / 100;
            let read = Sample { kind: Kind::Read, load: QUIET, latency_ns: 5_000_000 };
            bench.gauge.add(bench.now_ns, read);
            bench.gauge.add(bench.now_ns, Sample { kind: Kind::Sync, latency_ns: 1_000_000, ..read });
        }
        assert!(bench.is_squeezed());
        assert!(bench.gauge.waited_ns(Kind::Read) > bench.gauge.waited_ns(Kind::Sync));
    }

    #[test]
    fn who_measures_nothing_is_not_squeezed_for_long() {
        let mut bench = Bench::settled();
        bench.syncs(3, QUIET, 10);
        assert!(bench.is_squeezed());
        for second in 0..30 {
            bench.gauge.look(bench.now_ns + second * S);
        }
        assert!(!bench.is_squeezed());
    }

    #[test]
    fn nothing_is_felt_before_something_is_usual() {
        let mut bench = Bench { gauge: Gauge::default(), now_ns: 0 };
        bench.syncs(10, QUIET, 1);
        bench.syncs(4, QUIET, 50);
        assert!(!bench.is_squeezed());
    }

    #[test]
    fn what_lasts_is_usual_in_the_end_and_what_comes_after_it_is_felt() {
        let mut bench = Bench::settled();
        bench.syncs(1190, QUIET, 10);
        assert!(bench.is_squeezed());
        bench.syncs(60, QUIET, 10);
        assert!(!bench.is_squeezed());
        bench.syncs(3, QUIET, 100);
        assert!(bench.is_squeezed());
    }
}
