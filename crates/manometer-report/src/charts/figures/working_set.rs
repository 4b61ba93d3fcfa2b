//! The working set of a trace over windows of every length.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "working-set",
    title: "Working set",
    origin: None,
    caption: "The working set: the distinct keys or bytes requested in a window of this many requests, or of this \
              length (x axis), the mean over all such windows of the trace; both scales are logarithmic.",
    spec: include_str!("../../../charts/working-set.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("order", "", "The strip's place from above."),
    ColumnInfo::new("strip", "", "The strip's title."),
    ColumnInfo::new("what", "", "The quantity: `keys`, `bytes`."),
    ColumnInfo::new("unit", "", "The unit of windows: `requests`, `seconds`."),
    ColumnInfo::new("window", "", "The window's length, in `unit`."),
    ColumnInfo::new("amount", "", "The working set of that window, in `what`."),
    ColumnInfo::new("error", "", "Half of the 95 % interval; null where it is exact."),
    ColumnInfo::new("low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("high", "", "Its upper end."),
];
