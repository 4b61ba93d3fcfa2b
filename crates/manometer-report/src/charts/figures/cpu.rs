//! Processor use over time, by kind and by workload, and the time lost waiting.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::downsample::Point;
use crate::recording_reader::RecordingReader;
use crate::strips::{Line, Strip, column_line};

pub(crate) const CHART: Chart = Chart {
    name: "cpu",
    title: "Processor use",
    origin: None,
    caption: "The cores in use on the whole host by kind, the cores that each workload's process used, and the share \
              of time in which some task waited for a processor, for I/O, or for memory (pressure stall information).",
    spec: include_str!("../../../charts/cpu.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;

fn draw(reader: &RecordingReader) -> ChartContent {
    let strips: Vec<Strip> = [host(reader), workers(reader), stalls(reader)].into_iter().flatten().collect();
    if strips.is_empty() {
        return ChartContent::empty("The recording holds no processor samples: this chart is left out.");
    }
    ChartContent::of_strips(strips, &reader.spans(), Vec::new())
}

fn host(reader: &RecordingReader) -> Option<Strip> {
    let kinds = ["user", "system", "iowait", "interrupts", "steal"];
    let lines = kinds.map(|kind| column_line(reader, kind, ("cpu", kind), 1.0, LIMIT));
    Strip::of("Host (cores)", lines.into())
}

fn workers(reader: &RecordingReader) -> Option<Strip> {
    let workloads = &reader.recording.plan.workloads;
    Strip::of("Workloads (cores)", workloads.iter().map(|workload| worker(reader, &workload.name)).collect())
}

/// The cores that one worker's process used, in user and kernel together.
fn worker(reader: &RecordingReader, name: &str) -> Line {
    let series = format!("process.{name}");
    let column = |column: &str| reader.column(&series, column, 1.0).unwrap_or_default();
    let both = column("user").into_iter().zip(column("system"));
    let sum = |user: Point, system: Point| Some(user.mean? + system.mean?);
    let points = both.map(|(user, system)| Point::of(user.t_s, sum(user, system))).collect();
    Line { name: name.to_owned(), points: reader.line(points, LIMIT) }
}

fn stalls(reader: &RecordingReader) -> Option<Strip> {
    let kinds =
        [("waits for a processor", "cpu.some"), ("waits for I/O", "io.some"), ("waits for memory", "memory.some")];
    let lines = kinds.map(|(name, column)| column_line(reader, name, ("pressure_stall", column), 1.0, LIMIT));
    Strip::of("Some task waits (share of time)", lines.into())
}
