//! The groups of a run: `manometer-PID/WORKLOAD` in each hierarchy, made, entered, limited and taken away.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use manometer_measure::doctor::{Cgroups, Hierarchy};
use manometer_measure::{Clock as _, FileLock, MonotonicClock};
use rustix::process::{Pid, Signal, kill_process};

use super::IsolateError;
use super::borrowed::Borrowed;
use super::translate::{GroupFile, Version};

/// The controllers that limit or count what a workload does.
const CONTROLLERS: [&str; 5] = ["io", "blkio", "cpu", "cpuacct", "memory"];

const PREFIX: &str = "manometer-";

/// How long the processes of a group may take to be gone, and how often that is looked for.
const END_PATIENCE_NS: u64 = 2_000_000_000;
const END_LOOK_NS: u64 = 5_000_000;

/// How often a folder is made that others take away meanwhile.
const MAKE_TRIES: usize = 3;

/// Whether groups are made in `hierarchy` of version 1.
pub(super) fn is_used(hierarchy: &Hierarchy) -> bool {
    hierarchy.controllers.iter().any(|controller| CONTROLLERS.contains(&controller.as_str()))
}

/// The folders that a run's groups lie in, one a hierarchy. Dropping it takes them away.
#[derive(Debug)]
pub(super) struct Subtree {
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    controllers: Vec<String>,
    folder: PathBuf,
    /// Held while the run lives, however it ends: tells others that the folder is in use.
    _lock: FileLock,
}

impl Subtree {
    /// Makes the folders for the process `pid` in the hierarchies of `version`.
    pub(super) fn make(
        cgroups: &Cgroups,
        version: Version,
        pid: u32,
        borrowed: &mut Borrowed,
    ) -> Result<Self, IsolateError> {
        let mut made = Self { roots: Vec::new() };
        for hierarchy in hierarchies(cgroups, version) {
            if made.roots.iter().any(|root| root.controllers == hierarchy.controllers) {
                continue;
            }
            if version == Version::V2 {
                enable(&hierarchy.mounted_at, &hierarchy.controllers, borrowed)?;
            }
            let folder = hierarchy.mounted_at.join(format!("{PREFIX}{pid}"));
            let lock = make_held(&folder).map_err(IsolateError::at(&folder))?;
            made.roots.push(Root { controllers: hierarchy.controllers.clone(), folder: folder.clone(), _lock: lock });
            if version == Version::V2 {
                let wanted = CONTROLLERS.into_iter().filter(|name| hierarchy.controllers.iter().any(|one| one == name));
                let words: Vec<String> = wanted.map(|name| format!("+{name}")).collect();
                write(&folder.join("cgroup.subtree_control"), &words.join(" "))?;
            }
        }
        Ok(made)
    }

    /// Makes the group of the workload `name`.
    pub(super) fn group(&self, name: &str) -> Result<Group, IsolateError> {
        let mut folders = Vec::new();
        for root in &self.roots {
            let folder = root.folder.join(name);
            fs::create_dir(&folder).map_err(IsolateError::at(&folder))?;
            folders.push((root.controllers.clone(), folder));
        }
        Ok(Group { folders })
    }
}

impl Drop for Subtree {
    fn drop(&mut self) {
        for root in &self.roots {
            if let Err(error) = remove(&root.folder) {
                tracing::warn!("{}: {error}: the next run takes this control group away", root.folder.display());
            }
        }
    }
}

/// Lets the groups in `folder` be given those of `controllers` that we use and that it gave to nobody before.
fn enable(folder: &Path, controllers: &[String], borrowed: &mut Borrowed) -> Result<(), IsolateError> {
    let file = folder.join("cgroup.subtree_control");
    let given = fs::read_to_string(&file).map_err(IsolateError::at(&file))?;
    missing(&given, controllers)
        .iter()
        .try_for_each(|name| borrowed.change(&file, &format!("+{name}"), format!("-{name}")))
}

/// Makes `folder` and locks it. Another run that cleans up may take it for left in between: then it is made again.
fn make_held(folder: &Path) -> io::Result<FileLock> {
    for _ in 0..MAKE_TRIES {
        fs::create_dir(folder)?;
        let Ok(file) = File::open(folder) else { continue };
        if let Some(lock) = FileLock::take(file)?
            && is_same(&lock, folder)
        {
            return Ok(lock);
        }
        wait_until_gone(folder);
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

fn is_same(open: &File, folder: &Path) -> bool {
    let number = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
    number(open.metadata()).is_some_and(|inode| number(fs::metadata(folder)) == Some(inode))
}

fn wait_until_gone(folder: &Path) {
    let deadline_ns = MonotonicClock.now_ns() + END_PATIENCE_NS;
    while folder.exists() && MonotonicClock.now_ns() < deadline_ns {
        MonotonicClock.sleep(END_LOOK_NS);
    }
}

fn hierarchies(cgroups: &Cgroups, version: Version) -> Vec<&Hierarchy> {
    match version {
        Version::V2 => cgroups.v2.iter().collect(),
        Version::V1 => cgroups.v1.iter().filter(|hierarchy| is_used(hierarchy)).collect(),
    }
}

/// Those of `controllers` that we use and `given` does not hold.
fn missing(given: &str, controllers: &[String]) -> Vec<String> {
    let used = controllers.iter().filter(|name| CONTROLLERS.contains(&name.as_str()));
    used.filter(|name| !given.split_whitespace().any(|one| one == *name)).cloned().collect()
}

/// The group of one workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Its folder for the controllers of each hierarchy.
    folders: Vec<(Vec<String>, PathBuf)>,
}

impl Group {
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|(_, folder)| folder.as_path())
    }

    /// Moves the process `pid` into it; all that the process starts afterwards is in it too.
    pub(super) fn enter(&self, pid: u32) -> Result<(), IsolateError> {
        self.folders().try_for_each(|folder| write(&folder.join("cgroup.procs"), &pid.to_string()))
    }

    /// Writes a limit.
    pub(super) fn limit(&self, file: &GroupFile) -> Result<(), IsolateError> {
        let has = |(controllers, _): &&(Vec<String>, PathBuf)| controllers.iter().any(|one| one == file.controller);
        match self.folders.iter().find(has) {
            Some((_, folder)) => write(&folder.join(file.file), &file.text),
            None => Err(IsolateError::NoController(file.controller)),
        }
    }

    /// The first of its folders that has vanished, or else that the process `pid` is no longer in.
    pub(super) fn lost(&self, pid: u32) -> Option<&Path> {
        let vanished = self.folders().find(|folder| !folder.exists());
        vanished.or_else(|| self.folders().find(|folder| !holds(folder, pid)))
    }
}

