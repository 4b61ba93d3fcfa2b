//! The requests of a cluster's hottest node over time.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "hot-spot-arrivals",
    title: "Requests of the hottest node",
    origin: Some("Boza 2018, Figure 5.9"),
    caption: "The requests per second of the node with the most requests in each second. With temporal locality a node \
              is hot for a while; with keys drawn independently the hottest node is always about as hot.",
    spec: include_str!("../../../charts/hot-spot-arrivals.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("load", "", "The trace, or a synthetic load."),
    ColumnInfo::new("second", "s", "The second of the replay."),
    ColumnInfo::new("requests", "requests/s", "Requests of the hottest node in this second."),
];
