//! The criterion as a time series: one number per sample interval of a phase.
//!
//! Only intervals that lie entirely within the phase count: an interval across its start or end mixes two settings. A
//! missing or unmeasured interval is a gap: it is left out, never filled.

use manometer_measure::latency_log::LatencyLog;
use manometer_measure::operation::is_background;
use manometer_measure::{Recording, Samples};

use crate::criterion::{Percentile, ThroughputUnit};
use crate::statistics::moments::median;

const BYTES_PER_MIB: f64 = (1u64 << 20) as f64;

/// The time in which a phase was measured, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeWindow {
    /// Its start.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

impl TimeWindow {
    /// Its length in seconds; 0 if it ends before it starts.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9
    }

    /// Its start and its end in seconds since the start of `recording`.
    pub(crate) fn bounds_s(&self, recording: &Recording) -> (f64, f64) {
        (recording.seconds(self.begin_ns), recording.seconds(self.end_ns))
    }
}

/// One number per sample interval, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeSeries {
    /// The end of each interval, in seconds since the start of the phase.
    pub end_s: Vec<f64>,
    /// The numbers, one per interval.
    pub values: Vec<f64>,
}

impl TimeSeries {
    /// The typical distance of two samples in seconds, gaps aside; `usual_s` with fewer than two.
    pub fn interval_s(&self, usual_s: f64) -> f64 {
        let distances: Vec<f64> = self.end_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
        median(&distances).filter(|median| *median > 0.0).unwrap_or(usual_s)
    }

    fn push(&mut self, end_s: f64, value: f64) {
        if is_measurement(value) {
            self.end_s.push(end_s);
            self.values.push(value);
        }
    }
}

/// The throughput of a workload in `window`: all foreground operations together, per interval of equal length.
///
/// `samples` is its series as described in `docs/recording.md`. `interval_s` is the length of an interval where the series
/// has no `length` column. The mean of the series is work divided by measured time, however unequal the intervals are.
pub fn throughput(samples: &Samples, unit: ThroughputUnit, window: TimeWindow, interval_s: f64) -> TimeSeries {
    equal_intervals(&measured_intervals(samples, unit, window, interval_s))
}

/// The time in seconds over which [`throughput`] is measured in `window`, without its gaps.
pub(crate) fn covered_s(samples: &Samples, unit: ThroughputUnit, window: TimeWindow, interval_s: f64) -> f64 {
    measured_intervals(samples, unit, window, interval_s).iter().map(|interval| interval.length_s).sum()
}

/// The intervals of `samples` entirely within `window` in which every operation that ran there was counted. The others are
/// gaps.
fn measured_intervals(
    samples: &Samples,
    unit: ThroughputUnit,
    window: TimeWindow,
    interval_s: f64,
) -> Vec<MeasuredInterval> {
    let (suffix, per_unit) = match unit {
        ThroughputUnit::Requests => (".requests", 1.0),
        ThroughputUnit::Mebibytes => (".bytes", BYTES_PER_MIB),
    };
    let rows = rows_within(samples, window, interval_s);
    let counted = columns(samples, |name| name.strip_suffix(suffix).is_some_and(|operation| !is_background(operation)));
    let operations: Vec<OperationCounts<'_>> =
        counted.into_iter().filter_map(|counts| OperationCounts::of(counts, &rows)).collect();
    let interval = |(row, length_s): &(usize, f64)| {
        let counts = operations.iter().filter_map(|operation| operation.count(*row));
        let work = counts.reduce(|sum, count| Some(sum? + count?))??;
        let end_s = samples.t_ns[*row].saturating_sub(window.begin_ns) as f64 / 1e9;
        let rate = work / per_unit / length_s;
        is_measurement(rate).then_some(MeasuredInterval { end_s, length_s: *length_s, rate })
    };
    rows.iter().filter_map(interval).collect()
}

