//! Devices of the device mapper.

use std::path::{Path, PathBuf};

use super::journal::ArrayJournal;
use super::undo::Undo;
use crate::{LabError, program};

/// The unit of tables and of logs.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// The table of a part of a device.
pub(super) fn linear(device: &Path, offset: u64, bytes: u64) -> String {
    format!("0 {} linear {} {}", bytes / SECTOR_BYTES, device.display(), offset / SECTOR_BYTES)
}

/// Creates a device of the device mapper.
pub(super) fn create_device(name: &str, table: &str, journal: &mut ArrayJournal) -> Result<PathBuf, LabError> {
    let path = Path::new("/dev/mapper").join(name);
    if path.exists() {
        return Err(LabError::Refused(format!("{} is there already: take another `--name`", path.display())));
    }
    journal.record(Undo::run(&["dmsetup", "remove", "--retry", name], &path))?;
    program::run("dmsetup", &["create", name, "--table", table])?;
    Ok(path)
}
