//! The control groups of a run, `manometer-PID/WORKLOAD` in each hierarchy: created, entered, limited and removed.

#![expect(clippy::disallowed_methods, reason = "files of the kernel")]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use manometer_measure::doctor::{Cgroups, Hierarchy};
use manometer_measure::{Clock as _, FileLock, MonotonicClock};
use rustix::process::{Pid, Signal, kill_process};

use super::cgroup_files::{CgroupFile, CgroupVersion};
use super::error::IsolateError;
use super::host_settings::HostSettings;

/// The controllers that limit or count the resources of a workload.
const CONTROLLERS: [&str; 5] = ["io", "blkio", "cpu", "cpuacct", "memory"];

const PREFIX: &str = "manometer-";

/// How long to wait for the processes of a group to end, and how often to check.
const END_TIMEOUT_NS: u64 = 2_000_000_000;
const END_CHECK_INTERVAL_NS: u64 = 5_000_000;

/// How often creating a folder is tried that other runs remove in between.
const CREATE_TRIES: usize = 3;

/// Whether groups are created in `hierarchy` of version 1.
pub(super) fn is_used(hierarchy: &Hierarchy) -> bool {
    hierarchy.controllers.iter().any(|controller| CONTROLLERS.contains(&controller.as_str()))
}

/// The folders of a run's groups, one per hierarchy. Dropping it removes them.
#[derive(Debug)]
pub(super) struct CgroupTree {
    roots: Vec<CgroupRoot>,
}

#[derive(Debug)]
struct CgroupRoot {
    controllers: Vec<String>,
    folder: PathBuf,
    /// Held while the run lives: marks the folder as in use.
    _lock: FileLock,
}

impl CgroupTree {
    /// Creates the folders of the process `pid` in the hierarchies of `version`.
    pub(super) fn create(
        cgroups: &Cgroups,
        version: CgroupVersion,
        pid: u32,
        settings: &mut HostSettings,
    ) -> Result<Self, IsolateError> {
        let mut tree = Self { roots: Vec::new() };
        for hierarchy in hierarchies(cgroups, version) {
            if tree.roots.iter().any(|root| root.controllers == hierarchy.controllers) {
                continue;
            }
            if version == CgroupVersion::V2 {
                enable_controllers(&hierarchy.mounted_at, &hierarchy.controllers, settings)?;
            }
            let folder = hierarchy.mounted_at.join(format!("{PREFIX}{pid}"));
            let lock = create_locked(&folder).map_err(IsolateError::at(&folder))?;
            tree.roots.push(CgroupRoot {
                controllers: hierarchy.controllers.clone(),
                folder: folder.clone(),
                _lock: lock,
            });
            if version == CgroupVersion::V2 {
                let used = CONTROLLERS.into_iter().filter(|name| hierarchy.controllers.iter().any(|one| one == name));
                let words: Vec<String> = used.map(|name| format!("+{name}")).collect();
                write(&folder.join("cgroup.subtree_control"), &words.join(" "))?;
            }
        }
        Ok(tree)
    }

    /// Creates the group of the workload `name`.
    pub(super) fn create_group(&self, name: &str) -> Result<Cgroup, IsolateError> {
        let mut folders = Vec::new();
        for root in &self.roots {
            let folder = root.folder.join(name);
            fs::create_dir(&folder).map_err(IsolateError::at(&folder))?;
            folders.push((root.controllers.clone(), folder));
        }
        Ok(Cgroup { folders })
    }
}

impl Drop for CgroupTree {
    fn drop(&mut self) {
        for root in &self.roots {
            if let Err(error) = remove(&root.folder) {
                tracing::warn!("{}: {error}: the next run removes this control group", root.folder.display());
            }
        }
    }
}

/// Enables those of `controllers` that we use for the groups in `folder`.
fn enable_controllers(folder: &Path, controllers: &[String], settings: &mut HostSettings) -> Result<(), IsolateError> {
    let file = folder.join("cgroup.subtree_control");
    let enabled = fs::read_to_string(&file).map_err(IsolateError::at(&file))?;
    missing_controllers(&enabled, controllers)
        .iter()
        .try_for_each(|name| settings.change(&file, &format!("+{name}"), format!("-{name}")))
}

