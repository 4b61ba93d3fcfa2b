//! Distances between requests at the devices, and their sizes.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "seeks-and-sizes",
    title: "Places and sizes of requests at the devices",
    origin: Some("dos Santos 2015, Figure 6.7"),
    caption: "The distance from the start of each request to that of the one before, and the size of the requests, as \
              a simulated host sends them to its devices after the warm-up. A bar stands for a power of two up to the \
              next.",
    spec: include_str!("../../../charts/seeks-and-sizes.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("strip", "", "The load and the quantity: a panel each."),
    ColumnInfo::new("order", "", "The panel's place from above."),
    ColumnInfo::new("load", "", "The load and the arrangement."),
    ColumnInfo::new("quantity", "", "`distance` or `size`."),
    ColumnInfo::new("bytes", "B", "The lower end of the class; 0 where requests start at the same place."),
    ColumnInfo::new("label", "", "The same as text."),
    ColumnInfo::new("below", "", "The upper end of the class as text."),
    ColumnInfo::new("requests", "", "Requests in the class."),
    ColumnInfo::new("share", "", "Their share of all, 0 to 1."),
];
