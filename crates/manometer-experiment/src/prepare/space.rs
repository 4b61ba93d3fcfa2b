//! The space of the file system and of the device, and over-provisioning.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use manometer_measure::ByteSize;
use manometer_measure::host::{device_of, mount};
use serde::Serialize;

use super::error::PrepareError;

/// The share of the free space that preconditioning leaves for others and for the file system's metadata.
const LEFT_FREE: f64 = 0.02;

/// The tolerated deviation of a partition from the requested share of the device: its ends are aligned.
const TOLERANCE: f64 = 0.005;

/// The granularity of the file that fills free space.
const UNIT_BYTES: u64 = 1 << 20;

/// The sizes of a file system and of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The free space of the file system.
    pub free_bytes: u64,
    /// The file system's size.
    pub size_bytes: u64,
    /// The size of its block device, such as a partition; nothing where none shows.
    pub device_bytes: Option<u64>,
    /// The size of the disk with that device.
    pub disk_bytes: Option<u64>,
}

/// The share of a device that is kept free of data, and how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverProvisioning {
    /// The share of the device.
    pub share: f64,
    /// How it is kept free.
    pub how: String,
}

/// The space allocated to the files below `folder` that `includes` selects.
pub(crate) fn allocated_bytes(folder: &Path, includes: &mut dyn FnMut(&Metadata) -> bool) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => allocated_bytes(&entry.path(), includes),
        Ok(found) if found.is_file() && includes(&found) => found.blocks() * 512,
        Ok(_) | Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(&mut bytes).fold(0, u64::saturating_add)
}

impl Space {
    /// The space of the file system of `directory`.
    pub fn of(directory: &Path) -> Option<Self> {
        let device = device_of(directory);
        let sectors = |path: &Path| std::fs::read_to_string(path.join("size")).ok()?.trim().parse::<u64>().ok();
        let bytes = |path: &Path| sectors(path).map(|sectors| sectors * 512);
        Some(Self {
            free_bytes: mount::free_bytes(directory)?,
            size_bytes: mount::size_bytes(directory)?,
            device_bytes: device.as_ref().and_then(|device| bytes(&device.sysfs)),
            disk_bytes: device.as_ref().and_then(|device| bytes(&device.disk_sysfs())),
        })
    }

    /// The share of the disk outside the partition.
    fn unpartitioned_share(&self) -> Option<f64> {
        let (device, disk) = (self.device_bytes? as f64, self.disk_bytes? as f64);
        (disk > 0.0).then(|| 1.0 - device / disk)
    }

    /// The space that must stay free in the file system so that `share` of the device holds no data: 0 where the
    /// partition leaves that share.
    fn reserved_bytes(&self, share: f64) -> u64 {
        if self.unpartitioned_share().is_some_and(|outside| outside + TOLERANCE >= share) {
            return 0;
        }
        (share * self.size_bytes as f64) as u64
    }

    /// How `share` is kept free of data.
    pub fn over_provisioning(&self, share: f64) -> OverProvisioning {
        match self.unpartitioned_share().filter(|outside| outside + TOLERANCE >= share) {
            Some(outside) => OverProvisioning {
                share,
                how: format!("the partition leaves {:.0} % of its disk unused", 100.0 * outside),
            },
            None => OverProvisioning {
                share,
                how: "kept free in the file system: blocks that held data before are free on the flash only after a \
                      discard"
                    .to_owned(),
            },
        }
    }

    /// Checks that `data_bytes` more fit with `share` of the device kept free, and that this share is free now.
    ///
    /// # Errors
    /// They do not fit.
    pub fn check(&self, directory: &Path, data_bytes: u64, share: Option<f64>) -> Result<(), PrepareError> {
        let reserved_bytes = share.map_or(0, |share| self.reserved_bytes(share));
        if data_bytes.saturating_add(reserved_bytes) <= self.free_bytes {
            return Ok(());
        }
        Err(PrepareError::OutOfSpace {
            directory: directory.to_owned(),
            required: ByteSize(data_bytes),
            free: ByteSize(self.free_bytes),
            reserved: ByteSize(reserved_bytes),
        })
    }

    /// The size of the file that fills the free space except for the reserved part.
    pub fn fill_bytes(&self, share: Option<f64>) -> u64 {
        let reserved_bytes = share.map_or(0, |share| self.reserved_bytes(share));
        let left = self.free_bytes - (self.free_bytes as f64 * LEFT_FREE) as u64;
        left.saturating_sub(reserved_bytes) / UNIT_BYTES * UNIT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn space(partition: u64) -> Space {
        Space {
            free_bytes: 60 * GIB,
            size_bytes: 70 * GIB,
            device_bytes: Some(partition * GIB),
            disk_bytes: Some(100 * GIB),
        }
    }

    #[test]
    fn a_partition_that_leaves_the_share_unused_may_be_filled() {
        let seventy = space(70);
        assert!(seventy.over_provisioning(0.3).how.contains("30 %"));
        assert!(seventy.check(Path::new("/d"), 60 * GIB, Some(0.3)).is_ok());
        assert_eq!(seventy.fill_bytes(Some(0.3)), seventy.fill_bytes(None));
        assert!((58 * GIB..60 * GIB).contains(&seventy.fill_bytes(None)));
    }

    #[test]
    fn without_unused_space_on_the_disk_the_share_is_reserved_in_the_file_system() {
        let whole = space(100);
        assert!(whole.over_provisioning(0.3).how.contains("kept free in the file system"));
        let error = whole.check(Path::new("/d"), 50 * GIB, Some(0.3)).unwrap_err();
        assert!(error.to_string().contains("50 GiB") && error.to_string().contains("21 GiB"), "{error}");
        assert!(whole.check(Path::new("/d"), 39 * GIB, Some(0.3)).is_ok());
        assert!(whole.fill_bytes(Some(0.3)) < 39 * GIB);
        assert!(whole.check(Path::new("/d"), 61 * GIB, None).is_err());
        let full = Space { free_bytes: 20 * GIB, ..whole };
        assert!(full.check(Path::new("/d"), 0, Some(0.3)).is_err(), "the reserved space is in use already");
        assert!(full.check(Path::new("/d"), 0, None).is_ok());
    }
}
