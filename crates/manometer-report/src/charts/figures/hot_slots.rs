//! Requests for the slots of a cluster over time.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "hot-slots",
    title: "Hot slots",
    origin: None,
    caption: "The requests per second for ranges of a cluster's slots (x axis) over time (y axis): bright is hot. A \
              slot that stays hot is a column, a burst is a row.",
    spec: include_str!("../../../charts/hot-slots.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("load", "", "The trace, or the load: a panel each."),
    ColumnInfo::new("slot", "slots", "The first slot of the range."),
    ColumnInfo::new("slot_end", "slots", "The first slot after the range."),
    ColumnInfo::new("t_s", "s", "The start of the time slice."),
    ColumnInfo::new("t_end_s", "s", "Its end."),
    ColumnInfo::new("requests", "requests/s", "Requests per second for these slots."),
];
