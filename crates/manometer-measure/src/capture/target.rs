//! What to capture: a disk, a part of one, or a device that passes requests on.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::line::Kind;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The device that was asked for.
    pub device: Device,
    /// The numbers that its events carry: a partition's are its disk's.
    numbers: (u32, u32),
    /// The sectors that are its own on that device, first and one behind the last; nothing for all.
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
        Some(Self { numbers: (disk.major, disk.minor), sectors, queued, device })
    }

    /// The events that tell of its requests.
    pub(super) fn kinds(&self) -> &'static [Kind] {
        if self.queued { &[Kind::Issue, Kind::Complete] } else { &[Kind::BioQueue, Kind::BioComplete] }
    }

    /// The kernel's filter that lets its events through, and no other's.
    pub(super) fn filter(&self) -> String {
        let (major, minor) = self.numbers;
        let number = u64::from(major) << 20 | u64::from(minor);
        match self.sectors {
            None => format!("dev == {number}"),
            Some((first, end)) => format!("dev == {number} && sector >= {first} && sector < {end}"),
        }
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
mod tests {
    use super::*;

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
            println!("skipped: this host shows no block device");
            return;
        };
        let name = name.file_name();
        let found =
            [Path::new(&name).to_owned(), Path::new("/dev").join(&name)].map(|path| Target::find(&path).unwrap());
        assert_eq!(Path::new(&found[0].device.name), Path::new(&name));
        assert_eq!(found[0], found[1]);
    }
}
