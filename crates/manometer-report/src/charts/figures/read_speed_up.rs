//! How much faster reads become with more cache.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "read-speed-up",
    title: "Speed-up of reads from the smallest cache to the largest",
    origin: Some("Boza 2018 (seed 003), Figure 5.7"),
    caption: "How many times faster readers have their values with the largest cache than with the smallest. A \
              reader waits for its read, and after a miss for the put as well; where what misses comes from is not \
              part of it. Whiskers are 95 % intervals over the repeats.",
    spec: include_str!("../../../../../charts/read-speed-up.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("engine", "", "The cache that was measured: a panel each."),
    ColumnInfo::new("load", "", "The trace, or a synthetic load."),
    ColumnInfo::new("speed_up", "", "Times faster with the largest cache than with the smallest."),
    ColumnInfo::new("ci_low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "", "Its upper end."),
    ColumnInfo::new("smallest_us", "µs", "A read with the smallest cache."),
    ColumnInfo::new("largest_us", "µs", "A read with the largest."),
    ColumnInfo::new("samples", "", "How many repeats."),
];
