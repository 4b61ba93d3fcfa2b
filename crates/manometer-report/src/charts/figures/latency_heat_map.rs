//! The number of requests by latency and time.

use std::collections::BTreeMap;

use manometer_measure::LatencyHistogram;
use manometer_measure::latency_log::LatencyInterval;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::downsample::{SILENT_INTERVALS, bucket_size, even_parts};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "latency-heat-map",
    title: "Latency over time",
    origin: None,
    caption: "The requests in each time slice by latency (y axis, logarithmic): bright is where most of them \
              are. Two bright bands are two kinds of request: those that waited for the device and those that did not. \
              A tall column is a stall.",
    spec: include_str!("../../../charts/latency-heat-map.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Stretches of time at most.
const LIMIT: usize = 80;
/// Classes of latency from one power of ten to the next.
const CLASSES: f64 = 8.0;

/// The requests of one time slice and one class of latency, or the band of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct LatencyCell {
    /// `cell` or `phase`.
    row: &'static str,
    operation: String,
    phase: Option<String>,
    t_s: f64,
    end_s: f64,
    low_us: Option<f64>,
    high_us: Option<f64>,
    share: Option<f64>,
    requests: Option<u64>,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let log = reader.latencies();
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for operation in log.operations() {
        let intervals: Vec<&LatencyInterval> =
            log.intervals.iter().filter(|interval| interval.operation == operation).collect();
        let mut all = LatencyHistogram::new();
        let (size, silence_s) =
            (bucket_size(intervals.len(), LIMIT), SILENT_INTERVALS * reader.recording.plan.interval_s);
        let without_silence = intervals.chunk_by(|left, right| right.begin_s - left.end_s <= silence_s);
        for stretch in without_silence.flat_map(|run| even_parts(run, size)) {
            let histogram = merged(stretch);
            let times = (stretch[0].begin_s, stretch[stretch.len() - 1].end_s);
            rows.extend(cells(&operation, times, &histogram));
            all.add(&histogram);
        }
        rows.extend(reader.spans().into_iter().map(|span| LatencyCell {
            row: "phase",
            operation: operation.clone(),
            phase: Some(span.phase.id.clone()),
            t_s: span.begin_s,
            end_s: span.end_s,
            ..LatencyCell::default()
        }));
        words.extend(describe(&operation, &all));
    }
    if words.is_empty() {
        return ChartContent::empty("The recording holds no latencies of the primary: this chart is left out.");
    }
    ChartContent::of(&rows, &words, Vec::new())
}

fn merged(stretch: &[&LatencyInterval]) -> LatencyHistogram {
    let mut sum = LatencyHistogram::new();
    stretch.iter().for_each(|interval| interval.add_to(&mut sum));
    sum
}

/// The classes of latency that have requests.
fn cells(operation: &str, (t_s, end_s): (f64, f64), histogram: &LatencyHistogram) -> Vec<LatencyCell> {
    let mut classes: BTreeMap<i32, u64> = BTreeMap::new();
    for (latency_ns, count) in histogram.recorded() {
        let class = ((latency_ns as f64 / 1e3).log10() * CLASSES).floor() as i32;
        *classes.entry(class).or_default() += count;
    }
    let edge_us = |class: i32| 10_f64.powf(f64::from(class) / CLASSES);
    let cell = |(class, requests): (i32, u64)| LatencyCell {
        row: "cell",
        operation: operation.to_owned(),
        phase: None,
        t_s,
        end_s,
        low_us: Some(edge_us(class)),
        high_us: Some(edge_us(class + 1)),
        share: Some(requests as f64 / histogram.len() as f64),
        requests: Some(requests),
    };
    classes.into_iter().map(cell).collect()
}

fn describe(operation: &str, all: &LatencyHistogram) -> Option<String> {
    let at = |quantile: f64| all.quantile_ns(quantile).map(|ns| text::latency(ns as f64 / 1e3));
    Some(format!(
        "{operation}: half of {} requests took {} at most, 99 % {}",
        text::count(all.len()),
        at(0.5)?,
        at(0.99)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_every_request_once() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_many(90_000, 30);
        histogram.record_many(5_000_000, 10);
        let cells = cells("read", (1.0, 2.0), &histogram);
        let counts: Vec<(u64, f64)> = cells.iter().map(|cell| (cell.requests.unwrap(), cell.share.unwrap())).collect();
        assert_eq!(counts, [(30, 0.75), (10, 0.25)]);
        for (cell, us) in cells.iter().zip([90.0, 5_000.0]) {
            assert!((cell.low_us.unwrap()..cell.high_us.unwrap()).contains(&us), "{cell:?}");
        }
        assert!(super::cells("read", (1.0, 2.0), &LatencyHistogram::new()).is_empty());
    }
}
