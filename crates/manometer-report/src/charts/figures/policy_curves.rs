//! Miss ratios of policies by memory, with the memory that is recommended.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "policy-curves",
    title: "How much memory, and which policy",
    origin: None,
    caption: "The share of the requests that find nothing (upwards) with growing memory (across), for the policies \
              that did best, LRU, and OPT, which knows the future, dotted. The dashed upright line is the memory \
              that is recommended; pale bands are 95 % intervals where a sample of the keys was simulated.",
    spec: include_str!("../../../../../charts/policy-curves.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("policy", "", "The replacement policy; `opt` is the bound."),
    ColumnInfo::new("mib", "MiB", "The cache's memory."),
    ColumnInfo::new("share", "", "That as a share of all data, 0 to 1."),
    ColumnInfo::new("miss_ratio", "", "Misses for each request, 0 to 1."),
    ColumnInfo::new("low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("high", "", "Its upper end."),
    ColumnInfo::new("is_recommended", "", "Whether this memory is recommended."),
];
