//! Where it is mounted: an empty directory that carries no mount and is not inside the source.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

/// Why nothing can be mounted there, and what to do about it.
pub fn refusal(target: &Path) -> Option<String> {
    let reason = match is_empty(target) {
        Err(error) if error.kind() == ErrorKind::NotConnected => {
            "what was mounted there lost its program: `umount` it first".to_owned()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => "no such directory: make it first".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotADirectory => "is not a directory: mount on one".to_owned(),
        Err(error) => error.to_string(),
        Ok(_) if is_mount_point(target) => "something is mounted there: `umount` it, or mount elsewhere".to_owned(),
        Ok(false) => "is not empty, and its content would be hidden: mount on an empty directory".to_owned(),
        Ok(true) => return None,
    };
    Some(format!("{}: {reason}", target.display()))
}

fn is_empty(directory: &Path) -> std::io::Result<bool> {
    Ok(fs::read_dir(directory)?.next().is_none())
}

/// Whether the mount would lead into itself: a look-up in it would wait for another one for ever.
pub fn is_inside(target: &Path, source: &Path) -> bool {
    match (target.canonicalize(), source.canonicalize()) {
        (Ok(target), Ok(source)) => target.starts_with(source),
        _ => false,
    }
}

fn is_mount_point(path: &Path) -> bool {
    statx(CWD, path, AtFlags::empty(), StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
