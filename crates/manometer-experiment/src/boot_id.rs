//! The id of the running boot of the host: counters and settings of the kernel do not outlive it.

use std::fs;

const BOOT_ID_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// The id of this boot of the host.
pub(crate) fn boot_id() -> Option<String> {
    Some(fs::read_to_string(BOOT_ID_FILE).ok()?.trim().to_owned())
}
