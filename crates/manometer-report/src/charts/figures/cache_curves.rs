//! Miss-ratio curves of a trace, a line for each policy.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "cache-curves",
    title: "Miss-ratio curves",
    origin: None,
    caption: "The miss ratio (y axis) by the cache's capacity (x axis, logarithmic to base 2). Pale bands are the \
              95 % intervals of estimates from a sample; circles are knees, from which the curve falls less \
              steeply.",
    spec: include_str!("../../../charts/cache-curves.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("policy", "", "The replacement policy."),
    ColumnInfo::new("capacity", "", "The cache's capacity, in `unit`."),
    ColumnInfo::new("unit", "", "`objects` or `bytes`."),
    ColumnInfo::new("miss_ratio", "", "Misses per request, 0 to 1."),
    ColumnInfo::new("error", "", "Half of the 95 % interval; null where it is exact."),
    ColumnInfo::new("low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("high", "", "Its upper end."),
    ColumnInfo::new("is_knee", "", "Whether this is a knee: from it on the curve falls less steeply."),
];
