//! Miss ratios of a trace and of synthetic loads, a panel for each engine.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "miss-ratio-curves",
    title: "Miss ratio: the trace and synthetic loads",
    origin: Some("Boza 2018, Figure 5.5"),
    caption: "The miss ratio of reads (y axis) by the cache's memory (x axis). The solid line is the trace; the \
              distance of a dashed line from it is the error of that synthetic load. Pale bands are 95 % intervals \
              over the repeats. The panel exact LRU is simulated.",
    spec: include_str!("../../../charts/miss-ratio-curves.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("engine", "", "The engine, or the exact simulation: a panel each."),
    ColumnInfo::new("load", "", "The trace, or a synthetic load."),
    ColumnInfo::new("cache", "", "The cache's share of all data, 0 to 1."),
    ColumnInfo::new("cache_mib", "MiB", "The cache's memory."),
    ColumnInfo::new("miss_ratio", "", "Read misses per read, 0 to 1."),
    ColumnInfo::new("ci_low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "", "Its upper end."),
    ColumnInfo::new("samples", "", "Repeats."),
];
