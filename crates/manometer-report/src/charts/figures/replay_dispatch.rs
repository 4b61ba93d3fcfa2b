//! The box plot of the dispatch error: how late a replay sent its requests.

use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::replay::replays;
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "replay-dispatch",
    title: "Dispatch error of the replay",
    origin: Some("Boza 2018, Figure 5.2"),
    caption: "The dispatch error: how long after they were due the requests were sent. The box holds half of them, its \
              bar is the median; the line goes from the first percentile to the 99th, the diamond is the 90th, the \
              circle the maximum. Errors below a nanosecond are drawn as one.",
    spec: include_str!("../../../charts/replay-dispatch.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// The box of one replay, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct DispatchBox {
    workload: String,
    p1: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p99: f64,
    max: f64,
    requests: u64,
    late: u64,
}

/// An error as the logarithmic axis can show it: errors are known to the nanosecond.
fn drawn(error_us: f64) -> f64 {
    error_us.max(0.001)
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for replay in replays(reader) {
        let Some(error) = replay.fidelity.error_us else { continue };
        words.push(format!(
            "{}: median {}, 90th percentile {}, 99th {}, longest {}; {} of {} requests late",
            replay.workload,
            text::latency(error.p50),
            text::latency(error.p90),
            text::latency(error.p99),
            text::latency(error.max),
            replay.dispatch.late,
            error.samples
        ));
        rows.push(DispatchBox {
            workload: replay.workload.to_owned(),
            p1: drawn(error.p1),
            p25: drawn(error.p25),
            p50: drawn(error.p50),
            p75: drawn(error.p75),
            p90: drawn(error.p90),
            p99: drawn(error.p99),
            max: drawn(error.max),
            requests: error.samples,
            late: replay.dispatch.late,
        });
    }
    ChartContent::of(&rows, &words, Vec::new())
}
