//! Detects a full device, for engines that do not report it.

use std::path::Path;

/// With less free space, in bytes, no engine can write its next log, journal or shared-memory file.
const BYTES_LEAST: u64 = 1 << 20;

/// Whether the file system of `directory` is full.
pub(super) fn is_full(directory: &Path) -> bool {
    rustix::fs::statvfs(directory)
        .is_ok_and(|file_system| file_system.f_bavail.saturating_mul(file_system.f_frsize) < BYTES_LEAST)
}
