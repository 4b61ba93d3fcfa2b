//! The devices of an array: block devices, and files behind loop devices.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use manometer_experiment::prepare::erase::DiskFacts;
use manometer_measure::ByteSize;
use serde::Serialize;

use super::device_mapper::{create_device, linear};
use super::journal::ArrayJournal;
use super::spec::{ArraySpec, MemberSizes};
use super::undo::Undo;
use crate::{LabError, program};

/// How data that are not needed are given up.
const ERASE: &str = "; if nothing of it is needed, add `--erase`, in an experiment `array.erase = true`";

/// What a file or device for an array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberKind {
    /// A file that is created.
    NewFile,
    /// A file whose content may be lost.
    File,
    /// A block device of at least the needed size, which is cut to it.
    Device { bytes: u64 },
}

/// A device in its place.
#[derive(Debug)]
pub(super) struct Member {
    path: PathBuf,
    kind: MemberKind,
    /// The size that the array needs of it.
    bytes: u64,
    /// Whether what it holds may be lost.
    erase: bool,
}

/// All devices of an array.
#[derive(Debug)]
pub(super) struct Members {
    pub origin: Vec<Member>,
    pub cache: Vec<Member>,
}

/// What happens to a file or device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceUse {
    /// The file is created.
    Created,
    /// The file is emptied.
    Emptied,
    /// All of the device is taken.
    Whole,
    /// The first bytes of the device are taken.
    FirstPart,
}

/// What an array would take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedDevice {
    /// Its place: `origin-0`, `cache-0`.
    pub place: String,
    /// The file or device.
    pub path: PathBuf,
    /// The bytes that are used of it.
    pub bytes: u64,
    /// What happens to it.
    pub used: DeviceUse,
}

impl Members {
    /// What is taken, the origin first.
    pub fn planned(&self) -> Vec<PlannedDevice> {
        let levels = [("origin", &self.origin), ("cache", &self.cache)];
        let planned = levels.into_iter().flat_map(|(level, members)| {
            members.iter().enumerate().map(move |(at, member)| member.planned(format!("{level}-{at}")))
        });
        planned.collect()
    }

    /// Whether all of them read as zeros.
    pub fn are_new(&self) -> bool {
        self.origin.iter().chain(&self.cache).all(|member| member.kind == MemberKind::NewFile)
    }
}

/// Checks all devices, and changes nothing.
pub(super) fn check_all(spec: &ArraySpec) -> Result<Members, LabError> {
    let sizes = MemberSizes::of(&spec.arrangement)?;
    let check = |paths: &[PathBuf], bytes: u64| -> Result<Vec<Member>, LabError> {
        paths.iter().map(|path| check(path, bytes, spec.erase)).collect()
    };
    Ok(Members { origin: check(&spec.origin, sizes.origin)?, cache: check(&spec.cache, sizes.cache)? })
}

fn check(path: &Path, bytes: u64, erase: bool) -> Result<Member, LabError> {
    let refuse = |reason: String| Err(LabError::Refused(format!("{}: {reason}", path.display())));
    let member = |kind| Ok(Member { path: path.to_owned(), kind, bytes, erase });
    let Ok(facts) = fs::metadata(path) else {
        if path.is_symlink() {
            return refuse("it is a link that leads nowhere".to_owned());
        }
        if path.starts_with("/dev") {
            return refuse("there is no such device".to_owned());
        }
        return match path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).is_dir() {
            true => member(MemberKind::NewFile),
            false => refuse("its directory does not exist".to_owned()),
        };
    };
    if facts.file_type().is_block_device() {
        let disk = DiskFacts::read(path).map_err(|error| LabError::Refused(error.to_string()))?;
        return match device_refusal(&disk, bytes, erase) {
            Some(reason) => refuse(reason),
            None => member(MemberKind::Device { bytes: disk.size_bytes }),
        };
    }
    if !facts.is_file() {
        return refuse("it is neither a file nor a block device".to_owned());
    }
    if path.is_symlink() {
        return refuse("it is a link to a file: name the file itself".to_owned());
    }
    if let Some(device) = loop_device_of(&facts) {
        return refuse(format!("{device} uses the file; detach it if it is not needed"));
    }
    if holds_data(path)? && !erase {
        return refuse(format!("the file holds data{ERASE}"));
    }
    member(MemberKind::File)
}

/// The loop device that a file is attached to.
fn loop_device_of(file: &fs::Metadata) -> Option<String> {
    let is_of_file = |directory: &Path| {
        let backing = fs::read_to_string(directory.join("loop/backing_file")).ok()?;
        let facts = fs::metadata(backing.trim_end_matches('\n')).ok()?;
        ((facts.dev(), facts.ino()) == (file.dev(), file.ino())).then_some(())
    };
    let devices = fs::read_dir("/sys/block").ok()?.filter_map(Result::ok);
    let device = devices.map(|entry| entry.path()).find(|directory| is_of_file(directory).is_some())?;
    Some(format!("/dev/{}", device.file_name()?.to_string_lossy()))
}

