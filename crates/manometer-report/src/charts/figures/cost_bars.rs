//! The costs of arrangements by their parts, and for what they do.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "cost-bars",
    title: "What arrangements cost",
    origin: Some("dos Santos 2015 (seed 001), Table 6.3"),
    caption: "What each arrangement costs, by its parts, and what each unit of its performance costs: short bars \
              are good. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, \
              bcache-1s-4h0 an SSD before four disks.",
    spec: include_str!("../../../../../charts/cost-bars.vl.json"),
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
    ColumnInfo::new("part", "", "What it is for: `devices`, `energy`, `replacement`, or `all`."),
    ColumnInfo::new("value", "", "The cost, in the unit of its strip."),
];
