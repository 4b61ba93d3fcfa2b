//! The block device under a folder: who it is, and `/proc/diskstats` of it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::environment::mount_of;
use super::{Observer, Rates};
use crate::samples::Column;

/// A block device as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its major number.
    pub major: u32,
    /// Its minor number.
    pub minor: u32,
    /// Its name, such as `nvme0n1p2`.
    pub name: String,
    /// Its folder in sysfs.
    pub sysfs: PathBuf,
}

impl Device {
    /// The block device whose folder in sysfs is `folder`, or what that links to.
    pub fn at(folder: &Path) -> Option<Self> {
        let sysfs = fs::canonicalize(folder).ok()?;
        let number = fs::read_to_string(sysfs.join("dev")).ok()?;
        let (major, minor) = number.trim().split_once(':')?;
        let name = sysfs.file_name()?.to_str()?.to_owned();
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()?, name, sysfs })
    }

    /// The whole disk's folder in sysfs: the device's own, or that of the disk it is a partition of.
    pub fn disk_sysfs(&self) -> PathBuf {
        let partition = self.sysfs.join("partition").exists();
        match self.sysfs.parent() {
            Some(disk) if partition => disk.to_owned(),
            _ => self.sysfs.clone(),
        }
    }

    /// A sysfs attribute of the device, or of its disk where it has none of its own.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let read = |folder: PathBuf| fs::read_to_string(folder.join(name)).ok();
        let text = read(self.sysfs.clone()).or_else(|| read(self.disk_sysfs()))?;
        Some(text.trim().to_owned())
    }
}

/// The block device that holds `dir`, or its nearest parent that exists; nothing for file systems
/// without one (tmpfs, network, overlay).
pub fn device_of(dir: &Path) -> Option<Device> {
    let existing = dir.ancestors().map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let number = existing.into_iter().find_map(|dir| fs::metadata(dir).ok())?.dev();
    numbered(number).or_else(|| mounted_device(dir))
}

fn numbered(number: u64) -> Option<Device> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    Device::at(Path::new(&format!("/sys/dev/block/{major}:{minor}")))
}

/// The device that is mounted at `dir`, for file systems such as Btrfs that hide it behind a number of their own.
fn mounted_device(dir: &Path) -> Option<Device> {
    let source = mount_of(dir)?.source.filter(|source| source.starts_with("/dev/"))?;
    numbered(fs::metadata(source).ok()?.rdev())
}

/// Bytes of a sector in the kernel's accounts, whatever the device's own.
const SECTOR_BYTES: f64 = 512.0;

#[derive(Debug)]
pub(super) struct DiskStats {
    device: Device,
    rates: Rates,
}

impl DiskStats {
    pub(super) fn new(device: &Device) -> Self {
        Self { device: device.clone(), rates: Rates::default() }
    }
}

impl Observer for DiskStats {
    fn source(&self) -> &str {
        "device"
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::new("reads", "1/s"),
            Column::new("writes", "1/s"),
            Column::new("read_bytes", "B/s"),
            Column::new("write_bytes", "B/s"),
            Column::new("read_wait", "s/s"),
            Column::new("write_wait", "s/s"),
            Column::new("busy", "share"),
            Column::new("in_flight", ""),
        ]
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let stats = procfs::diskstats().ok();
        let ours = stats.and_then(|all| {
            let ours = |disk: &procfs::DiskStat| {
                (disk.major, disk.minor) == (self.device.major as i32, self.device.minor as i32)
            };
            all.into_iter().find(ours)
        });
        let Some(disk) = ours else { return vec![None; 8] };
        let counters = vec![
            disk.reads as f64,
            disk.writes as f64,
            disk.sectors_read as f64 * SECTOR_BYTES,
            disk.sectors_written as f64 * SECTOR_BYTES,
            disk.time_reading as f64 / 1e3,
            disk.time_writing as f64 / 1e3,
            disk.time_in_progress as f64 / 1e3,
        ];
        let mut row = self.rates.per_second(t_ns, counters.into_iter().map(Some).collect());
        row.push(Some(disk.in_progress as f64));
        row
    }
}
