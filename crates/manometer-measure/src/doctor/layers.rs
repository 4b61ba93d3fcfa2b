//! The block layers below a directory.

use std::fs;
use std::path::PathBuf;

use super::{Check, CheckStatus};
use crate::host::{self, LayerKind};

const WHY: &str = "each may split, merge, cache or delay requests";

/// The facts about a block layer for the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its name in the kernel.
    pub name: String,
    /// Its kind.
    pub kind: LayerKind,
    /// Its directory in sysfs.
    pub sysfs: PathBuf,
    /// Its start in the layer below, in bytes; `None` if the kernel does not show it.
    pub start_bytes: Option<u64>,
    /// Whether no device is visible below it.
    pub is_lowest: bool,
}

impl Layer {
    pub(super) fn read(layer: &host::Layer) -> Self {
        let sysfs = layer.device.sysfs.clone();
        let read = |file: &str| fs::read_to_string(sysfs.join(file)).ok()?.trim().parse::<u64>().ok();
        let start_bytes = match layer.kind {
            LayerKind::Partition => read("start").map(|sectors| sectors * 512),
            LayerKind::Loop => read("loop/offset"),
            _ => None,
        };
        Self { name: layer.name.clone(), kind: layer.kind, start_bytes, is_lowest: layer.maps_to.is_empty(), sysfs }
    }

    fn kind_text(&self) -> &'static str {
        match self.kind {
            LayerKind::Partition => "partition",
            LayerKind::Disk => "disk",
            LayerKind::Md => "md",
            LayerKind::Dm => "dm",
            LayerKind::Bcache => "bcache",
            LayerKind::Loop => "loop",
        }
    }
}

pub(super) fn check(layers: &[Layer]) -> Check {
    if layers.is_empty() {
        let text = "no block device: nothing below the file system can be observed";
        return Check::new("layers", CheckStatus::Missing, text, WHY).remedy("choose a directory on a local disk");
    }
    let names: Vec<String> = layers.iter().map(|layer| format!("{} ({})", layer.name, layer.kind_text())).collect();
    let text = names.join(" > ");
    if layers.iter().any(|layer| layer.kind == LayerKind::Loop) {
        return Check::new("layers", CheckStatus::Limited, format!("{text}: a file of another file system"), WHY)
            .remedy("choose a directory that is not on a loop device");
    }
    Check::new("layers", CheckStatus::Ok, text, WHY)
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn layers_are_listed_from_top_to_bottom() {
        let check_array = check(&recorded::array().layers);
        let text = "dm-0 (dm) > md0 (md) > sda1 (partition) > sdb1 (partition) > sda (disk) > sdb (disk)";
        assert_eq!((check_array.status, check_array.text.as_str()), (CheckStatus::Ok, text));
        assert_eq!(check(&[]).status, CheckStatus::Missing);
    }

    #[test]
    fn a_loop_device_is_limited() {
        let mut layers = recorded::nvme().layers;
        layers[0].kind = LayerKind::Loop;
        assert_eq!(check(&layers).status, CheckStatus::Limited);
    }
}
