//! The conductor's own sampling: late and dropped samples, and steps of the wall clock.

use super::super::observer::{Observer, ObserverKind, Subject, boxed};
use crate::clock::WallAnchor;
use crate::samples::{Column, columns_from};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "conductor",
    description: "The conductor's own sampling: late and dropped ticks, and steps of the wall clock.",
    columns,
    create: |subject| match *subject {
        Subject::Conductor { interval_ns, start } => boxed([Conductor::new(interval_ns, start)]),
        _ => Vec::new(),
    },
};

/// A sample later after its tick than the interval divided by this is late.
const LATENESS_DIVISOR: u64 = 20;

pub(super) fn columns() -> Vec<Column> {
    columns_from(
        "the conductor",
        &[
            ("samples_late", "", "1 if the sample was late by more than a twentieth of the sample interval, else 0."),
            ("samples_dropped", "", "Ticks since the last sample that had no sample."),
            ("clock_step", "s", "Change of the wall clock against the monotonic clock since the start of the run."),
        ],
    )
}

#[derive(Debug)]
pub(super) struct Conductor {
    interval_ns: u64,
    start: WallAnchor,
    last_ns: Option<u64>,
}

impl Conductor {
    pub(super) fn new(interval_ns: u64, start: WallAnchor) -> Self {
        Self { interval_ns: interval_ns.max(1), start, last_ns: None }
    }

    /// The sample of the tick at `t_ns`, taken when both clocks showed `now`.
    fn sample_at(&mut self, t_ns: u64, now: WallAnchor) -> Vec<Option<f64>> {
        let late = now.monotonic_ns.saturating_sub(t_ns) > self.interval_ns / LATENESS_DIVISOR;
        let ticks = self.last_ns.map_or(1, |last_ns| t_ns.saturating_sub(last_ns) / self.interval_ns);
        self.last_ns = Some(t_ns);
        let step_ns = ahead_ns(now) - ahead_ns(self.start);
        vec![Some(f64::from(u8::from(late))), Some(ticks.saturating_sub(1) as f64), Some(step_ns as f64 / 1e9)]
    }
}

/// How far the wall clock is ahead of the monotonic clock.
fn ahead_ns(both: WallAnchor) -> i128 {
    i128::from(both.unix_ns) - i128::from(both.monotonic_ns)
}

impl Observer for Conductor {
    fn series(&self) -> &str {
        "conductor"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        self.sample_at(t_ns, WallAnchor::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn at(monotonic_ns: u64, unix_ns: u64) -> WallAnchor {
        WallAnchor { monotonic_ns, unix_ns }
    }

    #[test]
    fn late_samples_dropped_ticks_and_clock_steps_are_counted() {
        let mut conductor = Conductor::new(SECOND_NS, at(0, 50 * SECOND_NS));
        let on_time = at(SECOND_NS + 1_000, 51 * SECOND_NS + 1_000);
        assert_eq!(conductor.sample_at(SECOND_NS, on_time), [Some(0.0), Some(0.0), Some(0.0)]);
        let late = at(2 * SECOND_NS + 60_000_000, 52 * SECOND_NS + 60_000_000);
        assert_eq!(conductor.sample_at(2 * SECOND_NS, late), [Some(1.0), Some(0.0), Some(0.0)]);
        let set_back = at(5 * SECOND_NS, 53 * SECOND_NS);
        assert_eq!(conductor.sample_at(5 * SECOND_NS, set_back), [Some(0.0), Some(2.0), Some(-2.0)]);
    }
}
