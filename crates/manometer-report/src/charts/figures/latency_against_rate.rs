//! Response time by requested rate, from the search for the highest rate.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "latency-against-rate",
    title: "Latency against rate",
    origin: None,
    caption: "The percentile of the response time that the goal names (y axis), at each requested rate (x axis); the \
              line is the median over the trials of a rate. The dashed line is the goal, the dotted one the highest \
              rate that meets it in most of its trials; both axes are logarithmic. A rate below the dashed line misses \
              the goal when the engine reached too little of it.",
    spec: include_str!("../../../charts/latency-against-rate.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("rate", "requests/s", "The requested rate."),
    ColumnInfo::new("achieved", "requests/s", "The achieved rate."),
    ColumnInfo::new("latency_us", "µs", "The goal's percentile of the response time; null without an answer."),
    ColumnInfo::new("dropped", "", "Requests that did not fit into the queue."),
    ColumnInfo::new("requests", "", "Answered requests."),
    ColumnInfo::new("goal", "", "`met` or `missed`."),
    ColumnInfo::new("goal_us", "µs", "The longest response time of the goal."),
    ColumnInfo::new("highest", "requests/s", "The highest rate that meets the goal; null where none does."),
];
