//! The first and only process of a guest: this program, started by the guest's kernel.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::system::{RebootCommand, finit_module, reboot, uname};

use super::machine::{FOLDER, REPORT, TASK};

/// Runs a guest, whose first process this is: `work` has the task's name, and a directory to mount devices at, and returns
/// the report.
pub fn run_guest(work: impl FnOnce(&str, &Path) -> String) {
    let directory = PathBuf::from(variable(FOLDER));
    // Powers off even after a panic, whose message is on the console by then.
    let _off = PowerOff;
    // The host's files are readable; only this directory is writable.
    mount_new("hostfs", Path::new("none"), &directory, &directory.display().to_string()).unwrap();
    mount_new("proc", Path::new("none"), Path::new("/proc"), "").unwrap();
    let lines = work(&variable(TASK), &directory.join("mount"));
    let mut report = File::create(directory.join(REPORT)).unwrap();
    writeln!(report, "{lines}done").unwrap();
    report.sync_all().unwrap();
}

struct PowerOff;

impl Drop for PowerOff {
    fn drop(&mut self) {
        let _ = reboot(RebootCommand::PowerOff);
    }
}

/// A variable of the guest's task.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("the host gave no {name}"))
}

/// Loads a module of the guest's kernel.
pub(super) fn load(module: &str) {
    let release = uname().release().to_str().unwrap().to_owned();
    let path = format!("/usr/lib/uml/modules/{release}/kernel/drivers/md/{module}.ko");
    let file = File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    finit_module(file, c"", 0).unwrap_or_else(|error| panic!("{path}: {error}"));
}

pub(super) fn mount_ext4(device: &Path, point: &Path, options: &str) -> io::Result<()> {
    mount_new("ext4", device, point, options)
}

fn mount_new(kind: &str, device: &Path, point: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options).unwrap();
    Ok(mount(device, point, kind, MountFlags::empty(), options.as_c_str())?)
}

pub(super) fn unmount_ext4(point: &Path) -> io::Result<()> {
    Ok(unmount(point, UnmountFlags::empty())?)
}

/// The guest's devices, in order.
pub(super) fn devices() -> Vec<PathBuf> {
    let is_device = |path: &PathBuf| path.to_str().is_some_and(|path| path.starts_with("/dev/ubd"));
    let mut devices: Vec<_> =
        fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap().path()).filter(is_device).collect();
    devices.sort_unstable();
    devices
}
