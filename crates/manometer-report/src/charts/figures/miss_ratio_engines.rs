//! Miss ratios of engines, a panel for each load.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "miss-ratio-engines",
    title: "Miss ratio: engine against engine",
    origin: Some("Boza 2018, Figure 5.6"),
    caption: "The same curves, a panel for each load. Each engine has its own approximation of LRU; the distance \
              between engines depends on the load as well.",
    spec: include_str!("../../../charts/miss-ratio-engines.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("engine", "", "The engine."),
    ColumnInfo::new("load", "", "The trace, or a synthetic load: a panel each."),
    ColumnInfo::new("cache", "", "The cache's share of all data, 0 to 1."),
    ColumnInfo::new("cache_mib", "MiB", "The cache's memory."),
    ColumnInfo::new("miss_ratio", "", "Read misses per read, 0 to 1."),
    ColumnInfo::new("ci_low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "", "Its upper end."),
    ColumnInfo::new("samples", "", "Repeats."),
];
