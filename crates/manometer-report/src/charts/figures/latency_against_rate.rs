//! Response times at the rates that a search asked for.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "latency-against-rate",
    title: "Latency against rate",
    origin: None,
    caption: "The judged percentile of the response time, from when a request was due (upwards), at each rate that \
              was asked for (across); the line is the median of a rate's trials. The dashed line is the goal, the \
              dotted one the highest rate that meets it in most of its trials; both axes are logarithmic. A rate can \
              miss the goal below the line, where too little of it was reached.",
    spec: include_str!("../../../../../charts/latency-against-rate.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("rate", "requests/s", "The rate that was asked for."),
    ColumnInfo::new("achieved", "requests/s", "The rate that was answered."),
    ColumnInfo::new("latency_us", "µs", "The judged percentile of the response time; null where nothing was answered."),
    ColumnInfo::new("dropped", "", "Requests that found no place in the queue."),
    ColumnInfo::new("requests", "", "Requests that were answered."),
    ColumnInfo::new("goal", "", "`met` or `missed`."),
    ColumnInfo::new("goal_us", "µs", "The longest response time of the goal."),
    ColumnInfo::new("highest", "requests/s", "The highest rate that meets the goal; null where none does."),
];
