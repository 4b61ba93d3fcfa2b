//! Reads and writes at the devices, by number and by bytes.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "request-mix",
    title: "Reads and writes at the devices",
    origin: Some("dos Santos 2015, Figure 6.6"),
    caption: "The shares of reads and writes in the requests that a simulated host sends to its devices after the \
              warm-up, by number and by bytes. What its memory answers is not among them.",
    spec: include_str!("../../../charts/request-mix.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("load", "", "The load and the arrangement: a panel each."),
    ColumnInfo::new("load_order", "", "The panel's place from above."),
    ColumnInfo::new("by", "", "`requests` or `bytes`."),
    ColumnInfo::new("kind", "", "`reads` or `writes`."),
    ColumnInfo::new("amount", "", "Requests or bytes, as `by` says."),
    ColumnInfo::new("share", "", "The share of all, 0 to 1."),
    ColumnInfo::new("begin", "", "The left end of the bar, 0 to 1."),
    ColumnInfo::new("end", "", "Its right end."),
];
