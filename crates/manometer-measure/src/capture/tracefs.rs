//! tracefs: where it is, and instances of our own in it.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// What makes block events visible where they are not.
pub const REMEDY: &str = "as root: mount -t tracefs nodev /sys/kernel/tracing";

/// The events that a request leaves: it goes to the device, and it comes back.
const EVENTS: [&str; 2] = ["block_rq_issue", "block_rq_complete"];

/// Why the kernel's block events cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TracefsError {
    /// Nobody mounted it.
    #[error("tracefs is not mounted")]
    NotMounted,
    /// The kernel was built without them.
    #[error("tracefs at {} has no block events: the kernel lacks CONFIG_BLK_DEV_IO_TRACE", .0.display())]
    NoBlockEvents(PathBuf),
    /// Only root may use it.
    #[error("tracefs at {} may not be used by this user: run as root", .0.display())]
    NotPermitted(PathBuf),
}

/// The folder of tracefs, if it tells of block requests and we may use it.
///
/// # Errors
/// Why not, and [`REMEDY`] is what to do.
pub fn find() -> Result<PathBuf, TracefsError> {
    let mounts = procfs::process::Process::myself().and_then(|process| process.mountinfo());
    let mut mounts = mounts.map(|mounts| mounts.0).unwrap_or_default().into_iter();
    let mount = mounts.find(|mount| mount.fs_type == "tracefs").ok_or(TracefsError::NotMounted)?;
    usable(&mount.mount_point)?;
    Ok(mount.mount_point)
}

fn usable(root: &Path) -> Result<(), TracefsError> {
    if access(root.join("instances"), Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return Err(TracefsError::NotPermitted(root.to_owned()));
    }
    match EVENTS.iter().all(|event| root.join("events/block").join(event).exists()) {
        true => Ok(()),
        false => Err(TracefsError::NoBlockEvents(root.to_owned())),
    }
}
