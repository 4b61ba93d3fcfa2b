//! The disks below a device, with the facts that matter when results are compared.

use serde::Serialize;

use super::block_device::BlockDevice;
use super::layers::Layer;

/// The files with the firmware version of a disk: NVMe, SATA and SAS, MMC.
const FIRMWARE: [&str; 3] = ["device/firmware_rev", "device/rev", "device/fwrev"];

/// A disk; what the kernel does not show is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DiskDescription {
    pub name: String,
    pub model: Option<String>,
    pub firmware: Option<String>,
    /// Its I/O schedulers, the current one in brackets.
    pub scheduler: Option<String>,
    pub size_bytes: Option<u64>,
}

impl DiskDescription {
    fn of(device: &BlockDevice) -> Self {
        let shown = |name: &str| device.attribute(name).filter(|text| !text.is_empty());
        Self {
            name: device.name.clone(),
            model: shown("device/model"),
            firmware: FIRMWARE.into_iter().find_map(shown),
            scheduler: shown("queue/scheduler"),
            size_bytes: shown("size").and_then(|sectors| Some(sectors.parse::<u64>().ok()? * 512)),
        }
    }
}

/// The disks among `layers`.
pub(super) fn of(layers: &[Layer]) -> Vec<DiskDescription> {
    layers.iter().filter(|layer| layer.maps_to.is_empty()).map(|layer| DiskDescription::of(&layer.device)).collect()
}

/// The values of all `disks`, each different one once, sorted; `None` if one of the disks has none.
pub(super) fn distinct_values(
    disks: &[DiskDescription],
    value: impl Fn(&DiskDescription) -> Option<&String>,
) -> Option<String> {
    let mut all: Vec<&str> = disks.iter().map(|disk| value(disk).map(String::as_str)).collect::<Option<_>>()?;
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::layers::LayerKind;
    use super::*;

    /// A disk whose folder in sysfs holds `files`, or a layer above others.
    fn layer(root: &std::path::Path, name: &str, maps_to: &[&str], files: &[(&str, &str)]) -> Layer {
        let sysfs = root.join(name);
        for (file, text) in files.iter().chain(&[("dev", "8:0\n")]) {
            std::fs::create_dir_all(sysfs.join(file).parent().unwrap()).unwrap();
            std::fs::write(sysfs.join(file), text).unwrap();
        }
        Layer {
            name: name.to_owned(),
            kind: if maps_to.is_empty() { LayerKind::Disk } else { LayerKind::Md },
            maps_to: maps_to.iter().map(|&name| name.to_owned()).collect(),
            label: None,
            device: BlockDevice::at(&sysfs).unwrap(),
        }
    }

    #[test]
    fn each_disk_of_an_array_is_listed_and_common_values_once() {
        let dir = tempfile::tempdir().unwrap();
        let sata = |name, firmware| {
            let files = [
                ("device/model", "INTEL SSDSC2KB48\n"),
                ("device/rev", firmware),
                ("queue/scheduler", "[none] mq-deadline\n"),
                ("size", "2048\n"),
            ];
            layer(dir.path(), name, &[], &files)
        };
        let array = layer(dir.path(), "md0", &["sda", "sdb"], &[("queue/scheduler", "none\n")]);
        let disks = of(&[array.clone(), sata("sda", "0132\n"), sata("sdb", "0110\n")]);
        let json = serde_json::to_value(&disks).unwrap();
        assert_eq!(
            json[0],
            serde_json::json!({"name": "sda", "model": "INTEL SSDSC2KB48", "firmware": "0132",
                "scheduler": "[none] mq-deadline", "size_bytes": 1_048_576})
        );
        assert_eq!(disks.len(), 2, "the array is no disk");
        assert_eq!(distinct_values(&disks, |disk| disk.model.as_ref()).as_deref(), Some("INTEL SSDSC2KB48"));
        assert_eq!(distinct_values(&disks, |disk| disk.firmware.as_ref()).as_deref(), Some("0110; 0132"));
        let swapped = of(&[array, sata("sda", "0110\n"), sata("sdb", "0132\n")]);
        let firmware = |disk: &DiskDescription| disk.firmware.clone();
        assert_ne!(disks.iter().map(firmware).collect::<Vec<_>>(), swapped.iter().map(firmware).collect::<Vec<_>>());
        assert_eq!(
            distinct_values(&swapped, |disk| disk.firmware.as_ref()).as_deref(),
            Some("0110; 0132"),
            "names may change"
        );
    }

    #[test]
    fn an_nvme_disk_has_firmware_and_a_virtual_one_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let nvme = [("device/model", "Samsung SSD 980 PRO\n"), ("device/firmware_rev", "5B2QGXA7\n")];
        let disks = of(&[layer(dir.path(), "nvme0n1", &[], &nvme)]);
        assert_eq!(distinct_values(&disks, |disk| disk.firmware.as_ref()).as_deref(), Some("5B2QGXA7"));
        let both =
            of(&[layer(dir.path(), "nvme1n1", &[], &nvme), layer(dir.path(), "vda", &[], &[("device/rev", "\n")])]);
        assert_eq!(distinct_values(&both, |disk| disk.firmware.as_ref()), None, "one of them has none");
        assert_eq!(distinct_values(&[], |disk| disk.model.as_ref()), None);
    }
}
