//! What to capture: a disk, a part of one, or a device that passes requests on.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::line::{BlockEvent, Kind};
use crate::host::Device;

/// A name that is no block device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// There is nothing of that name.
    #[error("{}: {source}: name a block device such as /dev/nvme0n1", path.display())]
    NotThere {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is no block device: name one such as /dev/nvme0n1; `manometer doctor DIR` says which lies under a folder", .0.display())]
    NotABlockDevice(PathBuf),
    /// The kernel does not show it.
    #[error("{} is not shown in sysfs", .0.display())]
    NotInSysfs(PathBuf),
}

/// A block device, as its events name it.
///
/// The kernel tells of a request under the numbers of the whole disk that it was sent to, with sectors of that disk, be
/// it sent to a partition or not. What an array or a mapping sends on to the devices under it has their numbers, and is
/// theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The device that was asked for.
    pub device: Device,
    /// The numbers that its events carry: a partition's are its disk's.
    disk: (u32, u32),
    /// The sectors that are its own on that disk, first and one behind the last; nothing for all.
    sectors: Option<(u64, u64)>,
    /// Whether it has a queue of requests; otherwise it passes on what it gets, as md and most of dm do.
    queued: bool,
}

impl Target {
    /// The block device `path`, or the one that the kernel calls so, whether `/dev` has it or not.
    ///
    /// # Errors
    /// There is none.
    pub fn find(path: &Path) -> Result<Self, TargetError> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(source) => {
                let named = by_name(path).and_then(Self::of);
                return named.ok_or_else(|| TargetError::NotThere { path: path.to_owned(), source });
            }
        };
        if !metadata.file_type().is_block_device() {
            return Err(TargetError::NotABlockDevice(path.to_owned()));
        }
        let number = metadata.rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let device = Device::at(Path::new(&format!("/sys/dev/block/{major}:{minor}")));
        device.and_then(Self::of).ok_or_else(|| TargetError::NotInSysfs(path.to_owned()))
    }

    fn of(device: Device) -> Option<Self> {
        let disk = Device::at(&device.disk_sysfs())?;
        let number = |file: &str| fs::read_to_string(device.sysfs.join(file)).ok()?.trim().parse::<u64>().ok();
        let sectors = match disk.sysfs == device.sysfs {
            true => None,
            false => {
                let first = number("start")?;
                Some((first, first + number("size")?))
            }
        };
        let queued = disk.sysfs.join("mq").exists();
        Some(Self { disk: (disk.major, disk.minor), sectors, queued, device })
    }

    /// The events that tell of its requests.
    pub(super) fn kinds(&self) -> &'static [Kind] {
        if self.queued { &[Kind::Issue, Kind::Complete] } else { &[Kind::BioQueue, Kind::BioComplete] }
    }

    /// The kernel's filter that lets its events through, and no other's.
    pub(super) fn filter(&self) -> String {
        let (major, minor) = self.disk;
        let number = u64::from(major) << 20 | u64::from(minor);
        match self.sectors {
            None => format!("dev == {number}"),
            Some((first, end)) => format!("dev == {number} && sector >= {first} && sector < {end}"),
        }
    }

    /// Whether `event` is one of its own.
    pub(super) fn has(&self, event: &BlockEvent) -> bool {
        let within = |(first, end): (u64, u64)| (first..end).contains(&event.sector);
        event.device == self.disk && self.sectors.is_none_or(within)
    }

    /// Whether it is a part of a disk: flushes, which have no sector, are then not seen.
    pub fn is_partition(&self) -> bool {
        self.sectors.is_some()
    }
}

/// The device of a bare name, or of one in `/dev` that a container does not have.
fn by_name(path: &Path) -> Option<Device> {
    let name = path.strip_prefix("/dev").unwrap_or(path);
    let bare = name.components().count() == 1 && name.file_name().is_some();
    bare.then(|| Device::at(&Path::new("/sys/class/block").join(name)))?
}

#[cfg(test)]
pub(super) mod tests {
    use manometer_testing::{Cause, skip};

    use super::*;

    /// A whole disk of those numbers.
    pub fn disk(major: u32, minor: u32) -> Target {
        let device = Device { major, minor, name: "disk".to_owned(), sysfs: PathBuf::from("/nowhere") };
        Target { device, disk: (major, minor), sectors: None, queued: true }
    }

    fn sysfs(root: &Path, folder: &str, files: &[(&str, &str)]) -> Device {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        Device::at(&folder).unwrap()
    }

