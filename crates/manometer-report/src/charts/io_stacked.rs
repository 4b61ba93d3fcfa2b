//! What the device read and wrote, stacked by who asked for it.

use super::{Chart, Draw, Drawing};
use crate::phases::PhaseSpan;
use crate::source::Source;
use crate::table::Table;
use crate::text;
use crate::thin::{Point, nearest};
use crate::time::{TimeRow, bands};

pub(super) const CHART: Chart = Chart {
    name: "io-stacked",
    title: "Who reads and writes",
    reading: "The bytes that the device read and wrote, by the control group of the workload that caused them, or by its \
              process where it has no group of its own. What is left of the device's own count is others: the file \
              system, the kernel writing back later, programs that are not ours.",
    spec: include_str!("../../../../charts/io-stacked.vl.json"),
    draw: Draw::One(draw),
};

/// Moments of one strip: more than this and the pixels of a page run together.
const LIMIT: usize = 600;
const MIB: f64 = 1_048_576.0;
const STRIPS: [(&str, &str); 2] = [("Read (MiB/s)", "read_bytes"), ("Written (MiB/s)", "write_bytes")];
const OTHERS: &str = "others";

/// One workload's bytes.
struct Part {
    name: String,
    points: Vec<Point>,
}

fn draw(source: &Source) -> Drawing {
    let (spans, mut rows, mut words) = (source.spans(), Vec::new(), Vec::new());
    for (order, (title, column)) in STRIPS.into_iter().enumerate() {
        let Some(device) = source.column("device", column, 1.0 / MIB) else { continue };
        let parts = parts(source, column);
        if parts.is_empty() {
            continue;
        }
        let stacked = stacked(&source.line(device, LIMIT), &parts);
        words.push(format!("{title}: {}", in_words(&stacked)));
        rows.extend(strip((order, title), stacked, &spans));
    }
    if rows.is_empty() {
        return Drawing::left_out(
            "The recording does not tell both what the device did and what each workload caused: this chart is left out.",
        );
    }
    Drawing { table: Table::of(&rows), in_words: words.join(". "), notes: Vec::new() }
}

fn parts(source: &Source, column: &str) -> Vec<Part> {
    let part = |name: &str| {
        let group = source.column(&format!("{name}.cgroup"), column, 1.0 / MIB);
        let points = group.or_else(|| source.column(&format!("process.{name}"), column, 1.0 / MIB))?;
        Some(Part { name: name.to_owned(), points: source.line(points, LIMIT) })
    };
    source.recording.plan.workloads.iter().filter_map(|workload| part(&workload.name)).collect()
}

/// A part at a moment: from where to where it reaches in the stack.
#[derive(Debug, Clone, PartialEq)]
struct Slice {
    name: String,
    t_s: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The parts upon one another at each of the device's moments, and upon them what is left of the device.
fn stacked(device: &[Point], parts: &[Part]) -> Vec<Slice> {
    let mut slices = Vec::new();
    let spacing_s = device.windows(2).map(|pair| pair[1].t_s - pair[0].t_s).fold(f64::INFINITY, f64::min);
    for point in device {
        let mut top = 0.0;
        let mut push = |name: &str, value: Option<f64>| {
            let low = value.map(|_| top);
            top += value.unwrap_or(0.0);
            slices.push(Slice { name: name.to_owned(), t_s: point.t_s, low, high: value.map(|_| top) });
        };
        let values = parts.iter().map(|part| (part, nearest(&part.points, point.t_s, 0.75 * spacing_s)));
        let values: Vec<(&Part, Option<f64>)> = values.collect();
        values.iter().for_each(|(part, value)| push(&part.name, *value));
        let told: f64 = values.iter().filter_map(|(_, value)| *value).sum();
        push(OTHERS, point.mean.map(|all| (all - told).max(0.0)));
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
    }));
    rows
}

fn in_words(slices: &[Slice]) -> String {
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

    #[test]
    fn parts_stand_upon_one_another_and_others_are_what_is_left() {
        let line = |values: [Option<f64>; 3]| -> Vec<Point> {
            values.into_iter().enumerate().map(|(second, value)| Point::of(second as f64, value)).collect()
        };
        let part = |name: &str, values| Part { name: name.to_owned(), points: line(values) };
        let parts = [part("a", [Some(2.0), None, Some(9.0)]), part("b", [Some(3.0), Some(1.0), Some(0.0)])];
        let stack = stacked(&line([Some(10.0), Some(4.0), Some(6.0)]), &parts);
        let reach = |moment: usize| -> Vec<_> {
            stack[3 * moment..3 * moment + 3].iter().map(|slice| slice.low.zip(slice.high)).collect()
        };
        assert_eq!(reach(0), [Some((0.0, 2.0)), Some((2.0, 5.0)), Some((5.0, 10.0))]);
        assert_eq!(reach(1), [None, Some((0.0, 1.0)), Some((1.0, 4.0))], "a gap stays a gap");
        assert_eq!(reach(2), [Some((0.0, 9.0)), Some((9.0, 9.0)), Some((9.0, 9.0))], "others are never below nothing");
        assert_eq!(in_words(&stack), "a 5.5 on average, b 1.333 on average, others 2.667 on average");
    }
}
