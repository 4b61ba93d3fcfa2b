//! Runs programs of the system.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::LabError;

/// Where distributions have root's programs, which a user's `PATH` may lack.
pub(crate) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Where udev listens.
const UDEV: &str = "/run/udev/control";

/// Runs a program. Returns its output.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, LabError> {
    let failed = |text: String| LabError::Program { program: program.to_owned(), arguments: arguments.join(" "), text };
    let mut command = Command::new(program);
    command.env("PATH", PATH).env("LC_ALL", "C").args(arguments).stdin(Stdio::null());
    if !Path::new(UDEV).exists() {
        // Nobody makes the device mapper's nodes but its own library.
        command.env("DM_DISABLE_UDEV", "1");
    }
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed("it is not installed".to_owned()),
        _ => failed(error.to_string()),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let mut lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // One that tries again says so each time.
    lines.dedup();
    Err(failed(format!("{} ({})", lines.join("; "), output.status)))
}

/// Whether a program is installed.
pub(crate) fn is_installed(program: &str) -> bool {
    PATH.split(':').any(|directory| Path::new(directory).join(program).exists())
}
