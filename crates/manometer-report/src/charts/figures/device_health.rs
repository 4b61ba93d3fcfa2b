//! The device's own log over time: fill, wear, temperature.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::downsample::Point;
use crate::recording_reader::RecordingReader;
use crate::strips::{Line, Strip};

pub(crate) const CHART: Chart = Chart {
    name: "device-health",
    title: "Device health (SMART)",
    origin: Some("Lange 2023, Figure 4.6"),
    caption: "The device's own log (SMART): how much of the device holds data, the bytes written since the recording \
              began, wear and temperature. A point is a reading. A device that fills up or grows hot slows down, \
              regardless of the workloads.",
    spec: include_str!("../../../charts/device-health.vl.json"),
    input: ChartInput::OneRecording(draw),
};

const SERIES: &str = "health";
const GIB: f64 = 1_073_741_824.0;

/// A line: its name, its column, its factor, and whether it counts from the recording's begin.
type Column = (&'static str, &'static str, f64, bool);

/// The strips: title and lines.
const STRIPS: [(&str, &[Column]); 4] = [
    ("Holds data (GiB)", &[("of the namespace", "utilisation", 1.0 / GIB, false)]),
    (
        "Written since the start (GiB)",
        &[
            ("by the host", "host_bytes_written", 1.0 / GIB, true),
            ("to the flash", "nand_bytes_written", 1.0 / GIB, true),
        ],
    ),
    (
        "Wear and spare blocks (%)",
        &[("wear that is used up", "percentage_used", 1.0, false), ("spare blocks left", "spare", 1.0, false)],
    ),
    ("Temperature (°C)", &[("the device", "temperature", 1.0, false)]),
];

fn draw(reader: &RecordingReader) -> ChartContent {
    let strip = |(title, columns): (&str, &[Column])| {
        Strip::of(title, columns.iter().map(|column| line(reader, column)).collect())
    };
    let strips: Vec<Strip> = STRIPS.into_iter().filter_map(strip).collect();
    if strips.is_empty() {
        return ChartContent::empty("The recording has no health log of the device: this chart is left out.");
    }
    ChartContent::of_strips(strips, &reader.spans(), Vec::new())
}

/// Readings are rare and at no fixed distance: none between two of them is no gap.
fn line(reader: &RecordingReader, (name, column, factor, since_begin): &Column) -> Line {
    let mut points = reader.column(SERIES, column, *factor).unwrap_or_default();
    if *since_begin {
        points = grown(&points);
    }
    Line { name: (*name).to_owned(), points }
}

/// What came upon the first of `points`.
fn grown(points: &[Point]) -> Vec<Point> {
    let first = points.iter().find_map(|point| point.mean);
    points.iter().map(|point| Point::of(point.t_s, point.mean.zip(first).map(|(now, first)| now - first))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_life_count_from_the_first_reading() {
        let points = [None, Some(700.0), None, Some(712.5)].map(|value| Point::of(0.0, value));
        let grown: Vec<Option<f64>> = grown(&points).iter().map(|point| point.mean).collect();
        assert_eq!(grown, [None, Some(0.0), None, Some(12.5)]);
    }
}
