//! Commands of other users.

use std::path::Path;
use std::process::Command;

/// A command of the user and group `id`, without other groups, that begins in `directory`: so its relative paths work
/// where directories above are root's alone.
pub fn command_as(id: u32, directory: &Path, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={id}"), format!("--regid={id}"), "--clear-groups".to_owned()]);
    command.arg(program).current_dir(directory);
    command
}
