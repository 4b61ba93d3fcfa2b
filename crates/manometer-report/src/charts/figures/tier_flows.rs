//! Traffic of the tiers: requests and migration.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "tier-flows",
    title: "Traffic of the tiers",
    origin: Some("dos Santos 2015, Figure 6.1"),
    caption: "The bytes read from and written to each tier, by purpose: the requests themselves, and the migration \
              between the tiers that they cause.",
    spec: include_str!("../../../charts/tier-flows.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("arrangement", "", "The arrangement of devices: a panel each."),
    ColumnInfo::new("tier", "", "The tier and the direction, such as `SSD, written`."),
    ColumnInfo::new("tier_order", "", "The tier's place from above."),
    ColumnInfo::new("flow", "", "The purpose: `requests`, `promotion`, `demotion`, `cleaning`, `metadata`."),
    ColumnInfo::new("mib", "MiB", "The bytes."),
];
