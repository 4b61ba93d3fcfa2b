//! Throughput and cost of the arrangements that were weighed.

use crate::charts::{Chart, Draw};
use crate::gallery::ColumnInfo;

pub(crate) const CHART: Chart = Chart {
    name: "advised-tiers",
    title: "Disks, SSDs, and SSDs before disks",
    reading: "What each arrangement does with the trace, and what each of its MB/s costs: long bars are good above, \
              short ones below.",
    spec: include_str!("../../../../../charts/advised-tiers.vl.json"),
    draw: Draw::Figures(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("strip", "", "What the bar shows, with its unit: a panel each."),
    ColumnInfo::new("order", "", "The panel's place from above."),
    ColumnInfo::new("arrangement", "", "The arrangement of devices."),
    ColumnInfo::new("tier", "", "`disks`, `SSDs` or `SSDs before disks`."),
    ColumnInfo::new("value", "", "The bar, in the unit of its strip."),
];
