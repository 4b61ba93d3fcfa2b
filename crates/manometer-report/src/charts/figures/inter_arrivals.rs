//! The distribution of the times between requests, a line for each trace.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "inter-arrivals",
    title: "Inter-arrivals",
    origin: None,
    caption: "The share of the requests (upwards) that came at most so long after the one before them (across, \
              logarithmic).",
    spec: include_str!("../../../../../charts/inter-arrivals.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("trace", "", "The trace, or the load."),
    ColumnInfo::new("gap_us", "µs", "The time since the request before; at least the clock's resolution."),
    ColumnInfo::new("share", "", "Requests that came at most so long after the one before, 0 to 1."),
    ColumnInfo::new("requests", "", "How many requests the line is made of."),
];
