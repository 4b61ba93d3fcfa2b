//! The speed-up of reads with more cache.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "read-speed-up",
    title: "Speed-up of reads with the cache",
    origin: Some("Boza 2018, Figure 5.7"),
    caption: "How many times faster a reader gets its value with the largest cache than with the smallest. A reader \
              waits for its read, and after a miss for the put as well; the store behind the cache is not included. \
              Whiskers are 95 % intervals over the repeats.",
    spec: include_str!("../../../charts/read-speed-up.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("engine", "", "The engine: a panel each."),
    ColumnInfo::new("load", "", "The trace, or a synthetic load."),
    ColumnInfo::new("speed_up", "", "Times faster with the largest cache than with the smallest."),
    ColumnInfo::new("ci_low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "", "Its upper end."),
    ColumnInfo::new("smallest_us", "µs", "Time of a read with the smallest cache."),
    ColumnInfo::new("largest_us", "µs", "Time of a read with the largest cache."),
    ColumnInfo::new("samples", "", "Repeats."),
];
