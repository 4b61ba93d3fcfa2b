//! Throughput and cost of the arrangements that `cache advise` compares.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "advised-tiers",
    title: "Disks, SSDs, and SSDs before disks",
    origin: None,
    caption: "The throughput of each arrangement on the trace, and the cost of each of its MB/s: long bars are good in \
              the upper panel, short ones in the lower. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as \
              RAID 10, bcache-1s-4h0 an SSD in front of four disks.",
    spec: include_str!("../../../charts/advised-tiers.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("strip", "", "The quantity, with its unit: a panel each."),
    ColumnInfo::new("order", "", "The panel's place from above."),
    ColumnInfo::new("arrangement", "", "The arrangement of devices."),
    ColumnInfo::new("tier", "", "`disks`, `SSDs` or `SSDs before disks`."),
    ColumnInfo::new("value", "", "The bar, in the unit of its strip."),
];
