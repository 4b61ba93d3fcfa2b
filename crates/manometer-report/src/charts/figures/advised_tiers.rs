//! Throughput and cost of the arrangements that were weighed.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "advised-tiers",
    title: "Disks, SSDs, and SSDs before disks",
    origin: None,
    caption: "What each arrangement does with the trace, and what each of its MB/s costs: long bars are good above, \
              short ones below. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, \
              bcache-1s-4h0 an SSD before four disks.",
    spec: include_str!("../../../../../charts/advised-tiers.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("strip", "", "What the bar shows, with its unit: a panel each."),
    ColumnInfo::new("order", "", "The panel's place from above."),
    ColumnInfo::new("arrangement", "", "The arrangement of devices."),
    ColumnInfo::new("tier", "", "`disks`, `SSDs` or `SSDs before disks`."),
    ColumnInfo::new("value", "", "The bar, in the unit of its strip."),
];
