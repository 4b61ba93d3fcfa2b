//! The controllers of an NVMe disk.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories of all controllers of the NVMe disk whose directory in sysfs is `disk`: its `device`, or, with native
/// multipath, where that is the subsystem, all controllers of the subsystem. Empty if it shows none.
pub fn nvme_controllers(disk: &Path) -> Vec<PathBuf> {
    let device = disk.join("device");
    let entries = fs::read_dir(&device).into_iter().flatten().filter_map(Result::ok);
    let mut controllers: Vec<(u32, PathBuf)> =
        entries.filter_map(|entry| Some((number_of(entry.file_name().to_str()?)?, entry.path()))).collect();
    controllers.sort();
    match controllers.is_empty() {
        true => device.exists().then_some(device).into_iter().collect(),
        false => controllers.into_iter().map(|(_, path)| path).collect(),
    }
}

/// The number of the controller `name`; `None` for the name of a namespace or anything else.
fn number_of(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("nvme")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A subsystem with two controllers, as Linux 6.1 shows it with `nvme_core.multipath=Y`.
    fn multipath(sysfs: &Path) -> PathBuf {
        let subsystem = sysfs.join("devices/virtual/nvme-subsystem/nvme-subsys0");
        let disk = subsystem.join("nvme0n1");
        fs::create_dir_all(subsystem.join("power")).unwrap();
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::write(subsystem.join("subsysnqn"), "nqn.2014.08.org.nvmexpress:1\n").unwrap();
        for (controller, bus) in [("nvme10", "0000:02:00.0"), ("nvme2", "0000:01:00.0")] {
            let folder = sysfs.join("devices/pci0000:00").join(bus).join("nvme").join(controller);
            fs::create_dir_all(&folder).unwrap();
            symlink(&folder, subsystem.join(controller)).unwrap();
        }
        symlink("../../nvme-subsys0", disk.join("device")).unwrap();
        disk
    }

    #[test]
    fn with_multipath_a_disk_has_all_controllers_of_its_subsystem() {
        let dir = tempfile::tempdir().unwrap();
        let disk = multipath(dir.path());
        let device = disk.join("device");
        assert_eq!(nvme_controllers(&disk), [device.join("nvme2"), device.join("nvme10")]);
    }

    #[test]
    fn without_multipath_a_disk_has_the_controller_that_it_links_to() {
        let dir = tempfile::tempdir().unwrap();
        let controller = dir.path().join("devices/pci0000:00/0000:01:00.0/nvme/nvme0");
        fs::create_dir_all(controller.join("nvme0n1")).unwrap();
        fs::create_dir_all(controller.join("power")).unwrap();
        symlink("..", controller.join("nvme0n1/device")).unwrap();
        let disk = controller.join("nvme0n1");
        assert_eq!(nvme_controllers(&disk), [disk.join("device")]);
        assert!(nvme_controllers(dir.path()).is_empty(), "a disk that is gone shows none");
    }
}
