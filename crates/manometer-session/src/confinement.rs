//! Confinement: a worker writes below its device directory, and to few places of the system, whatever a link in the directory or
//! an option of an engine leads to. The kernel's Landlock enforces it, without root.

use std::path::Path;

use landlock::{
    ABI, AccessFs, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, path_beneath_rules,
};
use manometer_measure::Directory;

/// Devices and settings of the kernel, which have permissions of their own.
const SYSTEM: [&str; 3] = ["/dev", "/proc", "/sys"];

/// What a worker may do only in these places: all that changes files or directories.
const KNOWN: ABI = ABI::V3;

/// Confines this thread, and all that it starts, to writing below `directory`, which is created. Returns whether the kernel
/// enforces it: one before 5.13, or without Landlock, does not, and one before 6.2 lets files be cut.
///
/// # Errors
/// The directory of the workload `name` is a link, or the kernel refuses.
pub(crate) fn confine(directory: &Path, name: &str) -> Result<bool, String> {
    let folder = directory.join(name);
    if folder.is_symlink() {
        return Err(format!(
            "{} is a symbolic link, and a workload's data lie in the device directory itself",
            folder.display()
        ));
    }
    Directory::create(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    restrict(directory).map_err(|error| format!("it cannot be confined to {}: {error}", directory.display()))
}

fn restrict(directory: &Path) -> Result<bool, RulesetError> {
    let writes = AccessFs::from_write(KNOWN);
    let temporary = std::env::temp_dir();
    let places = SYSTEM.iter().map(Path::new).chain([directory, &temporary]);
    let ruleset = Ruleset::default().handle_access(writes)?.create()?;
    let status = ruleset.add_rules(path_beneath_rules(places, writes))?.restrict_self()?;
    Ok(status.ruleset == RulesetStatus::FullyEnforced)
}
