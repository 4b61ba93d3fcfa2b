//! The distribution of reuse distances, a line for each trace.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "reuse-distance",
    title: "Reuse distance",
    origin: None,
    caption: "The share of the requests (upwards) whose key was asked for before with at most so many other keys in \
              between (across, logarithmic). A line ends below 100 %: the rest are first requests for their key. A \
              cache with LRU and room for so many keys has this share of hits.",
    spec: include_str!("../../../../../charts/reuse-distance.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("trace", "", "The trace, or the load."),
    ColumnInfo::new("distance", "keys", "Distinct keys between two requests for one; at least 1."),
    ColumnInfo::new("share", "", "Requests with at most this distance, of all requests, 0 to 1."),
    ColumnInfo::new("low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("high", "", "Its upper end."),
    ColumnInfo::new("requests", "", "How many requests the line is made of."),
];
