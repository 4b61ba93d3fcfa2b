//! The requests of a trace and of its replay in each window of time.

use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::replay::{Side, replays};
use crate::recording_reader::RecordingReader;

pub(crate) const CHART: Chart = Chart {
    name: "replay-windows",
    title: "Bursts of trace and replay",
    origin: Some("Boza 2018, Figure 5.4"),
    caption: "The requests in each window of time, of the trace and of its replay. Where the replay lost a burst, the \
              lines separate.",
    spec: include_str!("../../../charts/replay-windows.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// One window of one side.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct WindowCount {
    strip: String,
    side: &'static str,
    t_s: f64,
    requests: u64,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for replay in replays(reader) {
        let Some(windows) = &replay.fidelity.windows else { continue };
        let strip = format!("{}: requests in each {} s", replay.workload, windows.window_s);
        for side in Side::BOTH {
            let counts = if side == Side::Trace { &windows.trace } else { &windows.replay };
            rows.extend(counts.iter().enumerate().map(|(window, requests)| WindowCount {
                strip: strip.clone(),
                side: side.name(),
                t_s: window as f64 * windows.window_s,
                requests: *requests,
            }));
        }
        let hurst = |exponent: Option<f64>| exponent.map_or("not known".to_owned(), |known| format!("{known:.4}"));
        let fidelity = &replay.fidelity;
        words.push(format!(
            "{}: Hurst exponent {} in the trace, {} replayed; {} requests not sent, {} out of order",
            replay.workload,
            hurst(fidelity.hurst.trace),
            hurst(fidelity.hurst.replay),
            fidelity.dropped,
            fidelity.order_violations
        ));
    }
    ChartContent::of(&rows, &words, Vec::new())
}
