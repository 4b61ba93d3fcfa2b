//! The course of a simulation: what an arrangement did in each interval, the warm-up included.
//!
//! The intervals are equally long but for the last. There are at most [`INTERVALS_MAX`]: where the end is not known
//! before, intervals are merged in pairs whenever there are that many.

use manometer_measure::Column;
use manometer_measure::samples::columns_from;

use super::events::Ns;
use super::flows::{FlowBytes, Flows};

/// The most intervals of a series.
pub const INTERVALS_MAX: usize = 512;

/// The first length of intervals, where the end is not known.
const FIRST_INTERVAL: Ns = 1_000_000;

/// The counts of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IntervalCounts {
    /// Operations that completed.
    pub requests: u64,
    /// Bytes that they read and wrote.
    pub bytes: u64,
    /// The sum of their latencies.
    pub latency_ns: u64,
    /// Pages requested by reads through memory.
    pub ram_reads: u64,
    /// Pages that they found there.
    pub ram_read_hits: u64,
    /// Blocks read and written at the second-level cache.
    pub cache_requests: u64,
    /// Blocks of these that were there.
    pub cache_hits: u64,
    /// Bytes of the flows between the levels.
    pub flows: Flows,
}

impl IntervalCounts {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            bytes: self.bytes - earlier.bytes,
            latency_ns: self.latency_ns - earlier.latency_ns,
            ram_reads: self.ram_reads - earlier.ram_reads,
            ram_read_hits: self.ram_read_hits - earlier.ram_read_hits,
            cache_requests: self.cache_requests - earlier.cache_requests,
            cache_hits: self.cache_hits - earlier.cache_hits,
            flows: self.flows.since(&earlier.flows),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            latency_ns: self.latency_ns + other.latency_ns,
            ram_reads: self.ram_reads + other.ram_reads,
            ram_read_hits: self.ram_read_hits + other.ram_read_hits,
            cache_requests: self.cache_requests + other.cache_requests,
            cache_hits: self.cache_hits + other.cache_hits,
            flows: self.flows.plus(&other.flows),
        }
    }
}

/// An interval of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TierInterval {
    /// Its begin, in seconds of simulated time.
    pub begin_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Whether it begins in the warm-up, which is not part of the result.
    pub is_warm_up: bool,
    /// What happened in it.
    pub counts: IntervalCounts,
}

impl TierInterval {
    fn seconds(&self) -> f64 {
        self.end_s - self.begin_s
    }

    /// Operations per second.
    pub fn requests_per_s(&self) -> f64 {
        self.counts.requests as f64 / self.seconds()
    }

    /// Throughput in 10^6 bytes per second.
    pub fn mb_per_s(&self) -> f64 {
        self.rate(self.counts.bytes)
    }

    /// Bytes as a rate in 10^6 bytes per second.
    pub fn rate(&self, bytes: u64) -> f64 {
        bytes as f64 / 1e6 / self.seconds()
    }

    /// The mean latency of the operations that completed; `None` without one.
    pub fn latency_mean_us(&self) -> Option<f64> {
        ratio(self.counts.latency_ns, self.counts.requests).map(|ns| ns / 1e3)
    }

    /// The share of pages read that were in memory.
    pub fn ram_hit_ratio(&self) -> Option<f64> {
        ratio(self.counts.ram_read_hits, self.counts.ram_reads)
    }

    /// The share of blocks read or written that were in the second-level cache.
    pub fn hit_ratio(&self) -> Option<f64> {
        ratio(self.counts.cache_hits, self.counts.cache_requests)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Records a series from running totals.
#[derive(Debug)]
pub(super) struct SeriesRecorder {
    interval: Ns,
    /// The end and the counts of each interval.
    intervals: Vec<(Ns, IntervalCounts)>,
    totals: IntervalCounts,
    /// The end of the current interval.
    due: Ns,
}

impl SeriesRecorder {
    /// A series that ends at `until`; [`Ns::MAX`] if that is not known.
    pub(super) fn new(until: Ns) -> Self {
        let known = until.div_ceil(INTERVALS_MAX as Ns).max(1);
        let interval = if until == Ns::MAX { FIRST_INTERVAL } else { known };
        Self { interval, intervals: Vec::new(), totals: IntervalCounts::default(), due: interval }
    }

    /// Whether an interval has ended by `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Ns) -> bool {
        now >= self.due
    }

    /// Ends the intervals that have ended by `now`. `totals` are those at the end of the first; nothing happened since.
    pub(super) fn advance(&mut self, now: Ns, totals: &IntervalCounts) {
        while self.is_due(now) {
            self.push(self.due, totals);
            if self.intervals.len() == INTERVALS_MAX {
                self.merge_pairs();
            }
            self.due += self.interval;
        }
    }

    fn push(&mut self, end: Ns, totals: &IntervalCounts) {
        self.intervals.push((end, totals.since(&self.totals)));
        self.totals = *totals;
    }

    fn merge_pairs(&mut self) {
        let merged = self.intervals.chunks(2).map(|pair| match pair {
            [(_, one), (end, other)] => (*end, one.plus(other)),
            pair => pair[0],
        });
        self.intervals = merged.collect();
        self.interval *= 2;
    }

    /// The series, which ends at `end` after a warm-up.
    pub(super) fn finish(mut self, end: Ns, warmup: Ns, totals: &IntervalCounts) -> Vec<TierInterval> {
        self.advance(end.saturating_sub(1), totals);
        let last_end = self.due - self.interval;
        match self.intervals.last_mut() {
            // What happened at the end of the last interval belongs to it.
            Some((_, counts)) if end <= last_end => *counts = counts.plus(&totals.since(&self.totals)),
            _ => self.push(end.max(1), totals),
        }
        let begins = std::iter::once(0).chain(self.intervals.iter().map(|(end, _)| *end));
        let seconds = |ns: Ns| ns as f64 / 1e9;
        begins
            .zip(&self.intervals)
            .map(|(begin, (end, counts))| TierInterval {
                begin_s: seconds(begin),
                end_s: seconds(*end),
                is_warm_up: begin < warmup,
                counts: *counts,
            })
            .collect()
    }
}

/// The columns of a series that are no flows: name, unit, meaning.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("arrangement", "", "The arrangement."),
    ("workload", "", "The workload, or the trace."),
    ("begin", "s", "The begin of the interval, in simulated time, whose periods are divided by `scale`."),
    ("end", "s", "Its end."),
    ("warm_up", "flag", "Whether the interval begins in the warm-up, which is not part of the result."),
    ("requests", "requests/s", "Operations that completed."),
    ("throughput", "MB/s", "Bytes that they read and wrote, in 10^6 bytes."),
    ("latency_mean", "us", "Mean latency of the operations that completed; null without one."),
    ("ram_hit_ratio", "ratio", "Pages read that were in memory; null if none were read."),
    ("hit_ratio", "ratio", "Blocks read or written that were in the SSD cache; null without any."),
];

