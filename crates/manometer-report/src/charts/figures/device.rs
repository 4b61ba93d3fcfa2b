//! The device's use over time, from the kernel's counters.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::recording_reader::RecordingReader;
use crate::strips::{Line, Strip, column_line};

pub(crate) const CHART: Chart = Chart {
    name: "device",
    title: "Device use",
    origin: None,
    caption: "The block device's work for the whole host, from the kernel's counters: bytes, requests, the share of \
              time it was busy, and the requests in flight at the end of each sample \
              interval.",
    spec: include_str!("../../../charts/device.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;
const SERIES: &str = "device";
const MIB: f64 = 1_048_576.0;

/// The strips: title, factor, and each line's name and column.
type StripColumns = (&'static str, f64, &'static [(&'static str, &'static str)]);
const STRIPS: [StripColumns; 4] = [
    ("Bandwidth (MiB/s)", 1.0 / MIB, &[("read", "read_bytes"), ("write", "write_bytes")]),
    ("Requests (1/s)", 1.0, &[("read", "reads"), ("write", "writes")]),
    ("Busy (share of time)", 1.0, &[("the device", "busy")]),
    ("Requests under way", 1.0, &[("the device", "in_flight")]),
];

fn draw(reader: &RecordingReader) -> ChartContent {
    let strips: Vec<Strip> = STRIPS.into_iter().filter_map(|strip| strip_of(reader, strip)).collect();
    if strips.is_empty() {
        return ChartContent::empty(
            "The recording holds no counters of a block device: this chart is left out. Some file systems (network, \
             overlay, memory) have none.",
        );
    }
    ChartContent::of_strips(strips, &reader.spans(), Vec::new())
}

fn strip_of(reader: &RecordingReader, (title, factor, columns): StripColumns) -> Option<Strip> {
    let line = |(name, column): &(&str, &str)| column_line(reader, name, (SERIES, column), factor, LIMIT);
    let lines: Vec<Line> = columns.iter().map(line).collect();
    Strip::of(title, lines)
}
