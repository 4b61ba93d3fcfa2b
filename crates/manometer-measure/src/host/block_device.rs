//! The block device that holds a directory.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::mount::mount_of;

/// A block device as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its major number.
    pub major: u32,
    /// Its minor number.
    pub minor: u32,
    /// Its name, such as `nvme0n1p2`.
    pub name: String,
    /// Its directory in sysfs.
    pub sysfs: PathBuf,
}

impl BlockDevice {
    /// The block device whose directory in sysfs is `folder`, links followed.
    pub fn at(folder: &Path) -> Option<Self> {
        let sysfs = fs::canonicalize(folder).ok()?;
        let number = fs::read_to_string(sysfs.join("dev")).ok()?;
        let (major, minor) = number.trim().split_once(':')?;
        let name = sysfs.file_name()?.to_str()?.to_owned();
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()?, name, sysfs })
    }

    /// The directory of the whole disk in sysfs: the device's own, or for a partition that of its disk.
    pub fn disk_sysfs(&self) -> PathBuf {
        let partition = self.sysfs.join("partition").exists();
        match self.sysfs.parent() {
            Some(disk) if partition => disk.to_owned(),
            _ => self.sysfs.clone(),
        }
    }

    /// An attribute of the device in sysfs, or of its disk if the device has none.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let read = |folder: PathBuf| fs::read_to_string(folder.join(name)).ok();
        let text = read(self.sysfs.clone()).or_else(|| read(self.disk_sysfs()))?;
        Some(text.trim().to_owned())
    }
}

/// The block device that holds `dir`, or its nearest existing parent, or that `dir` itself is; `None` for file systems without one (tmpfs, network,
/// overlay).
pub fn device_of(dir: &Path) -> Option<BlockDevice> {
    let existing = dir.ancestors().map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let facts = existing.into_iter().find_map(|dir| fs::metadata(dir).ok())?;
    numbered(if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() })
        .or_else(|| mounted_device(dir))
}

fn numbered(number: u64) -> Option<BlockDevice> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    BlockDevice::at(Path::new(&format!("/sys/dev/block/{major}:{minor}")))
}

/// The device mounted at `dir`, for file systems such as Btrfs that have their own device number.
fn mounted_device(dir: &Path) -> Option<BlockDevice> {
    let source = mount_of(dir)?.source.filter(|source| source.starts_with("/dev/"))?;
    numbered(fs::metadata(source).ok()?.rdev())
}
