//! Response time against service time, by percentile.

use manometer_measure::latency_log::response_tag;
use serde::Serialize;

use super::latency_spectrum::spectrum;
use crate::charts::chart::{Chart, ChartContent, ChartInput, phase_name};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "response-service",
    title: "Response against service time",
    origin: None,
    caption: "Each line goes through the percentiles of one phase: the service time, from when a request was sent \
              (x axis), and the response time, from when it was due (y axis). On the dashed line no request waited \
              before it was sent; the distance above it is waiting, which coordinated omission hides.",
    spec: include_str!("../../../charts/response-service.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// One percentile of one operation in one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct PercentilePoint {
    operation: String,
    phase: String,
    order: usize,
    percentile: f64,
    service_us: f64,
    response_us: f64,
    requests: u64,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let log = reader.latencies();
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for operation in log.operations() {
        for (order, phase) in reader.summary.phases.iter().enumerate() {
            let stretches_s = phase.stretches_s();
            let [service, response] =
                [operation.clone(), response_tag(&operation)].map(|tag| log.during(&tag, &stretches_s));
            let name = phase_name(&phase.id, &phase.label);
            let both = spectrum(&service).zip(spectrum(&response));
            rows.extend(both.map(|((one_in, service_us), (_, response_us))| PercentilePoint {
                operation: operation.clone(),
                phase: name.clone(),
                order,
                percentile: 100.0 * (1.0 - 1.0 / one_in),
                service_us,
                response_us,
                requests: response.len(),
            }));
            if let (Some(service), Some(response)) = (service.quantile_ns(0.99), response.quantile_ns(0.99)) {
                let [service, response] = [service, response].map(|ns| text::latency(ns as f64 / 1e3));
                words.push(format!("{name}, {operation}: p99 {service} from when sent, {response} from when due"));
            }
        }
    }
    if log.operations().is_empty() {
        return ChartContent::empty("The recording holds no latencies of the primary: this chart is left out.");
    }
    if rows.is_empty() {
        return ChartContent::empty(
            "The primary ran in a closed loop, in which a request is due when it is sent: this chart is left out.",
        );
    }
    ChartContent::of(&rows, &words, Vec::new())
}