/// Whether a file has anything but holes.
fn holds_data(path: &Path) -> Result<bool, LabError> {
    let file = fs::File::open(path).map_err(LabError::at(path))?;
    match rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(0)) {
        Err(rustix::io::Errno::NXIO) => Ok(false),
        found => found.map(|_| true).map_err(std::io::Error::from).map_err(LabError::at(path)),
    }
}

/// Why a block device with these `facts` is not taken.
fn device_refusal(facts: &DiskFacts, bytes: u64, erase: bool) -> Option<String> {
    let list = |names: &[String]| names.join(", ");
    if facts.read_only {
        return Some("it is read-only".to_owned());
    }
    if facts.size_bytes < bytes {
        return Some(format!(
            "it has {}, and the arrangement needs {}: raise its `scale`, or lower its sizes",
            ByteSize(facts.size_bytes),
            ByteSize(bytes)
        ));
    }
    if !facts.mounted_at.is_empty() {
        return Some(format!("it is mounted ({}); unmount it if it is not needed", list(&facts.mounted_at)));
    }
    if !facts.holders.is_empty() {
        return Some(format!("other devices use it ({}); stop them if they are not needed", list(&facts.holders)));
    }
    if let Some(reason) = &facts.busy {
        return Some(format!("it cannot be opened exclusively ({reason}): it is in use"));
    }
    let content = match (&facts.signature, facts.partitions.as_slice()) {
        (Some(signature), _) => Some(signature.clone()),
        (None, [_, ..]) => Some(format!("partitions ({})", list(&facts.partitions))),
        (None, []) => facts.edges_hold_data.then(|| "data".to_owned()),
    };
    content.filter(|_| !erase).map(|content| format!("it holds {content}{ERASE}"))
}

/// Makes block devices of the members, each of the size that is needed.
pub(super) fn attach(
    members: &[Member],
    level: &str,
    name: &str,
    journal: &mut ArrayJournal,
) -> Result<Vec<PathBuf>, LabError> {
    let attach_one = |(at, member): (usize, &Member)| member.attach(&format!("manometer-{name}-{level}-{at}"), journal);
    members.iter().enumerate().map(attach_one).collect()
}

impl Member {
    fn planned(&self, place: String) -> PlannedDevice {
        let used = match self.kind {
            MemberKind::NewFile => DeviceUse::Created,
            MemberKind::File => DeviceUse::Emptied,
            MemberKind::Device { bytes } if bytes == self.bytes => DeviceUse::Whole,
            MemberKind::Device { .. } => DeviceUse::FirstPart,
        };
        PlannedDevice { place, path: self.path.clone(), bytes: self.bytes, used }
    }

    fn attach(&self, name: &str, journal: &mut ArrayJournal) -> Result<PathBuf, LabError> {
        let path = self.path.display().to_string();
        match self.kind {
            MemberKind::Device { bytes } => {
                let identity = identity(&fs::metadata(&self.path).map_err(LabError::at(&self.path))?);
                journal.record(Undo::ClearEnds { device: self.path.clone(), identity, bytes: self.bytes })?;
                if self.erase {
                    program::run("wipefs", &["--all", "--quiet", &path])?;
                }
                if bytes == self.bytes { Ok(self.path.clone()) } else { self.cut(name, journal) }
            }
            MemberKind::NewFile => {
                let file = OpenOptions::new().write(true).create_new(true).open(&self.path);
                let file = file.map_err(LabError::at(&self.path))?;
                let facts = file.metadata().map_err(LabError::at(&self.path))?;
                let identity = identity(&facts);
                journal.record(Undo::RemoveFile { file: self.path.clone(), identity })?;
                file.set_len(self.bytes).map_err(LabError::at(&self.path))?;
                attach_loop(&self.path, journal)
            }
            MemberKind::File => {
                // Emptied first: what it held would pass for signatures and data.
                let file = OpenOptions::new().write(true).open(&self.path).map_err(LabError::at(&self.path))?;
                let facts = file.metadata().map_err(LabError::at(&self.path))?;
                let (identity, bytes) = (identity(&facts), facts.len());
                journal.record(Undo::EmptyFile { file: self.path.clone(), identity, bytes })?;
                file.set_len(0).and_then(|()| file.set_len(self.bytes)).map_err(LabError::at(&self.path))?;
                attach_loop(&self.path, journal)
            }
        }
    }

    /// The first part of a larger device.
    fn cut(&self, name: &str, journal: &mut ArrayJournal) -> Result<PathBuf, LabError> {
        create_device(name, &linear(&self.path, 0, self.bytes), journal)
    }
}

/// The device and inode of a file.
fn identity(facts: &fs::Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}

/// Attaches a file to a loop device, which passes requests on without caching them.
fn attach_loop(file: &Path, journal: &mut ArrayJournal) -> Result<PathBuf, LabError> {
    journal.record(Undo::DetachLoop { file: file.to_owned() })?;
    let device = program::run("losetup", &["--find", "--show", "--direct-io=on", &file.display().to_string()])?;
    Ok(PathBuf::from(device.trim()))
}
