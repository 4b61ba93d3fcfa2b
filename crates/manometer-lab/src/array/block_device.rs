//! Facts of a block device.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::LabError;

/// The size of a block device.
pub(crate) fn device_bytes(device: &Path) -> Result<u64, LabError> {
    let size = File::open(device).and_then(|mut file| file.seek(SeekFrom::End(0)));
    size.map_err(LabError::at(device))
}

/// The directory of sysfs of a block device, which its path may name otherwise.
pub(super) fn sysfs(device: &Path) -> Result<PathBuf, LabError> {
    let number = fs::metadata(device).map_err(LabError::at(device))?.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let link = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    link.canonicalize().map_err(LabError::at(link))
}
