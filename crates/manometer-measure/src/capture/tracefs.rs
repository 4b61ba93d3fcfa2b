//! tracefs: its mount point, and a tracing instance.

#![expect(clippy::disallowed_methods, reason = "files of the kernel")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags, access};
use rustix::process::{Pid, test_kill_process};

use super::{CaptureError, line::EventKind};

/// The command that makes block events available.
pub const REMEDY: &str = "as root: mount -t tracefs nodev /sys/kernel/tracing";

/// The prefix of our instances, before the process id.
const PREFIX: &str = "manometer-";

/// The reason why block events are not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TracefsError {
    /// tracefs is not mounted.
    #[error("tracefs is not mounted")]
    NotMounted,
    /// The kernel has no block events.
    #[error("tracefs at {} has no block events: the kernel was built without CONFIG_BLK_DEV_IO_TRACE", .0.display())]
    NoBlockEvents(PathBuf),
    /// This user may not use tracefs.
    #[error("this user may not use tracefs at {}: run as root", .0.display())]
    NotPermitted(PathBuf),
}

/// The mount point of tracefs, if it has block events and this user may use it.
///
/// # Errors
/// The reason why not; [`REMEDY`] is the remedy.
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
    match EventKind::ALL.iter().all(|kind| root.join("events/block").join(kind.event()).exists()) {
        true => Ok(()),
        false => Err(TracefsError::NoBlockEvents(root.to_owned())),
    }
}

/// A tracing instance, separate from other tracers; removed when dropped.
#[derive(Debug)]
pub(super) struct Instance {
    folder: PathBuf,
}

impl Instance {
    /// Creates an instance below `root`, with a buffer of `buffer_kib` per processor and times of `CLOCK_MONOTONIC`.
    /// Instances that ended processes of Manometer left behind are removed first.
    pub(super) fn create(root: &Path, buffer_kib: u64) -> Result<Self, CaptureError> {
        let instances = root.join("instances");
        remove_abandoned(&instances);
        let folder = instances.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&folder).map_err(|source| CaptureError::Trace { path: folder.clone(), source })?;
        let instance = Self { folder };
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        instance.write("trace_clock", "mono")?;
        Ok(instance)
    }

    /// Enables the `kinds` of events that match `filter`.
    pub(super) fn enable(&self, kinds: &[EventKind], filter: &str) -> Result<(), CaptureError> {
        for kind in kinds {
            let event = format!("events/block/{}", kind.event());
            self.write(&format!("{event}/filter"), filter)?;
            self.write(&format!("{event}/enable"), "1")?;
        }
        Ok(())
    }

    /// Stops tracing; the events in the buffers stay.
    pub(super) fn stop(&self) -> Result<(), CaptureError> {
        self.write("tracing_on", "0")
    }

    /// The events as text; reading removes them, and does not block.
    pub(super) fn pipe(&self) -> Result<Pipe, CaptureError> {
        let path = self.folder.join("trace_pipe");
        let flags = OFlags::NONBLOCK.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        let file = opened.map_err(|source| CaptureError::Trace { path: path.clone(), source })?;
        Ok(Pipe { file, path, begun: Vec::new() })
    }

    /// The number of events lost because the buffers were full.
    pub(super) fn lost(&self) -> Result<u64, CaptureError> {
        let path = self.folder.join("per_cpu");
        let entries = fs::read_dir(&path).map_err(|source| CaptureError::Trace { path, source })?;
        let stats = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stats")).ok());
        Ok(stats.map(|text| lost_of(&text)).sum())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), CaptureError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|source| CaptureError::Trace { path, source })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.folder) {
            tracing::warn!("{} could not be removed: {error}", self.folder.display());
        }
    }
}

/// The kernel keeps an instance whose events are on.
fn remove(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("events/enable"), "0")?;
    fs::remove_dir(folder)
}

fn remove_abandoned(instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for entry in entries.filter_map(Result::ok) {
        let pid = entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<i32>().ok());
        if pid.and_then(Pid::from_raw).is_some_and(|pid| test_kill_process(pid).is_err()) {
            // Another capture may just have done so.
            let _ = remove(&entry.path());
        }
    }
}

/// The events that were lost by `per_cpu/cpuN/stats`.
fn lost_of(stats: &str) -> u64 {
    let lost = ["overrun", "commit overrun", "dropped events"];
    let number = |line: &str| {
        let (name, value) = line.split_once(':')?;
        lost.contains(&name).then(|| value.trim().parse::<u64>().ok())?
    };
    stats.lines().filter_map(number).sum()
}

/// Reads lines as they come.
pub(super) struct Pipe {
    file: File,
    path: PathBuf,
    /// The beginning of a line whose rest is still to come.
    begun: Vec<u8>,
}

impl Pipe {
    /// The whole lines that are there now; empty when there are none.
    pub(super) fn lines(&mut self) -> Result<Vec<String>, CaptureError> {
        let mut chunk = vec![0; 1 << 16];
        let count = match self.file.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(source) => return Err(CaptureError::Trace { path: self.path.clone(), source }),
        };
        self.begun.extend_from_slice(&chunk[..count]);
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let rest = self.begun.split_off(end + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        Ok(String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_lost_event_counts() {
        let stats = "entries: 385\noverrun: 7\ncommit overrun: 1\nbytes: 28008\noldest event ts: 24133.988214\n\
            now ts: 24135.004565\ndropped events: 2\nread events: 0\n";
        assert_eq!(lost_of(stats), 10);
        assert_eq!(lost_of(""), 0);
    }

    #[test]
    fn a_tracefs_without_block_events_or_permission_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(usable(dir.path()), Err(TracefsError::NotPermitted(_))));
        fs::create_dir(dir.path().join("instances")).unwrap();
        assert!(matches!(usable(dir.path()), Err(TracefsError::NoBlockEvents(_))));
        for kind in EventKind::ALL {
            fs::create_dir_all(dir.path().join("events/block").join(kind.event())).unwrap();
        }
        assert_eq!(usable(dir.path()), Ok(()));
    }
}
