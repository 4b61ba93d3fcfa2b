//! What goes to and fro between tiers, useful traffic apart from migration.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "tier-flows",
    title: "Flows between the tiers",
    origin: Some("dos Santos 2015 (seed 001), Figure 6.1"),
    caption: "The bytes that were read from and written to each tier, by what they were for: what was asked for, \
              and what was moved between the tiers for its sake.",
    spec: include_str!("../../../../../charts/tier-flows.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("arrangement", "", "The arrangement of devices: a panel each."),
    ColumnInfo::new("tier", "", "Which tier, and whether it is read or written, such as `SSD, written`."),
    ColumnInfo::new("tier_order", "", "The tier's place from above."),
    ColumnInfo::new("flow", "", "What for: `asked for`, `promotion`, `demotion`, `cleaning`, `metadata`."),
    ColumnInfo::new("mib", "MiB", "How much."),
];