    #[test]
    fn a_partition_is_a_stretch_of_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let disk = sysfs(dir.path(), "nvme0n1", &[("dev", "259:0\n")]);
        fs::create_dir(dir.path().join("nvme0n1/mq")).unwrap();
        let files = [("dev", "259:1\n"), ("partition", "1\n"), ("start", "2048\n"), ("size", "1000\n")];
        let part = Target::of(sysfs(dir.path(), "nvme0n1/nvme0n1p1", &files)).unwrap();
        assert_eq!(part.filter(), "dev == 271581184 && sector >= 2048 && sector < 3048");
        assert!(part.is_partition());
        let whole = Target::of(disk).unwrap();
        assert_eq!(whole.filter(), "dev == 271581184");
        assert_eq!(whole.kinds(), [Kind::Issue, Kind::Complete]);
    }

    /// The events of `trace` that are the target's, among those of its kinds: what and where.
    fn taken(target: &Target, trace: &str) -> Vec<(Kind, u64)> {
        let events = trace.lines().filter_map(BlockEvent::parse);
        let taken = events.filter(|event| target.kinds().contains(&event.kind) && target.has(event));
        taken.map(|event| (event.kind, event.sector)).collect()
    }

    /// Recorded on Linux 6.18, of the disk 7:8 with partitions 259:0 and 259:1 of 2048 sectors from 2048 and 4096 on:
    /// writes to either, a flush, and a write to the disk itself; and a write to another disk.
    const DISK: &str = include_str!("samples/partitions.txt");

    #[test]
    fn of_a_disks_requests_a_partition_gets_those_in_its_sectors() {
        use Kind::{Complete, Issue};
        let dir = tempfile::tempdir().unwrap();
        let disk = sysfs(dir.path(), "loop8", &[("dev", "7:8\n")]);
        fs::create_dir(dir.path().join("loop8/mq")).unwrap();
        let part = |name: &str, dev: &str, start: &str| {
            let files = [("dev", dev), ("partition", "1\n"), ("start", start), ("size", "2048\n")];
            Target::of(sysfs(&dir.path().join("loop8"), name, &files)).unwrap()
        };
        let first = [(Issue, 2048), (Complete, 2048), (Issue, 2056), (Complete, 2056)];
        assert_eq!(taken(&part("loop8p1", "259:0\n", "2048\n"), DISK), first);
        let second = [(Issue, 4096), (Complete, 4096)];
        assert_eq!(taken(&part("loop8p2", "259:1\n", "4096\n"), DISK), second, "the flush has no sector");
        let of_disk = [(Issue, 0), (Complete, 0), (Complete, 0), (Issue, 0), (Complete, 0)];
        let all = [first.as_slice(), &second, &of_disk].concat();
        assert_eq!(taken(&Target::of(disk).unwrap(), DISK), all);
    }

    /// In the form that Linux documents: an array 9:0 of the disks 8:0 and 8:16, with a partition from 2048 on.
    const ARRAY: &str = include_str!("samples/array.txt");

    #[test]
    fn an_array_gets_what_was_sent_to_it_and_not_what_it_sends_on() {
        use Kind::{BioComplete, BioQueue};
        let dir = tempfile::tempdir().unwrap();
        let array = Target::of(sysfs(dir.path(), "md0", &[("dev", "9:0\n")])).unwrap();
        let to_partition = [(BioQueue, 2048), (BioComplete, 2048)];
        assert_eq!(taken(&array, ARRAY), [[(BioQueue, 64), (BioComplete, 64)], to_partition].concat());
        let files = [("dev", "259:5\n"), ("partition", "1\n"), ("start", "2048\n"), ("size", "1000\n")];
        let part = Target::of(sysfs(dir.path(), "md0/md0p1", &files)).unwrap();
        assert_eq!(taken(&part, ARRAY), to_partition);
    }

    #[test]
    fn a_device_that_passes_requests_on_is_heard_at_its_entrance() {
        let dir = tempfile::tempdir().unwrap();
        let array = Target::of(sysfs(dir.path(), "md0", &[("dev", "9:0\n")])).unwrap();
        assert_eq!(array.kinds(), [Kind::BioQueue, Kind::BioComplete]);
    }

    #[test]
    fn what_is_no_block_device_is_told() {
        assert!(matches!(Target::find(Path::new("/dev/null")), Err(TargetError::NotABlockDevice(_))));
        for none in ["manometer-none", "/dev/manometer-none", "..", "/dev/", "/nowhere/sda"] {
            let found = Target::find(Path::new(none));
            assert!(matches!(found, Err(TargetError::NotThere { .. } | TargetError::NotABlockDevice(_))), "{none}");
        }
    }

    #[test]
    fn a_name_of_the_kernel_will_do() {
        let Some(name) = fs::read_dir("/sys/class/block").ok().and_then(|mut all| all.next()?.ok()) else {
            skip(Cause::BlockDevice, "this host shows none");
            return;
        };
        let name = name.file_name();
        let found =
            [Path::new(&name).to_owned(), Path::new("/dev").join(&name)].map(|path| Target::find(&path).unwrap());
        assert_eq!(Path::new(&found[0].device.name), Path::new(&name));
        assert_eq!(found[0], found[1]);
    }
}
