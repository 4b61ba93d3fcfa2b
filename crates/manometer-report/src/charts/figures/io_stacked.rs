//! The device's reads and writes, stacked by workload.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::downsample::{Point, even_parts, nearest, with_gaps};
use crate::phase_spans::PhaseSpan;
use crate::recording_reader::RecordingReader;
use crate::strips::{TimeRow, bands};
use crate::table::Table;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "io-stacked",
    title: "Device reads and writes by workload",
    origin: None,
    caption: "The bytes that the device read and wrote, by the control group of the workload that caused them, or by \
              its process where it has no separate group. `others` is the rest of the device's own count: the file \
              system, write-back by the kernel, foreign processes. A gap above a workload means that its share is not \
              known there.",
    spec: include_str!("../../../charts/io-stacked.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Points of one strip: more than this and the pixels of a page run together.
const LIMIT: usize = 600;
const MIB: f64 = 1_048_576.0;
const STRIPS: [(&str, &str); 2] = [("Read (MiB/s)", "read_bytes"), ("Written (MiB/s)", "write_bytes")];
const OTHERS: &str = "others";
/// How far a part's sample may lie from the device's, in sample intervals.
const NEAR: f64 = 0.75;

/// One workload's bytes.
struct Part {
    name: String,
    points: Vec<Point>,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let (spans, mut rows, mut words) = (reader.spans(), Vec::new(), Vec::new());
    for (order, (title, column)) in STRIPS.into_iter().enumerate() {
        let Some(device) = reader.column("device", column, 1.0 / MIB) else { continue };
        let parts = parts(reader, column);
        if parts.is_empty() {
            continue;
        }
        let samples = samples(reader, device, &parts);
        let size = reader.bucket_size(samples.len(), LIMIT);
        let stacked = stacked(&downsampled(&samples, size), &parts);
        words.push(format!("{title}: {}", describe(&stacked)));
        rows.extend(strip((order, title), stacked, &spans));
    }
    if rows.is_empty() {
        return ChartContent::empty(
            "The recording lacks the device's counters or those of the workloads: this chart is left out.",
        );
    }
    ChartContent { table: Table::of(&rows), alt_text: words.join(". "), notes: Vec::new() }
}

fn parts(reader: &RecordingReader, column: &str) -> Vec<Part> {
    // A control group without a controller of I/O has the column, and no value in it.
    let measured = |series: String| {
        reader.column(&series, column, 1.0 / MIB).filter(|points| points.iter().any(|point| point.mean.is_some()))
    };
    let part = |name: &str| {
        let points = measured(format!("{name}.cgroup")).or_else(|| measured(format!("process.{name}")))?;
        Some(Part { name: name.to_owned(), points })
    };
    reader.recording.plan.workloads.iter().filter_map(|workload| part(&workload.name)).collect()
}

/// The activity of a part at a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Activity {
    /// In MiB/s.
    Rate(f64),
    /// It activity not run.
    Idle,
    /// It ran, and its rate is not known.
    Unknown,
}

/// The device and its parts at one sample.
#[derive(Debug, Clone, PartialEq)]
struct ActivitySample {
    t_s: f64,
    /// The device's own count; nothing in a gap.
    all: Option<f64>,
    parts: Vec<Activity>,
}

impl ActivitySample {
    /// What can be merged: samples with numbers for the same parts.
    fn shape(&self) -> (bool, Vec<std::mem::Discriminant<Activity>>) {
        (self.all.is_some(), self.parts.iter().map(std::mem::discriminant).collect())
    }
}

/// The device's samples, each with the activities of the parts.
fn samples(reader: &RecordingReader, device: Vec<Point>, parts: &[Part]) -> Vec<ActivitySample> {
    let (spans, interval_s) = (reader.spans(), reader.recording.plan.interval_s);
    let runs = |name: &str, t_s: f64| {
        let mut spans = spans.iter().filter(|span| span.begin_s <= t_s && t_s <= span.end_s);
        spans.any(|span| span.phase.running.iter().any(|running| running == name))
    };
    let activity = |part: &Part, t_s: f64| match nearest(&part.points, t_s, NEAR * interval_s) {
        Some(value) => Activity::Rate(value),
        None if runs(&part.name, t_s) => Activity::Unknown,
        None => Activity::Idle,
    };
    let sample = |point: Point| ActivitySample {
        t_s: point.t_s,
        all: point.mean,
        parts: parts.iter().map(|part| activity(part, point.t_s)).collect(),
    };
    with_gaps(device, interval_s).into_iter().map(sample).collect()
}

/// Merges each `size` neighbouring samples into one with the means of all parts, never across a gap of a part.
fn downsampled(samples: &[ActivitySample], size: usize) -> Vec<ActivitySample> {
    let merged = |part: &[ActivitySample]| {
        let mean = |of: &dyn Fn(&ActivitySample) -> f64| part.iter().map(of).sum::<f64>() / part.len() as f64;
        let value = |place: usize| match part[0].parts[place] {
            Activity::Rate(_) => Activity::Rate(mean(&|sample| match sample.parts[place] {
                Activity::Rate(value) => value,
                Activity::Idle | Activity::Unknown => 0.0,
            })),
            same => same,
        };
        ActivitySample {
            t_s: mean(&|sample| sample.t_s),
            all: part[0].all.map(|_| mean(&|sample| sample.all.unwrap_or(0.0))),
            parts: (0..part[0].parts.len()).map(value).collect(),
        }
    };
    let alike = samples.chunk_by(|left, right| left.shape() == right.shape());
    alike.flat_map(|run| even_parts(run, size)).map(merged).collect()
}

