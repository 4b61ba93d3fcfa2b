//! The distribution of reuse distances, a line for each trace.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "reuse-distance",
    title: "Reuse distance",
    origin: None,
    caption: "The cumulative distribution of the reuse distance (x axis, logarithmic): the share of the requests \
              (y axis) with at most this many other keys since the last request for the same key. A line ends below \
              100 %: the rest are first requests for their key. It is also the hit ratio of an LRU cache with room for \
              that many keys.",
    spec: include_str!("../../../charts/reuse-distance.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("trace", "", "The trace, or the load."),
    ColumnInfo::new("distance", "keys", "Distinct keys between two requests for one; at least 1."),
    ColumnInfo::new("share", "", "Requests with at most this distance, of all requests, 0 to 1."),
    ColumnInfo::new("low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("high", "", "Its upper end."),
    ColumnInfo::new("requests", "", "Requests behind the line."),
];