/// Creates `folder` and locks it. Another run that cleans up may remove it in between: then it is created again.
fn create_locked(folder: &Path) -> io::Result<FileLock> {
    for _ in 0..CREATE_TRIES {
        fs::create_dir(folder)?;
        let Ok(file) = File::open(folder) else { continue };
        if let Some(lock) = FileLock::take(file)?
            && is_same_folder(&lock, folder)
        {
            return Ok(lock);
        }
        wait_until_removed(folder);
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

fn is_same_folder(open: &File, folder: &Path) -> bool {
    let inode = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
    inode(open.metadata()).is_some_and(|open| inode(fs::metadata(folder)) == Some(open))
}

fn wait_until_removed(folder: &Path) {
    let deadline_ns = MonotonicClock.now_ns() + END_TIMEOUT_NS;
    while folder.exists() && MonotonicClock.now_ns() < deadline_ns {
        MonotonicClock.sleep(END_CHECK_INTERVAL_NS);
    }
}

fn hierarchies(cgroups: &Cgroups, version: CgroupVersion) -> Vec<&Hierarchy> {
    match version {
        CgroupVersion::V2 => cgroups.v2.iter().collect(),
        CgroupVersion::V1 => cgroups.v1.iter().filter(|hierarchy| is_used(hierarchy)).collect(),
    }
}

/// Those of `controllers` that we use and that are not `enabled`.
fn missing_controllers(enabled: &str, controllers: &[String]) -> Vec<String> {
    let used = controllers.iter().filter(|name| CONTROLLERS.contains(&name.as_str()));
    used.filter(|name| !enabled.split_whitespace().any(|one| one == *name)).cloned().collect()
}

/// The control group of one workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cgroup {
    /// Its folder in each hierarchy, with the controllers of that.
    folders: Vec<(Vec<String>, PathBuf)>,
}

impl Cgroup {
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|(_, folder)| folder.as_path())
    }

    /// Moves the process `pid` into the group. Processes that it starts afterwards are in the group as well.
    pub(super) fn enter(&self, pid: u32) -> Result<(), IsolateError> {
        self.folders().try_for_each(|folder| write(&folder.join("cgroup.procs"), &pid.to_string()))
    }

    /// Writes a limit.
    pub(super) fn limit(&self, file: &CgroupFile) -> Result<(), IsolateError> {
        let has = |(controllers, _): &&(Vec<String>, PathBuf)| controllers.iter().any(|one| one == file.controller);
        match self.folders.iter().find(has) {
            Some((_, folder)) => write(&folder.join(file.file), &file.text),
            None => Err(IsolateError::NoController(file.controller)),
        }
    }

    /// The first of its folders that was removed, or that the process `pid` has left.
    pub(super) fn lost_folder(&self, pid: u32) -> Option<&Path> {
        let removed = self.folders().find(|folder| !folder.exists());
        removed.or_else(|| self.folders().find(|folder| !contains(folder, pid)))
    }
}

/// Whether the process `pid` is in `folder` or in a group below it, such as that of a container.
fn contains(folder: &Path, pid: u32) -> bool {
    let procs = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    procs.lines().any(|line| line.parse() == Ok(pid)) || groups_in(folder).iter().any(|group| contains(group, pid))
}

fn groups_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    groups.map(|entry| entry.path()).collect()
}

/// Removes the groups of killed runs, and ends the processes in them.
pub(super) fn remove_leftovers(cgroups: &Cgroups) {
    for hierarchy in cgroups.v2.iter().chain(&cgroups.v1) {
        let entries = fs::read_dir(&hierarchy.mounted_at).into_iter().flatten().filter_map(Result::ok);
        for folder in entries.map(|entry| entry.path()) {
            // Held until the folder is removed, so that no other run locks it meanwhile.
            let Some(_lock) = lock_leftover(&folder) else { continue };
            match remove(&folder) {
                Ok(()) => tracing::info!("removed the control group {} of a killed run", folder.display()),
                Err(error) => tracing::warn!(
                    "{}: {error}: this control group of a killed run could not be removed",
                    folder.display()
                ),
            }
        }
    }
}

