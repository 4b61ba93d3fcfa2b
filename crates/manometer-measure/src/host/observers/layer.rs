//! The block devices below the device of the device directory: partitions, mappings, arrays and disks.

use super::super::observer::{ObserverKind, boxed};
use super::device::{DiskStats, STAT, columns};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "layer.<name>",
    description: "Each block device below the device of the device directory, down to the disks.",
    columns: || columns(STAT),
    create: |subject| {
        let below = subject.host_layers().iter().skip(1);
        boxed(below.map(|layer| DiskStats::new(format!("layer.{}", layer.name), &layer.device)))
    },
};
