//! The gauge: whether the device is under pressure from a neighbour, judged by the latency of the engine's own I/O.
//! Times are arguments.

use super::baseline::Baselines;
use super::io_sample::{IO_KINDS, IoKind, LatencySample};
use super::window::{Latency, LatencyWindow};

/// The minimum length of a window.
const WINDOW_NS: u64 = 1_000_000_000;

/// A window with too few latencies ends after this time.
const WINDOW_NS_MAX: u64 = 5_000_000_000;

/// The device comes under pressure when its latency is at least this many times the usual one …
const ENTER_RATIO: f64 = 3.0;

/// … in this many consecutive windows,
const ENTER_WINDOWS: u32 = 2;

/// and is released when the latency is below this many times the usual one …
const LEAVE_RATIO: f64 = 1.7;

/// … in this many windows more than it is not.
const LEAVE_WINDOWS: u32 = 3;

/// After this time under pressure, the current latency becomes the usual one.
const ADAPTATION_NS: u64 = 1_200_000_000_000;

/// Judges latencies by window, with hysteresis.
#[derive(Default)]
pub(super) struct PressureGauge {
    baselines: [Baselines; IO_KINDS],
    window: LatencyWindow,
    /// Since when the device has been under pressure, if it is.
    since_ns: Option<u64>,
    /// Windows that speak for a change of the state: consecutive ones, or the excess over those that speak against it.
    opposing_windows: u32,
    latencies: [Option<Latency>; IO_KINDS],
    /// How long the engine waited for the device in the last window, by kind.
    waited_ns: [u64; IO_KINDS],
}

impl PressureGauge {
    /// Records an operation that ended at `now_ns`.
    pub fn add(&mut self, now_ns: u64, sample: LatencySample) {
        let kind = sample.kind as usize;
        if self.since_ns.is_none() {
            self.baselines[kind].learn(sample.load, now_ns, sample.latency_ns);
        }
        let usual_ns = self.baselines[kind].usual_ns(sample.load);
        self.window.add(now_ns, kind, sample.latency_ns, usual_ns);
        self.poll(now_ns);
    }

    /// Ends the window if it is due.
    pub fn poll(&mut self, now_ns: u64) {
        let Some(began_ns) = self.window.began_ns else {
            // Without I/O, nothing else starts a window.
            self.window.began_ns = self.since_ns.map(|_| now_ns);
            return;
        };
        let lasted_ns = now_ns.saturating_sub(began_ns);
        if lasted_ns < WINDOW_NS || !self.window.has_enough_samples() && lasted_ns < WINDOW_NS_MAX {
            return;
        }
        let mut window = std::mem::take(&mut self.window);
        (self.latencies, self.waited_ns) = (window.latencies(), window.waited_ns);
        self.transition(now_ns, window.slowness());
    }

    /// Updates the state after a window with this ratio of latency to usual latency.
    fn transition(&mut self, now_ns: u64, slowness: Option<f64>) {
        let Some(since_ns) = self.since_ns else {
            let is_slow = slowness.is_some_and(|slowness| slowness >= ENTER_RATIO);
            self.opposing_windows = if is_slow { self.opposing_windows + 1 } else { 0 };
            if self.opposing_windows == ENTER_WINDOWS {
                (self.since_ns, self.opposing_windows) = (Some(now_ns), 0);
                self.baselines.iter_mut().for_each(Baselines::drop_unfinished);
            }
            return;
        };
        if now_ns.saturating_sub(since_ns) >= ADAPTATION_NS {
            *self = Self::default();
            return;
        }
        // An engine that does no I/O is not harmed by a neighbour.
        let is_fast = slowness.is_none_or(|slowness| slowness < LEAVE_RATIO);
        self.opposing_windows =
            if is_fast { self.opposing_windows + 1 } else { self.opposing_windows.saturating_sub(1) };
        if self.opposing_windows == LEAVE_WINDOWS {
            (self.since_ns, self.opposing_windows) = (None, 0);
        }
    }

    /// Since when the device has been under pressure; `None` if it is not.
    pub fn pressure_since_ns(&self) -> Option<u64> {
        self.since_ns
    }

    /// The latency of a kind of I/O in the last window; `None` if there were too few operations, or the usual latency
    /// is not known.
    pub fn latency(&self, kind: IoKind) -> Option<Latency> {
        self.latencies[kind as usize]
    }

