//! The distribution of inter-arrival times, a line for each trace.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "inter-arrivals",
    title: "Inter-arrival times",
    origin: None,
    caption: "The cumulative distribution of the inter-arrival time (x axis, logarithmic): the share of the requests \
              (y axis) that came at most this long after the request before.",
    spec: include_str!("../../../charts/inter-arrivals.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("trace", "", "The trace, or the load."),
    ColumnInfo::new("gap_us", "µs", "The inter-arrival time; at least the clock's resolution."),
    ColumnInfo::new("share", "", "Requests with at most this inter-arrival time, 0 to 1."),
    ColumnInfo::new("requests", "", "Requests behind the line."),
];
