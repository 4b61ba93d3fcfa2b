//! What the threads of `db_bench` had done in all, from their own progress lines.
//!
//! Threads report one after another, each after some of its own operations. The sum that Storiks wrote down at
//! intervals counts a thread that reported twice with both reports and leaves one out that did not report. The
//! cumulative counts, interpolated, are right at any moment.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"thread (?<thread>\d+): \(\d+,(?<ops>\d+)\) ops and .* ops/second in \([\d.]+,(?<seconds>[\d.]+)\)")
        .expect("the constant pattern is valid")
});

/// The cumulative operations of each thread.
#[derive(Debug, Default)]
pub(super) struct ThreadCounts {
    /// By thread: moments in ascending order, and what it had done by then.
    threads: BTreeMap<u32, Vec<(u64, f64)>>,
}

impl ThreadCounts {
    /// Takes a line that `db_bench` printed at `t_ns`; others than those of progress are ignored.
    pub fn take(&mut self, t_ns: u64, line: &str) {
        let Some(found) = PROGRESS.captures(line) else { return };
        let number = |name: &str| found[name].parse::<f64>().ok().filter(|number| number.is_finite());
        let (Ok(thread), Some(done), Some(seconds)) = (found["thread"].parse(), number("ops"), number("seconds"))
        else {
            return;
        };
        let counts: &mut Vec<(u64, f64)> = self.threads.entry(thread).or_default();
        let begin_ns = t_ns.saturating_sub((seconds * 1e9) as u64);
        match counts.last().copied() {
            None => counts.push((begin_ns, 0.0)),
            // The next benchmark counts from 0 again.
            Some((last_ns, _)) if begin_ns > last_ns => counts.push((begin_ns, counts[counts.len() - 1].1)),
            Some(_) => {}
        }
        let before = counts.iter().rev().find(|(at_ns, _)| *at_ns <= begin_ns).map_or(0.0, |(_, total)| *total);
        let last = counts[counts.len() - 1];
        counts.push((t_ns.max(last.0), (before + done).max(last.1)));
    }

    /// The last moment for which all threads have reported; `None` without reports.
    pub fn covered_ns(&self) -> Option<u64> {
        self.threads.values().filter_map(|counts| counts.last()).map(|(at_ns, _)| *at_ns).min()
    }

    /// What all threads had done at `t_ns`; `None` where a thread has no report later than that.
    pub fn at(&self, t_ns: u64) -> Option<f64> {
        (!self.threads.is_empty()).then_some(())?;
        self.threads.values().map(|counts| interpolated(counts, t_ns)).sum()
    }
}

fn interpolated(counts: &[(u64, f64)], t_ns: u64) -> Option<f64> {
    let after = counts.partition_point(|(at_ns, _)| *at_ns < t_ns);
    let (after_ns, after_total) = *counts.get(after)?;
    let Some((before_ns, before_total)) = after.checked_sub(1).map(|before| counts[before]) else {
        return Some(0.0);
    };
    let share = (t_ns - before_ns) as f64 / (after_ns - before_ns) as f64;
    Some(before_total + share * (after_total - before_total))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn counts(lines: &[(u64, u32, u64, f64)]) -> ThreadCounts {
        let mut counts = ThreadCounts::default();
        for (second, thread, done, seconds) in lines {
            let line = format!("… thread {thread}: (1,{done}) ops and (1.0,1.0) ops/second in (1.0,{seconds}) seconds");
            counts.take(second * SECOND, &line);
        }
        counts
    }

    #[test]
    fn threads_are_added_up_at_any_moment() {
        let counts = counts(&[(10, 0, 100, 10.0), (12, 1, 60, 12.0), (20, 0, 300, 20.0), (22, 1, 110, 22.0)]);
        assert_eq!(counts.at(0), Some(0.0));
        assert_eq!(counts.at(10 * SECOND), Some(150.0));
        assert_eq!(counts.at(15 * SECOND), Some(200.0 + 75.0));
        assert_eq!(counts.at(21 * SECOND), None, "thread 0 has not reported later");
        assert_eq!(counts.covered_ns(), Some(20 * SECOND));
        assert_eq!(ThreadCounts::default().at(5), None);
    }

    #[test]
    fn the_next_benchmark_goes_on_counting() {
        let counts = counts(&[(10, 0, 100, 10.0), (20, 0, 50, 5.0), (25, 0, 90, 10.0)]);
        assert_eq!([10, 15, 20, 25].map(|second| counts.at(second * SECOND)), [100.0, 100.0, 150.0, 190.0].map(Some));
    }

    #[test]
    fn other_lines_and_impossible_numbers_mean_nothing() {
        let mut counts = ThreadCounts::default();
        counts.take(5, "** Compaction Stats [default] **");
        counts.take(5, "thread 99999999999: (1,1) ops and (1,1) ops/second in (1.0,1.0) seconds");
        assert_eq!(counts.at(5), None);
    }
}
