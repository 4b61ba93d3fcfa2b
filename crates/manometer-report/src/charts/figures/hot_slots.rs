//! Requests for the slots of a cluster over time.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "hot-slots",
    title: "Hot slots",
    origin: None,
    caption: "The requests for each stretch of slots of a cluster (across) in each stretch of time (upwards from \
              the first): bright is hot. A slot that stays hot is a column, a burst is a row.",
    spec: include_str!("../../../../../charts/hot-slots.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("load", "", "The trace, or the load: a panel each."),
    ColumnInfo::new("slot", "slots", "The first slot of the stretch."),
    ColumnInfo::new("slot_end", "slots", "The first slot after it."),
    ColumnInfo::new("t_s", "s", "When the stretch of time begins."),
    ColumnInfo::new("t_end_s", "s", "When it ends."),
    ColumnInfo::new("requests", "requests/s", "Requests a second for these slots."),
];