/// Whether the process `pid` is in `folder` or in a group below it, such as a container's.
fn holds(folder: &Path, pid: u32) -> bool {
    let procs = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    procs.lines().any(|line| line.parse() == Ok(pid)) || groups_in(folder).iter().any(|group| holds(group, pid))
}

fn groups_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    groups.map(|entry| entry.path()).collect()
}

/// Takes away what runs left that are no more: groups of dead processes, with what still runs in them.
pub(super) fn clean_up(cgroups: &Cgroups) {
    for hierarchy in cgroups.v2.iter().chain(&cgroups.v1) {
        let entries = fs::read_dir(&hierarchy.mounted_at).into_iter().flatten().filter_map(Result::ok);
        for folder in entries.map(|entry| entry.path()) {
            // Held until it is gone, so that nobody makes it his own meanwhile.
            let Some(_lock) = left(&folder) else { continue };
            match remove(&folder) {
                Ok(()) => tracing::info!("took away {}, which an earlier run left", folder.display()),
                Err(error) => tracing::warn!("{}: {error}: an earlier run left this control group", folder.display()),
            }
        }
    }
}

/// The lock of `folder` where it is that of a run that is no more: nobody holds it. Its number says nothing, since the
/// process may be out of our sight in another container, and another may have got its number.
fn left(folder: &Path) -> Option<FileLock> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_prefix(PREFIX)?.parse::<u32>().ok()?;
    FileLock::take(File::open(folder).ok()?).ok().flatten()
}

/// Ends what runs in `folder` and takes it away with the groups in it.
fn remove(folder: &Path) -> io::Result<()> {
    groups_in(folder).iter().try_for_each(|group| remove(group))?;
    let deadline_ns = MonotonicClock.now_ns() + END_PATIENCE_NS;
    loop {
        end_processes(folder);
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if MonotonicClock.now_ns() < deadline_ns => MonotonicClock.sleep(END_LOOK_NS),
            removed => return removed,
        }
    }
}

fn end_processes(folder: &Path) {
    let procs = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for pid in procs.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
        // One that ended in between is what was wanted.
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
    use super::*;

    #[test]
    fn controllers_that_are_given_already_are_not_given_again() {
        let there = ["cpuset", "cpu", "io", "memory", "pids"].map(str::to_owned);
        assert_eq!(missing("cpuset cpu pids\n", &there), ["io", "memory"]);
        assert_eq!(missing("cpu io memory", &there), Vec::<String>::new());
    }

    /// The writable hierarchies of version 1 on this host.
    fn v1() -> Option<Cgroups> {
        let cgroups = Cgroups::read();
        let usable = cgroups.v1.iter().any(|one| one.controllers == ["blkio"] && one.writable);
        if !usable {
            println!("skipped: no writable blkio of version 1 here");
        }
        usable.then_some(cgroups)
    }

    fn blkio(group: &Group) -> &Path {
        group.folders().find(|folder| folder.to_string_lossy().contains("blkio")).unwrap()
    }

    #[test]
    fn groups_are_made_limited_entered_and_taken_away() {
        let Some(cgroups) = v1() else { return };
        let dir = tempfile::tempdir().unwrap();
        // No process has a number this large.
        let subtree = Subtree::make(&cgroups, Version::V1, i32::MAX as u32, &mut Borrowed::none(dir.path())).unwrap();
        let group = subtree.group("writer").unwrap();
        let file = |file, text: &str| GroupFile { controller: "blkio", file, text: text.to_owned() };
        let error = group.limit(&file("blkio.throttle.read_bps_device", "1:999 nonsense")).unwrap_err().to_string();
        assert!(error.contains("1:999 nonsense") && error.contains("read_bps_device"), "{error}");
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        group.enter(child.id()).unwrap();
        assert_eq!(group.lost(child.id()), None);
        assert_eq!(group.lost(1), group.folders().next());
        let folder = blkio(&group).to_owned();
        assert!(left(folder.parent().unwrap()).is_none(), "it is in use, though its process cannot be seen");
        drop(subtree);
        assert!(!folder.exists() && !folder.parent().unwrap().exists());
        assert!(!child.wait().unwrap().success(), "what ran in it has ended");
        assert!(group.lost(child.id()).is_some());
    }

    #[test]
    fn folders_that_no_run_holds_are_left_ones() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let own = dir.path().join(format!("manometer-{}", std::process::id()));
        let held = make_held(&own).unwrap();
        assert!(left(&own).is_none());
        assert!(make_held(&own).is_err(), "it is there");
        drop(held);
        assert!(left(&own).is_some(), "the number of a dead run may be anybody's by now");
        assert!(left(&folder("manometer-x")).is_none() && left(&folder("system.slice")).is_none());
    }
}
