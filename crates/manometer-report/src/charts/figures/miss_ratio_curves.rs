//! Miss ratios of a trace and of synthetic loads, a panel for each engine.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "miss-ratio-curves",
    title: "Miss ratio: the trace and synthetic loads",
    origin: Some("Boza 2018 (seed 003), Figure 5.5"),
    caption: "The share of the reads that found nothing (upwards), on caches of growing memory (across). The solid \
              line is the trace; how far the dashed ones are from it is what a synthetic load gets wrong. The pale \
              bands are 95 % intervals over the repeats.",
    spec: include_str!("../../../../../charts/miss-ratio-curves.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("engine", "", "The cache that was measured: a panel each."),
    ColumnInfo::new("load", "", "The trace, or a synthetic load."),
    ColumnInfo::new("cache", "", "The cache's share of all data, 0 to 1."),
    ColumnInfo::new("cache_mib", "MiB", "The cache's memory."),
    ColumnInfo::new("miss_ratio", "", "Reads that found nothing, 0 to 1."),
    ColumnInfo::new("ci_low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "", "Its upper end."),
    ColumnInfo::new("samples", "", "How many repeats."),
];
