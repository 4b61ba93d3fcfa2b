//! The device to capture: a disk, a partition, or a device that passes requests on.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::line::{BlockEvent, EventKind};
use crate::host::{BlockDevice, device_of, layers_of};

/// A name that is not a block device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// There is no such file.
    #[error("{}: {source}: name a block device such as /dev/nvme0n1", path.display())]
    NotThere {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// It is not a block device.
    #[error("{} is not a block device: name one such as /dev/nvme0n1; `manometer doctor DIR` shows the device of a directory", .0.display())]
    NotABlockDevice(PathBuf),
    /// The kernel does not show it in sysfs.
    #[error("{} is not shown in sysfs", .0.display())]
    NotInSysfs(PathBuf),
}

/// A block device, as events identify it.
///
/// The events of a request have the numbers and sectors of the whole disk, also if it was sent to a partition. Requests that
/// an array or a mapping passes on to the devices below it have the numbers of those devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureTarget {
    /// The device.
    pub device: BlockDevice,
    /// The numbers in its events; for a partition those of its disk.
    disk: (u32, u32),
    /// Its sectors on that disk, first and one past the last; `None` for all.
    sectors: Option<(u64, u64)>,
    /// Whether it has a request queue; otherwise it passes requests on, like md and most of dm.
    queued: bool,
}

impl CaptureTarget {
    /// The block device `path`, or the one with that name in the kernel, also if it is not in `/dev`.
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
        let device = BlockDevice::at(Path::new(&format!("/sys/dev/block/{major}:{minor}")));
        device.and_then(Self::of).ok_or_else(|| TargetError::NotInSysfs(path.to_owned()))
    }

    fn of(device: BlockDevice) -> Option<Self> {
        let disk = BlockDevice::at(&device.disk_sysfs())?;
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

    /// The kinds of its events.
    pub(super) fn kinds(&self) -> &'static [EventKind] {
        if self.queued {
            &[EventKind::Issue, EventKind::Complete]
        } else {
            &[EventKind::BioQueue, EventKind::BioComplete]
        }
    }

    /// The kernel filter for its events.
    pub(super) fn filter(&self) -> String {
        let (major, minor) = self.disk;
        let number = u64::from(major) << 20 | u64::from(minor);
        match self.sectors {
            None => format!("dev == {number}"),
            Some((first, end)) => format!("dev == {number} && sector >= {first} && sector < {end}"),
        }
    }

    /// Whether `event` belongs to it.
    pub(super) fn has(&self, event: &BlockEvent) -> bool {
        let within = |(first, end): (u64, u64)| (first..end).contains(&event.sector);
        event.device == self.disk && self.sectors.is_none_or(within)
    }

    /// Whether the file `path` is on it, or on a device above it.
    pub fn holds(&self, path: &Path) -> bool {
        device_of(path).is_some_and(|device| layers_of(&device).iter().any(|layer| layer.device == self.device))
    }

    /// Whether it is a partition: flushes, which have no sector, are then not visible.
    pub fn is_partition(&self) -> bool {
        self.sectors.is_some()
    }
}

/// The device of a kernel name, or of a path in `/dev` that a container does not have.
fn by_name(path: &Path) -> Option<BlockDevice> {
    let name = path.strip_prefix("/dev").unwrap_or(path);
    let bare = name.components().count() == 1 && name.file_name().is_some();
    bare.then(|| BlockDevice::at(&Path::new("/sys/class/block").join(name)))?
}

#[cfg(test)]
pub(super) mod tests {
    use manometer_testing::{Cause, skip};

    use super::*;

    /// A whole disk of those numbers.
    pub fn disk(major: u32, minor: u32) -> CaptureTarget {
        let device = BlockDevice { major, minor, name: "disk".to_owned(), sysfs: PathBuf::from("/nowhere") };
        CaptureTarget { device, disk: (major, minor), sectors: None, queued: true }
    }

    fn sysfs(root: &Path, folder: &str, files: &[(&str, &str)]) -> BlockDevice {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        BlockDevice::at(&folder).unwrap()
    }

