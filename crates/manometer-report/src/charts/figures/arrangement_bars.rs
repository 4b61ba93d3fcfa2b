//! Throughput of arrangements of devices, with intervals.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "arrangement-bars",
    title: "Arrangements of disks and SSDs",
    origin: Some("dos Santos 2015, Figures 6.4, 6.5 and 6.8"),
    caption: "The throughput of each arrangement by request size, or under a load of requests of several sizes; \
              whiskers are 95 % intervals, where there is one. A bar that would dwarf the others is cut at the edge; \
              its number is the full value. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, \
              bcache-1s-4h0 an SSD in front of four disks.",
    spec: include_str!("../../../charts/arrangement-bars.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("workload", "", "The workload: a panel each."),
    ColumnInfo::new("arrangement", "", "The arrangement of devices."),
    ColumnInfo::new(
        "size",
        "",
        "The size of a request, with its unit, such as `64 KiB`; `requests of the load` where it has several.",
    ),
    ColumnInfo::new("size_order", "", "The size's place among the sizes."),
    ColumnInfo::new("mb_per_s", "MB/s", "The throughput."),
    ColumnInfo::new("cut_mb_per_s", "MB/s", "The length of the bar: `mb_per_s`, or less where the bar is cut."),
    ColumnInfo::new("ci_low", "MB/s", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "MB/s", "Its upper end."),
    ColumnInfo::new("samples", "", "Repeats."),
];