/// The rows of the intervals entirely within `window`, with their lengths in seconds.
fn rows_within(samples: &Samples, window: TimeWindow, interval_s: f64) -> Vec<(usize, f64)> {
    let lengths = samples.column("length");
    let within = |(row, end_ns): (usize, &u64)| {
        let length_s = lengths.map_or(Some(interval_s), |column| cell(column, row));
        let length_s = length_s.filter(|length_s| length_s.is_finite() && *length_s > 0.0)?;
        let begin_ns = end_ns.saturating_sub((length_s * 1e9).round() as u64);
        (begin_ns >= window.begin_ns && *end_ns <= window.end_ns).then_some((row, length_s))
    };
    samples.t_ns.iter().enumerate().filter_map(within).collect()
}

/// The counts of one operation.
struct OperationCounts<'a> {
    counts: &'a [Option<f64>],
    /// The first row with a count. A workload counts an operation from when it first has it, and in every interval from
    /// there on.
    first_row: usize,
}

impl<'a> OperationCounts<'a> {
    /// `counts`, if there is any in `rows`: an operation that is null throughout does not run there.
    fn of(counts: &'a [Option<f64>], rows: &[(usize, f64)]) -> Option<Self> {
        let first_row = counts.iter().position(Option::is_some)?;
        rows.iter().any(|(row, _)| cell(counts, *row).is_some()).then_some(Self { counts, first_row })
    }

    /// The count in `row`, `Some(None)` if it was not measured, `None` before the operation first occurs.
    fn count(&self, row: usize) -> Option<Option<f64>> {
        (row >= self.first_row).then(|| cell(self.counts, row).filter(|count| is_measurement(*count)))
    }
}

/// A rate and the time in which it was measured.
#[derive(Debug, Clone, Copy)]
struct MeasuredInterval {
    /// Its end, in seconds since the start of the phase.
    end_s: f64,
    length_s: f64,
    rate: f64,
}

/// The rates of `intervals` over as many intervals of equal length, without the gaps between them: the work of an
/// interval is spread evenly over its length. A report over 30 s then weighs as much as 30 reports over 1 s, in the mean
/// and in its variance.
fn equal_intervals(intervals: &[MeasuredInterval]) -> TimeSeries {
    let mut series = TimeSeries::default();
    let Some(last) = intervals.last() else { return series };
    if intervals.iter().all(|interval| interval.length_s == last.length_s) {
        intervals.iter().for_each(|interval| series.push(interval.end_s, interval.rate));
        return series;
    }
    let step_s = intervals.iter().map(|interval| interval.length_s).sum::<f64>() / intervals.len() as f64;
    let (mut filled_s, mut work) = (0.0, 0.0);
    for interval in intervals {
        let mut left_s = interval.length_s;
        while filled_s + left_s >= step_s && series.values.len() + 1 < intervals.len() {
            let taken_s = step_s - filled_s;
            left_s -= taken_s;
            series.push(interval.end_s - left_s, (work + taken_s * interval.rate) / step_s);
            (filled_s, work) = (0.0, 0.0);
        }
        (filled_s, work) = (filled_s + left_s, work + left_s * interval.rate);
    }
    series.push(last.end_s, work / filled_s);
    series
}