    #[test]
    fn a_partition_is_a_range_of_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let disk = sysfs(dir.path(), "nvme0n1", &[("dev", "259:0\n")]);
        fs::create_dir(dir.path().join("nvme0n1/mq")).unwrap();
        let files = [("dev", "259:1\n"), ("partition", "1\n"), ("start", "2048\n"), ("size", "1000\n")];
        let part = CaptureTarget::of(sysfs(dir.path(), "nvme0n1/nvme0n1p1", &files)).unwrap();
        assert_eq!(part.filter(), "dev == 271581184 && sector >= 2048 && sector < 3048");
        assert!(part.is_partition());
        let whole = CaptureTarget::of(disk).unwrap();
        assert_eq!(whole.filter(), "dev == 271581184");
        assert_eq!(whole.kinds(), [EventKind::Issue, EventKind::Complete]);
    }

    /// The events of `trace` that are the target's, among those of its kinds: what and where.
    fn taken(target: &CaptureTarget, trace: &str) -> Vec<(EventKind, u64)> {
        let events = trace.lines().filter_map(BlockEvent::parse);
        let taken = events.filter(|event| target.kinds().contains(&event.kind) && target.has(event));
        taken.map(|event| (event.kind, event.sector)).collect()
    }

    /// Recorded on Linux 6.18, of the disk 7:8 with partitions 259:0 and 259:1 of 2048 sectors from 2048 and 4096 on:
    /// writes to either, a flush, and a write to the disk itself; and a write to another disk.
    const DISK: &str = include_str!("samples/partitions.txt");

    #[test]
    fn a_partition_has_the_requests_in_its_sectors() {
        use EventKind::{Complete, Issue};
        let dir = tempfile::tempdir().unwrap();
        let disk = sysfs(dir.path(), "loop8", &[("dev", "7:8\n")]);
        fs::create_dir(dir.path().join("loop8/mq")).unwrap();
        let part = |name: &str, dev: &str, start: &str| {
            let files = [("dev", dev), ("partition", "1\n"), ("start", start), ("size", "2048\n")];
            CaptureTarget::of(sysfs(&dir.path().join("loop8"), name, &files)).unwrap()
        };
        let first = [(Issue, 2048), (Complete, 2048), (Issue, 2056), (Complete, 2056)];
        assert_eq!(taken(&part("loop8p1", "259:0\n", "2048\n"), DISK), first);
        let second = [(Issue, 4096), (Complete, 4096)];
        assert_eq!(taken(&part("loop8p2", "259:1\n", "4096\n"), DISK), second, "the flush has no sector");
        let of_disk = [(Issue, 0), (Complete, 0), (Complete, 0), (Issue, 0), (Complete, 0)];
        let all = [first.as_slice(), &second, &of_disk].concat();
        assert_eq!(taken(&CaptureTarget::of(disk).unwrap(), DISK), all);
    }

    /// In the form that Linux documents: an array 9:0 of the disks 8:0 and 8:16, with a partition from 2048 on.
    const ARRAY: &str = include_str!("samples/array.txt");

    #[test]
    fn an_array_has_the_requests_sent_to_it_and_not_those_it_passes_on() {
        use EventKind::{BioComplete, BioQueue};
        let dir = tempfile::tempdir().unwrap();
        let array = CaptureTarget::of(sysfs(dir.path(), "md0", &[("dev", "9:0\n")])).unwrap();
        let to_partition = [(BioQueue, 2048), (BioComplete, 2048)];
        assert_eq!(taken(&array, ARRAY), [[(BioQueue, 64), (BioComplete, 64)], to_partition].concat());
        let files = [("dev", "259:5\n"), ("partition", "1\n"), ("start", "2048\n"), ("size", "1000\n")];
        let part = CaptureTarget::of(sysfs(dir.path(), "md0/md0p1", &files)).unwrap();
        assert_eq!(taken(&part, ARRAY), to_partition);
    }

    #[test]
    fn a_device_that_passes_requests_on_is_captured_at_its_queue() {
        let dir = tempfile::tempdir().unwrap();
        let array = CaptureTarget::of(sysfs(dir.path(), "md0", &[("dev", "9:0\n")])).unwrap();
        assert_eq!(array.kinds(), [EventKind::BioQueue, EventKind::BioComplete]);
    }

    #[test]
    fn a_path_that_is_not_a_block_device_is_refused() {
        assert!(matches!(CaptureTarget::find(Path::new("/dev/null")), Err(TargetError::NotABlockDevice(_))));
        for none in ["manometer-none", "/dev/manometer-none", "..", "/dev/", "/nowhere/sda"] {
            let found = CaptureTarget::find(Path::new(none));
            assert!(matches!(found, Err(TargetError::NotThere { .. } | TargetError::NotABlockDevice(_))), "{none}");
        }
    }

    #[test]
    fn a_kernel_name_is_found() {
        let Some(name) = fs::read_dir("/sys/class/block").ok().and_then(|mut all| all.next()?.ok()) else {
            skip(Cause::BlockDevice, "this host shows none");
            return;
        };
        let name = name.file_name();
        let found = [Path::new(&name).to_owned(), Path::new("/dev").join(&name)]
            .map(|path| CaptureTarget::find(&path).unwrap());
        assert_eq!(Path::new(&found[0].device.name), Path::new(&name));
        assert_eq!(found[0], found[1]);
    }
}
