//! Hit ratios, throughput and flows of simulated arrangements over time.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "tier-series",
    title: "Arrangements over time",
    origin: Some("dos Santos 2015, Figures 6.2 and 6.3"),
    caption: "Hits in memory and on the SSD, and below them the throughput with the bytes that the disks and the SSD \
              read and write, over simulated time. The warm-up is shaded. `promoted` is copied to the SSD, `written \
              back` from it to the disks; both count at the disks and at the SSD too.",
    spec: include_str!("../../../charts/tier-series.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("strip", "", "The arrangement, the load and the quantity: a panel each."),
    ColumnInfo::new("order", "", "The panel's place from above."),
    ColumnInfo::new("series", "", "The line."),
    ColumnInfo::new("unit", "", "The unit of `value`; empty for a share."),
    ColumnInfo::new("t_s", "s", "The middle of the interval, in simulated time."),
    ColumnInfo::new("value", "", "The mean over the interval, in `unit`; null where there is none."),
    ColumnInfo::new("warm_up_s", "s", "Where the warm-up ends; 0 without one."),
];
