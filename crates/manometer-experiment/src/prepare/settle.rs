//! Whether the primary has settled: its throughput as a phase's is judged, and the levels of its engine's tree.
//!
//! An engine just loaded lies in both directions: with all data in its last level it reads and writes too fast, with
//! all of them in its first too slowly (Storiks, 3.4.1). Judged is the last third of the time limit, at most five
//! minutes; every fifth of that it is judged anew.

use std::collections::BTreeMap;

use manometer_analysis::levels::{greatest_move, level_of};
use manometer_analysis::series::Series;
use manometer_analysis::steady::Steadiness;
use manometer_measure::Span;
use manometer_measure::operation::is_background;
use manometer_workload::protocol::Sample;
use serde::{Deserialize, Serialize};

/// The longest stretch that is judged: a phase is judged by its last five minutes too.
const LONGEST_WINDOW_S: f64 = 300.0;

/// The share of the time limit that is judged where that is shorter.
const WINDOW_DIVISOR: f64 = 3.0;

/// How often in a window it is judged: once for each of its rounds.
const LOOKS_PER_WINDOW: f64 = 5.0;

/// The column of an engine's state that says how much compaction writes.
const COMPACTION: &str = "compaction_written_bytes";

/// How settling ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Whether it was steady at the end.
    pub steady: bool,
    /// How long the primary ran.
    pub seconds: f64,
}

/// A settling that goes on.
#[derive(Debug)]
pub struct Settling {
    window_s: f64,
    at_most_s: f64,
    /// Whether its performance is told in bytes, not in requests.
    in_bytes: bool,
    began_ns: Option<u64>,
    judged_s: f64,
    throughput: Series,
    compaction: Series,
    levels: BTreeMap<u32, Series>,
}

impl Settling {
    /// A settling that takes at most so long, of a workload whose performance is in `unit`.
    pub fn new(at_most: Span, unit: &str) -> Self {
        let at_most_s = at_most.seconds();
        Self {
            window_s: (at_most_s / WINDOW_DIVISOR).min(LONGEST_WINDOW_S),
            at_most_s,
            in_bytes: unit == "MiB/s",
            began_ns: None,
            judged_s: 0.0,
            throughput: Series::default(),
            compaction: Series::default(),
            levels: BTreeMap::new(),
        }
    }

    /// How long it has lasted by the end of the last sample, and how long it may.
    pub fn progress_s(&self) -> (f64, f64) {
        (self.throughput.end_s.last().copied().unwrap_or(0.0), self.at_most_s)
    }

    /// Takes a sample in; how it ended, once it has.
    pub fn add(&mut self, sample: &Sample) -> Option<Settled> {
        let began_ns = *self.began_ns.get_or_insert(sample.t_ns.saturating_sub(sample.length_ns));
        let end_s = sample.t_ns.saturating_sub(began_ns) as f64 / 1e9;
        let own = sample.operations.iter().filter(|(operation, _)| !is_background(operation));
        let done: u64 = own.map(|(_, done)| if self.in_bytes { done.bytes } else { done.requests }).sum();
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
        if end_s >= self.window_s && end_s >= self.judged_s + self.window_s / LOOKS_PER_WINDOW {
            self.judged_s = end_s;
            if self.is_steady(end_s) {
                return Some(Settled { steady: true, seconds: end_s });
            }
        }
        (end_s >= self.at_most_s).then_some(Settled { steady: false, seconds: end_s })
    }

    fn is_steady(&self, end_s: f64) -> bool {
        let judged = |series: &Series| Steadiness::of(&since(series, end_s - self.window_s), self.window_s);
        let levels = self.levels.iter().map(|(level, series)| (*level, series.values.as_slice()));
        judged(&self.throughput).is_some_and(|throughput| throughput.steady())
            && greatest_move(levels).is_none()
            // Compaction comes and goes: that it swings is its nature, that it drifts is not.
            && judged(&self.compaction).is_none_or(|compaction| !compaction.drifted())
    }
}

/// Appends a value, and forgets those of before `since_s`.
fn push(series: &mut Series, end_s: f64, value: f64, since_s: f64) {
    series.end_s.push(end_s);
    series.values.push(value);
    let old = series.end_s.partition_point(|end_s| *end_s <= since_s);
    series.end_s.drain(..old);
    series.values.drain(..old);
}

/// The same series with its times counted from `begin_s`.
fn since(series: &Series, begin_s: f64) -> Series {
    let end_s = series.end_s.iter().map(|end_s| end_s - begin_s).collect();
    Series { end_s, values: series.values.clone() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use manometer_workload::protocol::OperationSample;

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

    fn settle(at_most_s: u64, at: impl Fn(u64) -> (u64, f64, f64)) -> Settled {
        let mut settling = Settling::new(Span(Duration::from_secs(at_most_s)), "ops/s");
        let mut ends = (1..=2 * at_most_s).filter_map(|second| {
            let (requests, level, compaction) = at(second);
            settling.add(&sample(second, requests, &[("level1_bytes", level), (COMPACTION, compaction)]))
        });
        ends.next().expect("it ends at its limit at the latest")
    }

    fn noise(second: u64) -> u64 {
        (second * 7919) % 13
    }

    #[test]
    fn what_is_steady_from_the_start_has_settled_after_a_window() {
        let settled = settle(180, |second| (1000 + noise(second), 1e9, 1e6));
        assert_eq!(settled, Settled { steady: true, seconds: 60.0 });
    }

    #[test]
    fn levels_that_move_keep_it_going_until_they_rest() {
        let settled =
            settle(600, |second| (1000 + noise(second), 1e9 - 5e6 * 100_u64.saturating_sub(second) as f64, 1e6));
        assert!(settled.steady && (200.0..=320.0).contains(&settled.seconds), "{settled:?}");
    }

    #[test]
    fn what_never_rests_ends_at_its_limit_and_says_so() {
        let falling = settle(180, |second| (5000 - 20 * second.min(240) + noise(second), 1e9, 1e6));
        assert_eq!(falling, Settled { steady: false, seconds: 180.0 });
        let compacting = settle(180, |second| (1000 + noise(second), 1e9, 1e6 * second as f64));
        assert_eq!(compacting, Settled { steady: false, seconds: 180.0 });
        assert!(!settle(180, |_| (0, 1e9, 1e6)).steady, "a primary that does nothing has not settled");
    }
}