/// A direction of a flow: its name, its meaning, its bytes.
pub(super) type FlowDirection = (&'static str, &'static str, fn(&FlowBytes) -> u64);

/// The directions of a flow.
pub(super) const DIRECTIONS: [FlowDirection; 4] = [
    ("origin_read", "read from the origin", |flow| flow.origin_read),
    ("origin_written", "written to the origin", |flow| flow.origin_written),
    ("cache_read", "read from the SSD cache", |flow| flow.cache_read),
    ("cache_written", "written to the SSD cache", |flow| flow.cache_written),
];

/// The columns of a series in Parquet, a row for each interval.
pub fn series_columns() -> Vec<Column> {
    let mut columns = columns_from("cache tier", COLUMNS);
    for (flow, purpose) in Flows::PURPOSES {
        columns.extend(DIRECTIONS.map(|(direction, meaning, _)| {
            Column::new(format!("{flow}.{direction}"), "MB/s")
                .meaning(format!("{purpose}: bytes {meaning}."))
                .from("cache tier")
        }));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(requests: u64) -> IntervalCounts {
        IntervalCounts { requests, ..IntervalCounts::default() }
    }

    fn requests(series: &[TierInterval]) -> Vec<u64> {
        series.iter().map(|interval| interval.counts.requests).collect()
    }

    #[test]
    fn intervals_hold_what_happened_in_them() {
        let mut recorder = SeriesRecorder::new(512 * 10);
        recorder.advance(10, &totals(3));
        recorder.advance(35, &totals(4));
        let series = recorder.finish(37, 20, &totals(9));
        assert_eq!(requests(&series), [3, 1, 0, 5]);
        assert_eq!(series.iter().map(|interval| interval.is_warm_up).collect::<Vec<_>>(), [true, true, false, false]);
        assert_eq!((series[3].begin_s, series[3].end_s), (30e-9, 37e-9));
    }

    #[test]
    fn a_series_of_unknown_length_stays_short_and_loses_nothing() {
        for length in [1, 511, 512, 513, 5000, 100_000] {
            let mut recorder = SeriesRecorder::new(Ns::MAX);
            for step in 1..=length {
                let now = step * FIRST_INTERVAL;
                if recorder.is_due(now) {
                    recorder.advance(now, &totals(step));
                }
            }
            let end = length * FIRST_INTERVAL + 1;
            let series = recorder.finish(end, 0, &totals(length + 7));
            assert!(series.len() <= INTERVALS_MAX, "{length}: {}", series.len());
            assert_eq!(requests(&series).iter().sum::<u64>(), length + 7);
            assert_eq!(series.last().map(|last| last.end_s), Some(end as f64 / 1e9));
            let lengths: Vec<f64> = series.iter().map(TierInterval::seconds).collect();
            let [inner @ .., _] = &lengths[..] else { panic!("{length}: no intervals") };
            assert!(inner.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-9), "{length}: equal lengths");
        }
    }

    #[test]
    fn a_gap_without_events_is_intervals_without_requests() {
        let mut recorder = SeriesRecorder::new(Ns::MAX);
        recorder.advance(Ns::MAX / 4, &totals(5));
        let series = recorder.finish(Ns::MAX / 4, 0, &totals(5));
        assert!(series.len() <= INTERVALS_MAX);
        assert_eq!(requests(&series).iter().sum::<u64>(), 5);
    }
}
