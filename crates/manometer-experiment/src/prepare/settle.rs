//! Decides whether the primary has settled: whether its throughput and the levels of its LSM tree are steady.
//!
//! An engine just loaded misleads in both directions: with all data in the last level it reads and writes too fast, with
//! all data in the first level too slowly (Storiks, 3.4.1). The judged window is the last third of the time limit, at most
//! five minutes. It is judged again after every fifth of its length.

use std::collections::BTreeMap;

use manometer_analysis::lsm_levels::{largest_trend, level_of};
use manometer_analysis::steady_state::SteadyStateTest;
use manometer_analysis::time_series::TimeSeries;
use manometer_measure::Span;
use manometer_measure::operation::is_background;
use manometer_workload::sample::Sample;
use serde::{Deserialize, Serialize};

/// The maximum length of the judged window, as of a phase.
const MAX_WINDOW_S: f64 = 300.0;

/// The judged window is this part of the time limit where that is shorter.
const WINDOW_DIVISOR: f64 = 3.0;

/// The number of judgements per window.
const CHECKS_PER_WINDOW: f64 = 5.0;

/// The column of an engine's state that counts the bytes written by compaction.
const COMPACTION: &str = "compaction_written_bytes";

/// The result of settling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SettleResult {
    /// Whether the primary was steady at the end.
    pub steady: bool,
    /// How long the primary ran.
    pub seconds: f64,
}

/// Monitors the primary while it settles.
#[derive(Debug)]
pub struct SettleMonitor {
    window_s: f64,
    max_s: f64,
    /// Whether its performance is in bytes, not in requests.
    in_bytes: bool,
    began_ns: Option<u64>,
    checked_s: f64,
    throughput: TimeSeries,
    compaction: TimeSeries,
    levels: BTreeMap<u32, TimeSeries>,
}

impl SettleMonitor {
    /// Monitors a workload whose performance is in `unit`, for at most `max_time`.
    pub fn new(max_time: Span, unit: &str) -> Self {
        let max_s = max_time.seconds();
        Self {
            window_s: (max_s / WINDOW_DIVISOR).min(MAX_WINDOW_S),
            max_s,
            in_bytes: unit == "MiB/s",
            began_ns: None,
            checked_s: 0.0,
            throughput: TimeSeries::default(),
            compaction: TimeSeries::default(),
            levels: BTreeMap::new(),
        }
    }

    /// The time until the end of the last sample, and the time limit.
    pub fn progress_s(&self) -> (f64, f64) {
        (self.throughput.end_s.last().copied().unwrap_or(0.0), self.max_s)
    }

    /// Adds a sample. Returns the result once the primary is steady or the time limit is reached.
    pub fn add_sample(&mut self, sample: &Sample) -> Option<SettleResult> {
        let began_ns = *self.began_ns.get_or_insert(sample.t_ns.saturating_sub(sample.length_ns));
        let end_s = sample.t_ns.saturating_sub(began_ns) as f64 / 1e9;
        let foreground = sample.operations.iter().filter(|(operation, _)| !is_background(operation));
        let done: u64 = foreground.map(|(_, done)| if self.in_bytes { done.bytes } else { done.requests }).sum();
        let seconds = sample.length_ns.max(1) as f64 / 1e9;
        let since_s = end_s - self.window_s;
        push(&mut self.throughput, end_s, done as f64 / seconds, since_s);
        for (column, value) in &sample.state {
            if let Some(level) = level_of(column) {
                push(self.levels.entry(level).or_default(), end_s, *value, since_s);
            } else if column == COMPACTION {
                push(&mut self.compaction, end_s, *value, since_s);
            }
        }
        if end_s >= self.window_s && end_s >= self.checked_s + self.window_s / CHECKS_PER_WINDOW {
            self.checked_s = end_s;
            if self.is_steady(end_s) {
                return Some(SettleResult { steady: true, seconds: end_s });
            }
        }
        (end_s >= self.max_s).then_some(SettleResult { steady: false, seconds: end_s })
    }

    fn is_steady(&self, end_s: f64) -> bool {
        let judged = |series: &TimeSeries| SteadyStateTest::of(&since(series, end_s - self.window_s), self.window_s);
        let levels = self.levels.iter().map(|(level, series)| (*level, series.values.as_slice()));
        judged(&self.throughput).is_some_and(|throughput| throughput.is_steady())
            && largest_trend(levels).is_none()
            // Compaction is bursty by nature: only a drift counts.
            && judged(&self.compaction).is_none_or(|compaction| !compaction.has_drifted())
    }
}

/// Appends a value and drops those before `since_s`.
fn push(series: &mut TimeSeries, end_s: f64, value: f64, since_s: f64) {
    series.end_s.push(end_s);
    series.values.push(value);
    let old = series.end_s.partition_point(|end_s| *end_s <= since_s);
    series.end_s.drain(..old);
    series.values.drain(..old);
}

/// The series with times relative to `begin_s`.
fn since(series: &TimeSeries, begin_s: f64) -> TimeSeries {
    let end_s = series.end_s.iter().map(|end_s| end_s - begin_s).collect();
    TimeSeries { end_s, values: series.values.clone() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use manometer_workload::sample::OperationSample;

    use super::*;

    fn sample(second: u64, requests: u64, state: &[(&str, f64)]) -> Sample {
        let (latency, response) = (String::new(), String::new());
        let done = OperationSample { requests, bytes: 0, retries: 0, missing: 0, latency, response };
        Sample {
            t_ns: second * 1_000_000_000,
            length_ns: 1_000_000_000,
            operations: [("read".to_owned(), done)].into_iter().collect(),
            dropped: 0,
            state: state.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            state_t_ns: None,
        }
    }

    fn settle(max_s: u64, at: impl Fn(u64) -> (u64, f64, f64)) -> SettleResult {
        let mut monitor = SettleMonitor::new(Span(Duration::from_secs(max_s)), "ops/s");
        let mut ends = (1..=2 * max_s).filter_map(|second| {
            let (requests, level, compaction) = at(second);
            monitor.add_sample(&sample(second, requests, &[("level1_bytes", level), (COMPACTION, compaction)]))
        });
        ends.next().expect("it ends at the time limit at the latest")
    }

    fn noise(second: u64) -> u64 {
        (second * 7919) % 13
    }

    #[test]
    fn a_steady_primary_has_settled_after_one_window() {
        let settled = settle(180, |second| (1000 + noise(second), 1e9, 1e6));
        assert_eq!(settled, SettleResult { steady: true, seconds: 60.0 });
    }

    #[test]
    fn moving_levels_delay_settling() {
        let settled =
            settle(600, |second| (1000 + noise(second), 1e9 - 5e6 * 100_u64.saturating_sub(second) as f64, 1e6));
        assert!(settled.steady && (200.0..=320.0).contains(&settled.seconds), "{settled:?}");
    }

    #[test]
    fn an_unsteady_primary_ends_unsettled_at_the_time_limit() {
        let falling = settle(180, |second| (5000 - 20 * second.min(240) + noise(second), 1e9, 1e6));
        assert_eq!(falling, SettleResult { steady: false, seconds: 180.0 });
        let compacting = settle(180, |second| (1000 + noise(second), 1e9, 1e6 * second as f64));
        assert_eq!(compacting, SettleResult { steady: false, seconds: 180.0 });
        assert!(!settle(180, |_| (0, 1e9, 1e6)).steady, "an idle primary has not settled");
    }
}
