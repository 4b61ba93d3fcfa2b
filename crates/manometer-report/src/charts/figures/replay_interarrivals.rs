//! The inter-arrival times of a trace and of its replay.

use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::replay::{Side, replays};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "replay-interarrivals",
    title: "Inter-arrival times of trace and replay",
    origin: Some("Boza 2018, Figure 5.3"),
    caption: "The cumulative distributions of the inter-arrival time (x axis), of the trace and of its replay. The \
              widest vertical distance between the two lines is the Kolmogorov-Smirnov distance.",
    spec: include_str!("../../../charts/replay-interarrivals.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Steps of one line.
const STEPS: u32 = 200;

/// One step of the distribution of one side.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct InterarrivalStep {
    workload: String,
    side: &'static str,
    share: f64,
    gap_us: f64,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for replay in replays(reader) {
        let Some(ks) = replay.fidelity.ks else { continue };
        let mut medians = Vec::new();
        for side in Side::BOTH {
            let course = if side == Side::Trace { &replay.dispatch.due } else { &replay.dispatch.sent };
            let gap_us = |share| course.gaps.quantile_ns(share).map(|ns| ns as f64 / 1e3);
            medians.extend(gap_us(0.5).map(text::latency));
            let shares = (1..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
            rows.extend(shares.filter_map(|share| {
                Some(InterarrivalStep {
                    workload: replay.workload.to_owned(),
                    side: side.name(),
                    share,
                    gap_us: gap_us(share)?,
                })
            }));
        }
        words.push(format!(
            "{}: Kolmogorov-Smirnov distance {ks:.4}; median {} in trace and replay",
            replay.workload,
            medians.join(" and ")
        ));
    }
    ChartContent::of(&rows, &words, Vec::new())
}
