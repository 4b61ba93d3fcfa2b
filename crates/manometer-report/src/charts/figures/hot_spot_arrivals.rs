//! The requests of a cluster's hottest node over time.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "hot-spot-arrivals",
    title: "The hottest node, second by second",
    origin: Some("Boza 2018 (seed 003), Figure 5.9"),
    caption: "The requests of the node that gets most in any second. Where keys are asked for again soon, a node is \
              hot for a while; where popular keys are drawn at random, it is always as hot.",
    spec: include_str!("../../../../../charts/hot-spot-arrivals.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("load", "", "The trace, or a synthetic load."),
    ColumnInfo::new("second", "s", "The second of the replay."),
    ColumnInfo::new("requests", "requests/s", "What the hottest node got in it."),
];