/// The lock of `folder` where it is the group of an ended run: no process holds the lock. The process id in its name is no
/// evidence: the process may be invisible in another container, and its id may have been reused.
fn lock_leftover(folder: &Path) -> Option<FileLock> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_prefix(PREFIX)?.parse::<u32>().ok()?;
    FileLock::take(File::open(folder).ok()?).ok().flatten()
}

/// Ends the processes in `folder`, and removes it with the groups below it.
fn remove(folder: &Path) -> io::Result<()> {
    groups_in(folder).iter().try_for_each(|group| remove(group))?;
    let deadline_ns = MonotonicClock.now_ns() + END_TIMEOUT_NS;
    loop {
        end_processes(folder);
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if MonotonicClock.now_ns() < deadline_ns => MonotonicClock.sleep(END_CHECK_INTERVAL_NS),
            removed => return removed,
        }
    }
}

fn end_processes(folder: &Path) {
    let procs = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for pid in procs.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
        // It may have ended in between.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn write(file: &Path, text: &str) -> Result<(), IsolateError> {
    fs::OpenOptions::new()
        .write(true)
        .open(file)
        .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
        .map_err(|source| IsolateError::Write { path: file.to_owned(), text: text.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use manometer_measure::Directory;
    use manometer_testing::{Cause, skip};

    use super::*;

    #[test]
    fn enabled_controllers_are_not_enabled_again() {
        let there = ["cpuset", "cpu", "io", "memory", "pids"].map(str::to_owned);
        assert_eq!(missing_controllers("cpuset cpu pids\n", &there), ["io", "memory"]);
        assert_eq!(missing_controllers("cpu io memory", &there), Vec::<String>::new());
    }

    /// The writable hierarchies of version 1 on this host.
    fn v1() -> Option<Cgroups> {
        let cgroups = Cgroups::read();
        let usable = cgroups.v1.iter().any(|one| one.controllers == ["blkio"] && one.writable);
        if !usable {
            skip(Cause::CgroupV1, "no writable blkio");
        }
        usable.then_some(cgroups)
    }

    fn blkio(group: &Cgroup) -> &Path {
        group.folders().find(|folder| folder.to_string_lossy().contains("blkio")).unwrap()
    }

    #[test]
    fn groups_are_created_limited_entered_and_removed() {
        let Some(cgroups) = v1() else { return };
        let dir = tempfile::tempdir().unwrap();
        // No process has an id this large.
        let mut settings = HostSettings::unchanged(&Directory::open(dir.path()).unwrap());
        let tree = CgroupTree::create(&cgroups, CgroupVersion::V1, i32::MAX as u32, &mut settings).unwrap();
        let group = tree.create_group("writer").unwrap();
        let file = |file, text: &str| CgroupFile { controller: "blkio", file, text: text.to_owned() };
        let error = group.limit(&file("blkio.throttle.read_bps_device", "1:999 invalid")).unwrap_err().to_string();
        assert!(error.contains("1:999 invalid") && error.contains("read_bps_device"), "{error}");
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        group.enter(child.id()).unwrap();
        assert_eq!(group.lost_folder(child.id()), None);
        assert_eq!(group.lost_folder(1), group.folders().next());
        let folder = blkio(&group).to_owned();
        assert!(lock_leftover(folder.parent().unwrap()).is_none(), "it is locked, though its process does not exist");
        drop(tree);
        assert!(!folder.exists() && !folder.parent().unwrap().exists());
        assert!(!child.wait().unwrap().success(), "the process in it has ended");
        assert!(group.lost_folder(child.id()).is_some());
    }

    #[test]
    fn only_unlocked_folders_of_runs_are_leftovers() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let own = dir.path().join(format!("manometer-{}", std::process::id()));
        let lock = create_locked(&own).unwrap();
        assert!(lock_leftover(&own).is_none());
        assert!(create_locked(&own).is_err(), "it exists");
        drop(lock);
        assert!(lock_leftover(&own).is_some(), "the process id of a killed run may have been reused");
        assert!(lock_leftover(&folder("manometer-x")).is_none() && lock_leftover(&folder("system.slice")).is_none());
    }
}
