//! What the device read and wrote, stacked by who asked for it.

use crate::charts::chart::{Chart, ChartInput, Drawing};
use crate::downsample::{Point, even_parts, nearest, with_gaps};
use crate::phase_spans::PhaseSpan;
use crate::recording_reader::RecordingReader;
use crate::strips::{TimeRow, bands};
use crate::table::Table;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "io-stacked",
    title: "Who reads and writes",
    origin: None,
    caption: "The bytes that the device read and wrote, by the control group of the workload that caused them, or by \
              its process where it has no group of its own. What is left of the device's own count is others: the file \
              system, the kernel writing back later, programs that are not ours. Above a workload of which nothing is \
              known for a while there is a gap.",
    spec: include_str!("../../../../../charts/io-stacked.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Moments of one strip: more than this and the pixels of a page run together.
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

fn draw(reader: &RecordingReader) -> Drawing {
    let (spans, mut rows, mut words) = (reader.spans(), Vec::new(), Vec::new());
    for (order, (title, column)) in STRIPS.into_iter().enumerate() {
        let Some(device) = reader.column("device", column, 1.0 / MIB) else { continue };
        let parts = parts(reader, column);
        if parts.is_empty() {
            continue;
        }
        let moments = moments(reader, device, &parts);
        let size = reader.bucket_size(moments.len(), LIMIT);
        let stacked = stacked(&downsampled(&moments, size), &parts);
        words.push(format!("{title}: {}", describe(&stacked)));
        rows.extend(strip((order, title), stacked, &spans));
    }
    if rows.is_empty() {
        return Drawing::empty(
            "The recording does not tell both what the device did and what each workload caused: this chart is left out.",
        );
    }
    Drawing { table: Table::of(&rows), alt_text: words.join(". "), notes: Vec::new() }
}

fn parts(reader: &RecordingReader, column: &str) -> Vec<Part> {
    // A control group without a controller of I/O has the column, and no value in it.
    let told = |series: String| {
        reader.column(&series, column, 1.0 / MIB).filter(|points| points.iter().any(|point| point.mean.is_some()))
    };
    let part = |name: &str| {
        let points = told(format!("{name}.cgroup")).or_else(|| told(format!("process.{name}")))?;
        Some(Part { name: name.to_owned(), points })
    };
    reader.recording.plan.workloads.iter().filter_map(|workload| part(&workload.name)).collect()
}

/// What a part did at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Did {
    /// So much, in MiB/s.
    Much(f64),
    /// Nothing: it did not run.
    Nothing,
    /// It ran, and what it did is not known.
    Unknown,
}

/// The device and its parts at one moment.
#[derive(Debug, Clone, PartialEq)]
struct Moment {
    t_s: f64,
    /// The device's own count; nothing in a gap.
    all: Option<f64>,
    parts: Vec<Did>,
}

impl Moment {
    /// What can be joined: moments with numbers of the same parts.
    fn form(&self) -> (bool, Vec<std::mem::Discriminant<Did>>) {
        (self.all.is_some(), self.parts.iter().map(std::mem::discriminant).collect())
    }
}

/// The device's samples, each with what the parts did then.
fn moments(reader: &RecordingReader, device: Vec<Point>, parts: &[Part]) -> Vec<Moment> {
    let (spans, interval_s) = (reader.spans(), reader.recording.plan.interval_s);
    let runs = |name: &str, t_s: f64| {
        let mut spans = spans.iter().filter(|span| span.begin_s <= t_s && t_s <= span.end_s);
        spans.any(|span| span.phase.running.iter().any(|running| running == name))
    };
    let did = |part: &Part, t_s: f64| match nearest(&part.points, t_s, NEAR * interval_s) {
        Some(value) => Did::Much(value),
        None if runs(&part.name, t_s) => Did::Unknown,
        None => Did::Nothing,
    };
    let moment = |point: Point| Moment {
        t_s: point.t_s,
        all: point.mean,
        parts: parts.iter().map(|part| did(part, point.t_s)).collect(),
    };
    with_gaps(device, interval_s).into_iter().map(moment).collect()
}

