//! Throughput of arrangements with their intervals, as in Figures 6.4 and 6.5 of the SSD-cache thesis.

use crate::charts::{Chart, Draw};
use crate::gallery::ColumnInfo;

pub(crate) const CHART: Chart = Chart {
    name: "arrangement-bars",
    title: "Arrangements of disks and SSDs",
    reading: "The throughput of each arrangement with requests of each size; whiskers are 95 % intervals. A bar \
              that would dwarf the others is cut at the edge, and its number says how far it goes.",
    spec: include_str!("../../../../../charts/arrangement-bars.vl.json"),
    draw: Draw::Figures(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("workload", "", "What was asked of them: a panel each."),
    ColumnInfo::new("arrangement", "", "The arrangement of devices."),
    ColumnInfo::new("size", "", "The size of a request, with its unit, such as `64 KiB`."),
    ColumnInfo::new("size_order", "", "The size's place among the sizes."),
    ColumnInfo::new("mb_per_s", "MB/s", "The throughput."),
    ColumnInfo::new("cut_mb_per_s", "MB/s", "Where the bar is cut off; the same as `mb_per_s` where it is not."),
    ColumnInfo::new("ci_low", "MB/s", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "MB/s", "Its upper end."),
    ColumnInfo::new("samples", "", "How many repeats."),
];