    /// How long the engine waited for a kind of I/O in the last window, summed, in nanoseconds.
    pub fn waited_ns(&self, kind: IoKind) -> u64 {
        self.waited_ns[kind as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::io_sample::DeviceLoad;
    use super::*;

    const S: u64 = 1_000_000_000;
    const QUIET: DeviceLoad = DeviceLoad { is_busy: false, log2: 0 };
    const BUSY: DeviceLoad = DeviceLoad { is_busy: true, log2: 0 };

    /// A gauge with a clock.
    struct Bench {
        gauge: PressureGauge,
        now_ns: u64,
    }

    impl Bench {
        /// After a minute in which a sync took 1 ms, and 4 ms during compaction.
        fn settled() -> Self {
            let mut bench = Self { gauge: PressureGauge::default(), now_ns: 0 };
            bench.syncs(30, QUIET, 1);
            bench.syncs(30, BUSY, 4);
            assert!(!bench.is_under_pressure());
            bench
        }

        /// A hundred operations a second.
        fn run(&mut self, seconds: u64, kind: IoKind, load: DeviceLoad, latency_ms: u64) {
            for _ in 0..seconds * 100 {
                self.now_ns += S / 100;
                self.gauge.add(self.now_ns, LatencySample { kind, load, latency_ns: latency_ms * 1_000_000 });
            }
        }

        fn syncs(&mut self, seconds: u64, load: DeviceLoad, latency_ms: u64) {
            self.run(seconds, IoKind::Sync, load, latency_ms);
        }

        fn is_under_pressure(&self) -> bool {
            self.gauge.pressure_since_ns().is_some()
        }
    }

    #[test]
    fn a_neighbour_is_detected_within_seconds_and_so_is_its_end() {
        let mut bench = Bench::settled();
        bench.syncs(3, QUIET, 10);
        assert!(bench.is_under_pressure());
        assert_eq!(bench.gauge.latency(IoKind::Sync), Some(Latency { now_ns: 10_000_000, usual_ns: 1_000_000 }));
        bench.syncs(5, QUIET, 1);
        assert!(!bench.is_under_pressure());
    }

    #[test]
    fn a_short_peak_is_not_taken_for_a_neighbour() {
        let mut bench = Bench::settled();
        for _ in 0..10 {
            bench.syncs(1, QUIET, 10);
            bench.syncs(2, QUIET, 1);
            assert!(!bench.is_under_pressure());
        }
    }

    #[test]
    fn occasional_peaks_do_not_prolong_the_pressure() {
        let mut bench = Bench::settled();
        bench.syncs(3, QUIET, 10);
        assert!(bench.is_under_pressure());
        for _ in 0..6 {
            bench.syncs(2, QUIET, 1);
            bench.syncs(1, QUIET, 10);
        }
        assert!(!bench.is_under_pressure());
    }

    #[test]
    fn between_the_two_thresholds_the_state_stays() {
        let mut bench = Bench::settled();
        bench.syncs(30, QUIET, 2);
        assert!(!bench.is_under_pressure());
        bench.syncs(3, QUIET, 10);
        bench.syncs(30, QUIET, 2);
        assert!(bench.is_under_pressure());
    }

    #[test]
    fn own_compaction_is_not_taken_for_a_neighbour() {
        let mut bench = Bench::settled();
        bench.syncs(60, BUSY, 4);
        assert!(!bench.is_under_pressure());
        bench.syncs(3, BUSY, 40);
        assert!(bench.is_under_pressure());
    }

    #[test]
    fn own_reads_are_not_taken_for_a_neighbour() {
        let mut bench = Bench { gauge: PressureGauge::default(), now_ns: 0 };
        bench.run(30, IoKind::Read, DeviceLoad::new(false, 1), 1);
        bench.run(30, IoKind::Read, DeviceLoad::new(false, 8), 8);
        assert!(!bench.is_under_pressure());
        bench.run(3, IoKind::Read, DeviceLoad::new(false, 8), 30);
        assert!(bench.is_under_pressure());
    }

    #[test]
    fn one_slow_kind_of_io_is_enough() {
        let mut bench = Bench::settled();
        bench.run(30, IoKind::Read, QUIET, 1);
        for _ in 0..400 {
            bench.now_ns += S / 100;
            let read = LatencySample { kind: IoKind::Read, load: QUIET, latency_ns: 5_000_000 };
            bench.gauge.add(bench.now_ns, read);
            bench.gauge.add(bench.now_ns, LatencySample { kind: IoKind::Sync, latency_ns: 1_000_000, ..read });
        }
        assert!(bench.is_under_pressure());
        assert!(bench.gauge.waited_ns(IoKind::Read) > bench.gauge.waited_ns(IoKind::Sync));
    }

    #[test]
    fn pressure_ends_without_io() {
        let mut bench = Bench::settled();
        bench.syncs(3, QUIET, 10);
        assert!(bench.is_under_pressure());
        for second in 0..30 {
            bench.gauge.poll(bench.now_ns + second * S);
        }
        assert!(!bench.is_under_pressure());
    }

    #[test]
    fn no_pressure_is_detected_before_the_usual_latency_is_known() {
        let mut bench = Bench { gauge: PressureGauge::default(), now_ns: 0 };
        bench.syncs(10, QUIET, 1);
        bench.syncs(4, QUIET, 50);
        assert!(!bench.is_under_pressure());
    }

    #[test]
    fn lasting_pressure_becomes_usual_and_more_is_detected() {
        let mut bench = Bench::settled();
        bench.syncs(1190, QUIET, 10);
        assert!(bench.is_under_pressure());
        bench.syncs(60, QUIET, 10);
        assert!(!bench.is_under_pressure());
        bench.syncs(3, QUIET, 100);
        assert!(bench.is_under_pressure());
    }
}
