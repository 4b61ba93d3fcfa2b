//! The modules of a guest's kernel, which lie where no program looks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::{LabError, program};

/// What arrays are made of.
const MODULES: [&str; 11] = [
    "loop",
    "raid0",
    "raid1",
    "raid10",
    "raid456",
    "bcache",
    "dm-mod",
    "dm-cache",
    "dm-cache-smq",
    "dm-log-writes",
    "xfs",
];

/// Loads the modules of the kernel `release`. `directory` is writable.
pub(super) fn load(release: &str, directory: &Path) -> Result<(), LabError> {
    let link = directory.join("lib/modules");
    fs::create_dir_all(&link).map_err(LabError::at(&link))?;
    let link = link.join(release);
    symlink(Path::new("/usr/lib/uml/modules").join(release), &link).map_err(LabError::at(&link))?;
    let root = directory.display().to_string();
    let mut arguments = vec!["--dirname", &root, "--all"];
    arguments.extend(MODULES);
    program::run("modprobe", &arguments).map(drop)
}
