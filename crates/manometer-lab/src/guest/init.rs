//! The first process of a guest.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use manometer_measure::{Clock as _, MonotonicClock};
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot, uname};

use super::machine::{RESULT, SHARE, TASK};
use super::modules;
use super::task::{GuestResult, GuestTask, TaskOutcome};
use crate::array::{self, ArrayCounters, ArraySpec};
use crate::faults::{check_after_fault, write_until_fault};
use crate::replay::replay;
use crate::{ArrangementChoice, LabError};

/// Does the task of the directory that the host named, writes the result there, and powers the guest off.
///
/// # Errors
/// This process is not the first one of a guest.
pub fn run() -> Result<(), LabError> {
    let Some(share) = std::env::var_os(SHARE).map(PathBuf::from).filter(|_| std::process::id() == 1) else {
        return Err(LabError::Refused(
            "this verb is for the first process of a guest: take `manometer lab run`".into(),
        ));
    };
    let _off = PowerOff;
    // The kernel's first process has no group, and programs ask for theirs.
    let _ = rustix::process::setsid();
    let outcome = enter(&share).and_then(|()| work(&share)).map_err(|error| error.to_string());
    let text = serde_json::to_vec(&outcome).unwrap_or_default();
    let path = share.join(RESULT);
    fs::write(&path, text).map_err(LabError::at(path))?;
    match outcome {
        // What it wrote to the host's files is to get there.
        Ok(GuestResult { outcome: TaskOutcome::Status(_), .. }) | Err(_) => Ok(()),
        // Nothing more is to be written to the disks, and bcache would hold up an orderly end for 10 s.
        Ok(_) => fs::write(SYSRQ, "c").map_err(LabError::at(SYSRQ)),
    }
}

/// Where a `c` crashes the kernel.
const SYSRQ: &str = "/proc/sysrq-trigger";

/// Powers off even after a panic, whose message is on the console by then.
struct PowerOff;

impl Drop for PowerOff {
    fn drop(&mut self) {
        rustix::fs::sync();
        let _ = reboot(RebootCommand::PowerOff);
    }
}

/// Mounts what programs need. The host's files are readable, and `share` is writable.
fn enter(share: &Path) -> Result<(), LabError> {
    let new = |kind: &str, point: &Path, options: &str| -> Result<(), LabError> {
        let options = CString::new(options).map_err(io::Error::other).map_err(LabError::at(point))?;
        let mounted = mount("none", point, kind, MountFlags::empty(), options.as_c_str());
        mounted.map_err(io::Error::from).map_err(LabError::at(point))
    };
    new("proc", Path::new("/proc"), "")?;
    new("sysfs", Path::new("/sys"), "")?;
    new("tmpfs", Path::new("/run"), "")?;
    new("hostfs", share, &share.display().to_string())?;
    let release = uname().release().to_string_lossy().into_owned();
    modules::load(&release, Path::new("/run/modules"))
}

fn work(share: &Path) -> Result<GuestResult, LabError> {
    let path = share.join(TASK);
    let bytes = fs::read(&path).map_err(LabError::at(&path))?;
    let task: GuestTask = serde_json::from_slice(&bytes).map_err(io::Error::other).map_err(LabError::at(path))?;
    let since_ns = MonotonicClock.now_ns();
    let outcome = match &task {
        GuestTask::Replay { array, requests, times } => {
            replay_on_array(array, requests, times).map(TaskOutcome::Counters)
        }
        GuestTask::Command { words, log } => command(words, log).map(TaskOutcome::Status),
        GuestTask::WriteUntilFault(trial) => write_until_fault(trial, disks()?).map(TaskOutcome::Written),
        GuestTask::CheckAfterFault(trial) => check_after_fault(trial, disks()?).map(TaskOutcome::Found),
    };
    let seconds = (MonotonicClock.now_ns() - since_ns) as f64 / 1e9;
    let kernel = uname().release().to_string_lossy().into_owned();
    Ok(GuestResult { kernel, seconds, outcome: outcome? })
}

fn replay_on_array(choice: &ArrangementChoice, requests: &Path, times: &Path) -> Result<ArrayCounters, LabError> {
    let arrangement = choice.load()?;
    let spec = ArraySpec::of_guest(arrangement, disks()?, None);
    let built = array::create(&spec, &Arc::default())?;
    replay(requests, &built.device.unwrap_or_default(), times)?;
    Ok(array::settled_status(&spec.name)?.1)
}

fn command(words: &[String], log: &Path) -> Result<i32, LabError> {
    let output = File::create(log).map_err(LabError::at(log))?;
    let errors = output.try_clone().map_err(LabError::at(log))?;
    let program = words.first().map_or("", String::as_str);
    let mut command = Command::new(program);
    command.args(words.iter().skip(1)).stdin(Stdio::null()).stdout(output).stderr(errors);
    let status = command.status().map_err(LabError::at(program))?;
    Ok(status.code().unwrap_or(-1))
}

/// The guest's disks, in order.
fn disks() -> Result<Vec<PathBuf>, LabError> {
    let entries = fs::read_dir("/dev").map_err(LabError::at("/dev"))?;
    let is_disk = |path: &PathBuf| path.to_str().is_some_and(|path| path.starts_with("/dev/ubd"));
    let mut disks: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_disk).collect();
    disks.sort_unstable();
    Ok(disks)
}
