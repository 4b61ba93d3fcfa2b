//! The cost of arrangements by their parts, and per unit of performance.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "cost-bars",
    title: "Cost of arrangements",
    origin: Some("dos Santos 2015, Table 6.3"),
    caption: "The cost of each arrangement by its parts, and the cost of each unit of its performance: short bars are \
              good. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, bcache-1s-4h0 an SSD in front \
              of four disks.",
    spec: include_str!("../../../charts/cost-bars.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new(
        "strip",
        "",
        "What the bar shows, with its unit, such as `cost (USD)` or `cost per MB/s (USD)`: a panel each.",
    ),
    ColumnInfo::new("order", "", "The panel's place from above."),
    ColumnInfo::new("arrangement", "", "The arrangement of devices."),
    ColumnInfo::new("part", "", "The part: `devices`, `energy`, `replacement`, or `all`."),
    ColumnInfo::new("value", "", "The cost, in the unit of its strip."),
];
