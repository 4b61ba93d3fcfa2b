//! Latency percentile spectra: the primary's latency up to the rarest requests, by phase.

use manometer_measure::LatencyHistogram;
use manometer_measure::latency_log::response_tag;
use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput, phase_name};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "latency-spectrum",
    title: "Latency spectra",
    origin: None,
    caption: "The latency (y axis) by percentile (x axis, each nine as wide as the one before), for every operation \
              of the primary. In an open loop the dotted line is the response time, from when a request was due: its \
              distance to the line of its phase is the waiting that coordinated omission hides. Dashed is w0. A \
              spectrum ends at its phase's last request.",
    spec: include_str!("../../../charts/latency-spectrum.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Percentiles between one nine and the next.
const STEPS_PER_NINE: u32 = 12;
/// Nines at most: 99.99999 %.
const MOST_NINES: u32 = 7;

/// One percentile of one operation in one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct SpectrumPoint {
    operation: String,
    phase: String,
    order: usize,
    baseline: bool,
    /// Whether from when requests were due, instead of from when they were sent.
    due: bool,
    /// One request in so many took longer: 2 at the median, 100 at the 99th percentile.
    one_in: f64,
    percentile: f64,
    latency_us: f64,
    requests: u64,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let rows = rows(reader);
    if rows.is_empty() {
        return ChartContent::empty("The recording holds no latencies of the primary: this chart is left out.");
    }
    let mut words = Vec::new();
    for phase in &reader.summary.phases {
        for (operation, latency) in &phase.latency_us {
            if let (Some(p50), Some(p99)) = (latency.p50, latency.p99) {
                let name = phase_name(&phase.id, &phase.label);
                let mut text =
                    format!("{name}, {operation}: median {}, p99 {}", text::latency(p50), text::latency(p99));
                if let Some(late) = phase.response_us.get(operation).and_then(|response| response.p99) {
                    text += &format!(" ({} from when due)", text::latency(late));
                }
                words.push(text);
            }
        }
    }
    ChartContent::of(&rows, &words, Vec::new())
}

fn rows(reader: &RecordingReader) -> Vec<SpectrumPoint> {
    let log = reader.latencies();
    let mut rows = Vec::new();
    for operation in log.operations() {
        for (order, phase) in reader.summary.phases.iter().enumerate() {
            let stretches_s = phase.stretches_s();
            for (due, tag) in [(false, operation.clone()), (true, response_tag(&operation))] {
                let histogram = log.during(&tag, &stretches_s);
                let requests = histogram.len();
                rows.extend(spectrum(&histogram).map(|(one_in, latency_us)| SpectrumPoint {
                    operation: operation.clone(),
                    phase: phase_name(&phase.id, &phase.label),
                    order,
                    baseline: phase.kind == PhaseKind::Baseline,
                    due,
                    one_in,
                    percentile: 100.0 * (1.0 - 1.0 / one_in),
                    latency_us,
                    requests,
                }));
            }
        }
    }
    rows
}

/// The latencies that one request in 1, 1.2 … 10^7 exceeds, as far as there are that many requests.
pub(super) fn spectrum(histogram: &LatencyHistogram) -> impl Iterator<Item = (f64, f64)> {
    let requests = histogram.len() as f64;
    let grid = (0..=MOST_NINES * STEPS_PER_NINE).map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS_PER_NINE)));
    grid.take_while(move |one_in| *one_in <= requests).filter_map(|one_in| {
        let latency_ns = histogram.quantile_ns(1.0 - 1.0 / one_in)?;
        Some((one_in, latency_ns as f64 / 1e3))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spectrum_ends_where_its_requests_do() {
        let mut histogram = LatencyHistogram::new();
        (1..=1000_u64).for_each(|us| histogram.record(us * 1000));
        let points: Vec<(f64, f64)> = spectrum(&histogram).collect();
        let (one_in, latency_us) = points[points.len() - 1];
        assert!((one_in - 1000.0).abs() < 1e-6, "{one_in}");
        assert!((latency_us - 999.0).abs() < 2.0, "{latency_us}");
        assert_eq!(spectrum(&LatencyHistogram::new()).count(), 0);
    }
}