/// Joins each `size` neighbouring moments into one with the means of all parts; none across a gap of any of them.
fn downsampled(moments: &[Moment], size: usize) -> Vec<Moment> {
    let joined = |part: &[Moment]| {
        let mean = |of: &dyn Fn(&Moment) -> f64| part.iter().map(of).sum::<f64>() / part.len() as f64;
        let value = |place: usize| match part[0].parts[place] {
            Did::Much(_) => Did::Much(mean(&|moment| match moment.parts[place] {
                Did::Much(value) => value,
                Did::Nothing | Did::Unknown => 0.0,
            })),
            same => same,
        };
        Moment {
            t_s: mean(&|moment| moment.t_s),
            all: part[0].all.map(|_| mean(&|moment| moment.all.unwrap_or(0.0))),
            parts: (0..part[0].parts.len()).map(value).collect(),
        }
    };
    let alike = moments.chunk_by(|left, right| left.form() == right.form());
    alike.flat_map(|run| even_parts(run, size)).map(joined).collect()
}

/// A part at a moment: from where to where it reaches in the stack.
#[derive(Debug, Clone, PartialEq)]
struct Slice {
    name: String,
    t_s: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The parts upon one another at each moment, and upon them what is left of the device. Above a part of which nothing is
/// known there is a gap: what stands upon it is not known either.
fn stacked(moments: &[Moment], parts: &[Part]) -> Vec<Slice> {
    let mut slices = Vec::new();
    for moment in moments {
        let mut top = Some(0.0);
        let mut push = |name: &str, did: Did| {
            let (low, high) = match (did, top) {
                (Did::Much(value), Some(below)) => (Some(below), Some(below + value)),
                _ => (None, None),
            };
            top = if did == Did::Nothing { top } else { high };
            slices.push(Slice { name: name.to_owned(), t_s: moment.t_s, low, high });
            top
        };
        let mut told = Some(0.0);
        for (part, did) in parts.iter().zip(&moment.parts) {
            told = push(&part.name, *did);
        }
        let rest = moment.all.zip(told).map_or(Did::Unknown, |(all, told)| Did::Much((all - told).max(0.0)));
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

    fn moment(t_s: f64, all: Option<f64>, parts: [Did; 2]) -> Moment {
        Moment { t_s, all, parts: parts.to_vec() }
    }

    #[test]
    fn parts_stand_upon_one_another_and_others_are_what_is_left() {
        let moments = [
            moment(0.0, Some(10.0), [Did::Much(2.0), Did::Much(3.0)]),
            moment(1.0, Some(4.0), [Did::Nothing, Did::Much(1.0)]),
            moment(2.0, Some(6.0), [Did::Much(9.0), Did::Much(0.0)]),
            moment(3.0, Some(6.0), [Did::Much(1.0), Did::Unknown]),
            moment(4.0, None, [Did::Much(1.0), Did::Much(2.0)]),
        ];
        let stack = stacked(&moments, &[part("a"), part("b")]);
        let reach = |moment: usize| -> Vec<_> {
            stack[3 * moment..3 * moment + 3].iter().map(|slice| slice.low.zip(slice.high)).collect()
        };
        assert_eq!(reach(0), [Some((0.0, 2.0)), Some((2.0, 5.0)), Some((5.0, 10.0))]);
        assert_eq!(reach(1), [None, Some((0.0, 1.0)), Some((1.0, 4.0))], "what did not run did nothing");
        assert_eq!(reach(2), [Some((0.0, 9.0)), Some((9.0, 9.0)), Some((9.0, 9.0))], "others are never below nothing");
        assert_eq!(reach(3), [Some((0.0, 1.0)), None, None], "nobody knows whose the rest is");
        assert_eq!(reach(4), [Some((0.0, 1.0)), Some((1.0, 3.0)), None]);
    }

    #[test]
    fn moments_are_joined_with_all_their_parts_and_never_across_a_gap() {
        let moments = [
            moment(0.0, Some(10.0), [Did::Much(2.0), Did::Nothing]),
            moment(1.0, Some(20.0), [Did::Much(4.0), Did::Nothing]),
            moment(2.0, Some(30.0), [Did::Unknown, Did::Nothing]),
            moment(3.0, Some(40.0), [Did::Much(6.0), Did::Much(8.0)]),
        ];
        let joined = [moment(0.5, Some(15.0), [Did::Much(3.0), Did::Nothing]), moments[2].clone(), moments[3].clone()];
        assert_eq!(downsampled(&moments, 2), joined);
        assert_eq!(downsampled(&moments, 1), moments);
    }
}