/// A part at a sample: its extent in the stack.
#[derive(Debug, Clone, PartialEq)]
struct Slice {
    name: String,
    t_s: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The parts upon one another at each sample, and upon them what is left of the device. Above a part of unknown rate there
/// is a gap: the parts above it have no known place.
fn stacked(samples: &[ActivitySample], parts: &[Part]) -> Vec<Slice> {
    let mut slices = Vec::new();
    for sample in samples {
        let mut top = Some(0.0);
        let mut push = |name: &str, activity: Activity| {
            let (low, high) = match (activity, top) {
                (Activity::Rate(value), Some(below)) => (Some(below), Some(below + value)),
                _ => (None, None),
            };
            top = if activity == Activity::Idle { top } else { high };
            slices.push(Slice { name: name.to_owned(), t_s: sample.t_s, low, high });
            top
        };
        let mut measured = Some(0.0);
        for (part, activity) in parts.iter().zip(&sample.parts) {
            measured = push(&part.name, *activity);
        }
        let rest = sample
            .all
            .zip(measured)
            .map_or(Activity::Unknown, |(all, measured)| Activity::Rate((all - measured).max(0.0)));
        push(OTHERS, rest);
    }
    slices
}

fn strip((order, title): (usize, &str), slices: Vec<Slice>, spans: &[PhaseSpan]) -> Vec<TimeRow> {
    let mut rows = bands(title, order, spans);
    rows.extend(slices.into_iter().map(|slice| TimeRow {
        row: "line",
        strip: title.to_owned(),
        order,
        series: slice.name,
        t_s: slice.t_s,
        end_s: None,
        low: slice.low,
        mean: slice.low.zip(slice.high).map(|(low, high)| high - low),
        high: slice.high,
        label: None,
        more: None,
        short: None,
    }));
    rows
}

fn describe(slices: &[Slice]) -> String {
    let mut names: Vec<&str> = Vec::new();
    slices.iter().map(|slice| slice.name.as_str()).for_each(|name| {
        if !names.contains(&name) {
            names.push(name);
        }
    });
    let mean = |name: &str| {
        let ours = slices.iter().filter(|slice| slice.name == name);
        let values: Vec<f64> = ours.filter_map(|slice| Some(slice.high? - slice.low?)).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    names.iter().map(|name| format!("{name} {} on average", text::number(mean(name)))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str) -> Part {
        Part { name: name.to_owned(), points: Vec::new() }
    }

    fn sample(t_s: f64, all: Option<f64>, parts: [Activity; 2]) -> ActivitySample {
        ActivitySample { t_s, all, parts: parts.to_vec() }
    }

    #[test]
    fn parts_are_stacked_and_others_are_the_rest() {
        let samples = [
            sample(0.0, Some(10.0), [Activity::Rate(2.0), Activity::Rate(3.0)]),
            sample(1.0, Some(4.0), [Activity::Idle, Activity::Rate(1.0)]),
            sample(2.0, Some(6.0), [Activity::Rate(9.0), Activity::Rate(0.0)]),
            sample(3.0, Some(6.0), [Activity::Rate(1.0), Activity::Unknown]),
            sample(4.0, None, [Activity::Rate(1.0), Activity::Rate(2.0)]),
        ];
        let stack = stacked(&samples, &[part("a"), part("b")]);
        let reach = |sample: usize| -> Vec<_> {
            stack[3 * sample..3 * sample + 3].iter().map(|slice| slice.low.zip(slice.high)).collect()
        };
        assert_eq!(reach(0), [Some((0.0, 2.0)), Some((2.0, 5.0)), Some((5.0, 10.0))]);
        assert_eq!(reach(1), [None, Some((0.0, 1.0)), Some((1.0, 4.0))], "what activity not run activity nothing");
        assert_eq!(reach(2), [Some((0.0, 9.0)), Some((9.0, 9.0)), Some((9.0, 9.0))], "others are never below nothing");
        assert_eq!(reach(3), [Some((0.0, 1.0)), None, None], "nobody knows whose the rest is");
        assert_eq!(reach(4), [Some((0.0, 1.0)), Some((1.0, 3.0)), None]);
    }

    #[test]
    fn moments_are_joined_with_all_their_parts_and_never_across_a_gap() {
        let samples = [
            sample(0.0, Some(10.0), [Activity::Rate(2.0), Activity::Idle]),
            sample(1.0, Some(20.0), [Activity::Rate(4.0), Activity::Idle]),
            sample(2.0, Some(30.0), [Activity::Unknown, Activity::Idle]),
            sample(3.0, Some(40.0), [Activity::Rate(6.0), Activity::Rate(8.0)]),
        ];
        let merged =
            [sample(0.5, Some(15.0), [Activity::Rate(3.0), Activity::Idle]), samples[2].clone(), samples[3].clone()];
        assert_eq!(downsampled(&samples, 2), merged);
        assert_eq!(downsampled(&samples, 1), samples);
    }
}
