//! Values of many sizes against values of one size.

use crate::charts::chart::{Chart, ChartInput, ColumnInfo};

pub(crate) const CHART: Chart = Chart {
    name: "slab-sizes",
    title: "memcached: values of many sizes and of one size",
    origin: Some("Boza 2018, Figure 5.8"),
    caption: "The trace with values spread evenly over the slab classes, and with all values of their mean size. \
              Whiskers are 95 % intervals over the repeats.",
    spec: include_str!("../../../charts/slab-sizes.vl.json"),
    input: ChartInput::Columns(COLUMNS),
};

const COLUMNS: &[ColumnInfo] = &[
    ColumnInfo::new("strip", "", "The quantity, with its unit: a panel each."),
    ColumnInfo::new("sizes", "", "The sizes of the values."),
    ColumnInfo::new("value", "", "The bar, in the unit of its strip."),
    ColumnInfo::new("ci_low", "", "The lower end of the 95 % interval; null where there is none."),
    ColumnInfo::new("ci_high", "", "Its upper end."),
    ColumnInfo::new("samples", "", "Repeats."),
];
