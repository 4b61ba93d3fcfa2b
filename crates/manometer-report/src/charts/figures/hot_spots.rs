//! The requests per second of each node of a cluster, as boxes.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "hot-spots",
    title: "Hot spots in a cluster",
    origin: Some("Boza 2018, Figure 5.9"),
    caption: "The requests that each node gets in each second, where the nodes share the slots of a Redis Cluster \
              evenly: whiskers from the least to the most, the box between the quartiles. Computed from the slots of \
              the keys, and where it says so counted by the servers of a real cluster.",
    spec: include_str!("../../../charts/hot-spots.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("load", "", "The trace, or a synthetic load."),
    ColumnInfo::new("min", "requests/s", "The fewest requests of a node in a second."),
    ColumnInfo::new("q1", "requests/s", "The lower quartile."),
    ColumnInfo::new("median", "requests/s", "The median."),
    ColumnInfo::new("q3", "requests/s", "The upper quartile."),
    ColumnInfo::new("max", "requests/s", "The most."),
    ColumnInfo::new("range", "requests/s", "The most minus the fewest."),
    ColumnInfo::new("samples", "", "Nodes times seconds."),
];
