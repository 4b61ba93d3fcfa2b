//! Virtual disks of hypervisors and clouds.

use std::fs;
use std::path::Path;

/// Hypervisors by the prefixes of components of the disk's path in sysfs.
const BY_PATH: [(&str, &str); 5] =
    [("virtio", "virtio"), ("vbd-", "Xen"), ("VMBUS:", "Hyper-V"), ("xen", "Xen"), ("uml-blkdev", "user-mode-linux")];

/// Hypervisors by parts of the disk's vendor and model.
const BY_NAME: [(&str, &str); 12] = [
    ("QEMU", "QEMU"),
    ("VBOX", "VirtualBox"),
    ("VMware", "VMware"),
    ("Virtual disk", "VMware"),
    ("Virtual Disk", "Hyper-V"),
    ("MSFT NVMe Accelerator", "Azure"),
    ("Amazon Elastic Block Store", "Amazon EBS"),
    ("Google PersistentDisk", "Google Cloud"),
    ("PersistentDisk", "Google Cloud"),
    ("nvme_card-pd", "Google Cloud"),
    ("BlockVolume", "Oracle Cloud"),
    ("Virtio", "virtio"),
];

/// The hypervisor of the virtual disk whose directory in sysfs is `sysfs`; `None` for a physical disk, as far as the host
/// shows.
pub fn hypervisor_of(sysfs: &Path) -> Option<&'static str> {
    let text = |file: &str| fs::read_to_string(sysfs.join(file)).unwrap_or_default();
    hypervisor(sysfs, &format!("{} {}", text("device/vendor").trim(), text("device/model").trim()))
}

fn hypervisor(sysfs: &Path, name: &str) -> Option<&'static str> {
    let parts = || sysfs.components().filter_map(|part| part.as_os_str().to_str());
    let by_path = BY_PATH.into_iter().find(|(mark, _)| parts().any(|part| part.starts_with(mark)));
    let by_name = || BY_NAME.into_iter().find(|(mark, _)| name.contains(mark));
    by_path.or_else(by_name).map(|(_, hypervisor)| hypervisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_of_hypervisors_and_clouds_are_known() {
        let pci = "/sys/devices/pci0000:00/0000:00:04.0";
        let cases = [
            (format!("{pci}/virtio1/block/vda"), "0x1af4 ", Some("virtio")),
            ("/sys/devices/vbd-51712/block/xvda".to_owned(), " ", Some("Xen")),
            ("/sys/devices/platform/uml-blkdev.0/block/ubda".to_owned(), " ", Some("user-mode-linux")),
            (format!("{pci}/nvme/nvme0/nvme0n1"), " Amazon Elastic Block Store", Some("Amazon EBS")),
            (format!("{pci}/nvme/nvme0/nvme0n1"), " QEMU NVMe Ctrl", Some("QEMU")),
            (format!("{pci}/ata1/host0/target0:0:0/0:0:0:0/block/sda"), "ATA VBOX HARDDISK", Some("VirtualBox")),
            (format!("{pci}/host2/target2:0:0/2:0:0:0/block/sdb"), "Msft Virtual Disk", Some("Hyper-V")),
            (format!("{pci}/host0/target0:0:1/0:0:1:0/block/sda"), "Google PersistentDisk", Some("Google Cloud")),
            (format!("{pci}/nvme/nvme0/nvme0n1"), " Samsung SSD 980 PRO 1TB", None),
            (format!("{pci}/nvme/nvme1/nvme1n1"), " Amazon EC2 NVMe Instance Storage", None),
            (format!("{pci}/ata1/host0/target0:0:0/0:0:0:0/block/sda"), "ATA WDC WD10EZEX-08W", None),
        ];
        for (path, name, expected) in cases {
            assert_eq!(hypervisor(Path::new(&path), name), expected, "{path} {name}");
        }
    }
}
