//! Miss ratios of policies by memory, with the recommended memory.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "policy-curves",
    title: "Miss ratio by memory and policy",
    origin: None,
    caption: "The miss ratio (y axis) by the cache's memory (x axis), for the best policies, the recommended one, \
              LRU, and OPT, dotted: it knows the future and is the bound of policies that admit every request. The \
              dashed vertical line is the recommended memory; pale bands are 95 % intervals where a sample of the \
              keys was simulated.",
    spec: include_str!("../../../charts/policy-curves.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("policy", "", "The replacement policy; `opt` is the bound of those that admit every request."),
    ColumnInfo::new("mib", "MiB", "The cache's memory."),
    ColumnInfo::new("share", "", "The same as a share of all data, 0 to 1."),
    ColumnInfo::new("miss_ratio", "", "Misses per request, 0 to 1."),
    ColumnInfo::new("low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("high", "", "Its upper end."),
    ColumnInfo::new("is_recommended", "", "Whether this memory is recommended."),
];
