//! The use of the host's processors over time, by kind, by worker, and the time lost waiting.

use super::{Chart, Draw, Drawing};
use crate::source::Source;
use crate::thin::Point;
use crate::time::{Line, Strip, column_line};

pub(super) const CHART: Chart = Chart {
    name: "cpu",
    title: "Processor use",
    origin: None,
    reading: "Cores in use on the whole host by kind, the cores each workload's process used, and the share of time \
              in which some task waited for a processor, for input and output, or for memory.",
    spec: include_str!("../../../../charts/cpu.vl.json"),
    draw: Draw::One(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;

fn draw(source: &Source) -> Drawing {
    let strips: Vec<Strip> = [host(source), workers(source), stalls(source)].into_iter().flatten().collect();
    if strips.is_empty() {
        return Drawing::left_out("The recording holds no processor samples: this chart is left out.");
    }
    Drawing::of_strips(&strips, &source.spans(), Vec::new())
}

fn host(source: &Source) -> Option<Strip> {
    let kinds = ["user", "system", "iowait", "interrupts", "steal"];
    let lines = kinds.map(|kind| column_line(source, kind, ("cpu", kind), 1.0, LIMIT));
    Strip::of("Host (cores)", lines.into())
}

fn workers(source: &Source) -> Option<Strip> {
    let workloads = &source.recording.plan.workloads;
    Strip::of("Workloads (cores)", workloads.iter().map(|workload| worker(source, &workload.name)).collect())
}

/// The cores that one worker's process used, in user and kernel together.
fn worker(source: &Source, name: &str) -> Line {
    let series = format!("process.{name}");
    let column = |column: &str| source.column(&series, column, 1.0).unwrap_or_default();
    let both = column("user").into_iter().zip(column("system"));
    let sum = |user: Point, system: Point| Some(user.mean? + system.mean?);
    let points = both.map(|(user, system)| Point::of(user.t_s, sum(user, system))).collect();
    Line { name: name.to_owned(), points: source.line(points, LIMIT) }
}

fn stalls(source: &Source) -> Option<Strip> {
    let kinds =
        [("waits for a processor", "cpu.some"), ("waits for I/O", "io.some"), ("waits for memory", "memory.some")];
    let lines = kinds.map(|(name, column)| column_line(source, name, ("pressure_stall", column), 1.0, LIMIT));
    Strip::of("Some task waits (share of time)", lines.into())
}