/// A damaged file may hold anything: only finite, non-negative counts, rates and latencies are measurements.
fn is_measurement(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

/// The sum of the columns for which `is_counted` holds, over the intervals entirely within one of `windows`.
pub fn total(samples: &Samples, is_counted: impl Fn(&str) -> bool, windows: &[TimeWindow]) -> f64 {
    let lengths = samples.column("length");
    let counted = columns(samples, is_counted);
    let inside = samples.t_ns.iter().enumerate().filter(|(row, end_ns)| {
        let length_s = lengths.and_then(|lengths| cell(lengths, *row)).unwrap_or(0.0);
        let begin_ns = end_ns.saturating_sub((length_s * 1e9).round() as u64);
        windows.iter().any(|window| **end_ns <= window.end_ns && begin_ns >= window.begin_ns)
    });
    let cells = inside.flat_map(|(row, _)| counted.iter().filter_map(move |column| cell(column, row)));
    cells.filter(|count| count.is_finite()).sum()
}

/// A percentile of the latencies of `operation` per sample interval, in units of `ns_per_unit` nanoseconds, from
/// `begin_s` to `end_s` in seconds since the start of the recording. An interval without a request is a gap.
pub fn latency(
    log: &LatencyLog,
    operation: &str,
    percentile: Percentile,
    ns_per_unit: f64,
    (begin_s, end_s): (f64, f64),
) -> TimeSeries {
    let mut series = TimeSeries::default();
    for interval in log.intervals_between(operation, begin_s, end_s) {
        if let Some(ns) = percentile.ns(&interval.histogram()) {
            series.push(interval.end_s - begin_s, ns as f64 / ns_per_unit);
        }
    }
    series
}

fn columns(samples: &Samples, is_selected: impl Fn(&str) -> bool) -> Vec<&Vec<Option<f64>>> {
    let all = samples.columns.iter().zip(&samples.values);
    all.filter(|(column, _)| is_selected(&column.name)).map(|(_, values)| values).collect()
}

fn cell(column: &[Option<f64>], row: usize) -> Option<f64> {
    column.get(row).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use manometer_measure::latency_log::LatencyInterval;
    use manometer_measure::{Column, LatencyHistogram};

    const SECOND: u64 = 1_000_000_000;

    fn samples(rows: &[(u64, Option<f64>, Option<f64>)]) -> Samples {
        let names = ["length", "read.requests", "write.requests", "read.bytes"];
        Samples {
            t_ns: rows.iter().map(|row| row.0).collect(),
            columns: names.iter().map(|name| Column::new(*name, "")).collect(),
            values: vec![
                vec![Some(1.0); rows.len()],
                rows.iter().map(|row| row.1).collect(),
                rows.iter().map(|row| row.2).collect(),
                rows.iter().map(|row| row.1.map(|requests| requests * 4096.0)).collect(),
            ],
            truncated: false,
            damaged: false,
        }
    }

    #[test]
    fn only_whole_intervals_count_and_gaps_stay_gaps() {
        let samples = samples(&[
            (10 * SECOND, Some(1.0), Some(1.0)),
            (11 * SECOND, Some(100.0), Some(50.0)),
            (12 * SECOND, None, None),
            (13 * SECOND, Some(100.0), Some(0.0)),
            (14 * SECOND, Some(7.0), Some(7.0)),
        ]);
        let window = TimeWindow { begin_ns: 10 * SECOND, end_ns: 13 * SECOND + 1 };
        let series = throughput(&samples, ThroughputUnit::Requests, window, 1.0);
        assert_eq!(series, TimeSeries { end_s: vec![1.0, 3.0], values: vec![150.0, 100.0] });
        let series = throughput(&samples, ThroughputUnit::Mebibytes, window, 1.0);
        assert_eq!(series.values, [100.0 / 256.0, 100.0 / 256.0]);
    }

    #[test]
    fn a_long_interval_weighs_as_much_as_the_short_ones_that_it_spans() {
        let mut samples = samples(&[
            (11 * SECOND, Some(100.0), None),
            (14 * SECOND, Some(30.0), None),
            (16 * SECOND, None, None),
            (18 * SECOND, Some(40.0), None),
        ]);
        samples.values[0] = [1.0, 3.0, 2.0, 2.0].map(Some).to_vec();
        let window = TimeWindow { begin_ns: 10 * SECOND, end_ns: 18 * SECOND };
        let series = throughput(&samples, ThroughputUnit::Requests, window, 1.0);
        assert_eq!(series, TimeSeries { end_s: vec![2.0, 4.0, 8.0], values: vec![55.0, 10.0, 20.0] });
    }

    #[test]
    fn the_mean_of_unequal_intervals_is_work_divided_by_time() {
        let intervals: Vec<MeasuredInterval> = (1..500)
            .scan(0.0, |end_s, number| {
                let length_s = 0.1 + f64::from(number * 7919 % 113);
                *end_s += length_s;
                Some(MeasuredInterval { end_s: *end_s, length_s, rate: f64::from(number * 104_729 % 1_000) })
            })
            .collect();
        let series = equal_intervals(&intervals);
        let sum = |of: fn(&MeasuredInterval) -> f64| intervals.iter().map(of).sum::<f64>();
        let expected = sum(|interval| interval.rate * interval.length_s) / sum(|interval| interval.length_s);
        let mean = series.values.iter().sum::<f64>() / series.values.len() as f64;
        assert_eq!(series.values.len(), intervals.len());
        assert!((mean / expected - 1.0).abs() < 1e-12, "{mean} instead of {expected}");
    }

    #[test]
    fn background_operations_do_not_count_as_throughput() {
        let mut samples = samples(&[(11 * SECOND, Some(100.0), Some(50.0))]);
        samples.columns[2].name = "background_update.requests".to_owned();
        let window = TimeWindow { begin_ns: 10 * SECOND, end_ns: 11 * SECOND };
        assert_eq!(throughput(&samples, ThroughputUnit::Requests, window, 1.0).values, [100.0]);
    }

    #[test]
    fn an_operation_that_was_not_counted_makes_a_gap_from_its_first_count_on() {
        let samples = samples(&[
            (11 * SECOND, Some(100.0), None),
            (12 * SECOND, Some(100.0), Some(50.0)),
            (13 * SECOND, Some(100.0), None),
            (14 * SECOND, Some(100.0), Some(f64::INFINITY)),
            (15 * SECOND, Some(100.0), Some(-1.0)),
            (16 * SECOND, Some(100.0), None),
            (17 * SECOND, Some(100.0), None),
        ]);
        let window = |begin: u64, end: u64| TimeWindow { begin_ns: begin * SECOND, end_ns: end * SECOND };
        let of = |window| throughput(&samples, ThroughputUnit::Requests, window, 1.0).values;
        assert_eq!(of(window(10, 17)), [100.0, 150.0]);
        assert_eq!(covered_s(&samples, ThroughputUnit::Requests, window(10, 17), 1.0), 2.0);
        assert_eq!(of(window(15, 17)), [100.0, 100.0], "it does not run there");
    }

    #[test]
    fn impossible_numbers_are_gaps() {
        let samples = samples(&[(11 * SECOND, Some(f64::NAN), None), (12 * SECOND, Some(-5.0), None)]);
        let window = TimeWindow { begin_ns: 0, end_ns: 20 * SECOND };
        assert_eq!(throughput(&samples, ThroughputUnit::Requests, window, 1.0), TimeSeries::default());
    }

    #[test]
    fn a_latency_series_has_one_percentile_per_interval_with_requests() {
        let interval = |end_s: f64, latencies: &[u64]| {
            let mut histogram = LatencyHistogram::new();
            latencies.iter().for_each(|ns| histogram.record(*ns));
            LatencyInterval::new("read", end_s - 1.0, end_s, &histogram)
        };
        let log = LatencyLog {
            intervals: vec![
                interval(1.5, &[1_000]),
                interval(2.0, &[2_000]),
                interval(3.0, &[]),
                interval(4.0, &[9_000]),
            ],
            truncated: false,
        };
        let series = latency(&log, "read", Percentile::Quantile(0.5), 1e3, (1.0, 4.0));
        assert_eq!(series.end_s, [1.0, 3.0]);
        assert!((series.values[0] - 2.0).abs() < 0.01 && (series.values[1] - 9.0).abs() < 0.02);
        assert_eq!(latency(&log, "scan", Percentile::Max, 1e3, (0.0, 9.0)), TimeSeries::default());
    }
}
