//! The properties and the users of a disk, read before its contents are destroyed.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use manometer_measure::host::BlockDevice;
use procfs::process::Process;
use rustix::fs::OFlags;

use super::EraseError;

/// Exit statuses of `blkid --probe`: it found nothing, or several signatures.
const NOTHING_FOUND: i32 = 2;
const SEVERAL_FOUND: i32 = 8;

/// What is read at either end of a disk to see whether it holds data.
const EDGE_BYTES: u64 = 1 << 20;

/// The properties and the users of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiskFacts {
    /// Whether it is a partition.
    pub is_partition: bool,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Its size.
    pub size_bytes: u64,
    /// Its partitions, by the kernel.
    pub partitions: Vec<String>,
    /// Where it or one of its partitions is mounted.
    pub mounted_at: Vec<String>,
    /// Devices on top of it or of its partitions: LVM, md, dm-crypt.
    pub holders: Vec<String>,
    /// Why it cannot be opened exclusively.
    pub busy: Option<String>,
    /// Its signature: a file system or a partition table.
    pub signature: Option<String>,
    /// Whether its first or last MiB holds anything but zeros.
    pub edges_hold_data: bool,
    /// Whether it can discard.
    pub discards: bool,
}

impl DiskFacts {
    /// Reads the facts of `path`.
    ///
    /// # Errors
    /// It is not a block device, or cannot be read.
    pub fn read(path: &Path) -> Result<Self, EraseError> {
        let at = |source| EraseError::Io { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(at)?;
        if !metadata.file_type().is_block_device() {
            return Err(EraseError::NotABlockDevice(path.to_owned()));
        }
        let number = metadata.rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let device = BlockDevice::at(Path::new(&format!("/sys/dev/block/{major}:{minor}")))
            .ok_or_else(|| at(io::Error::other("it does not exist below /sys/dev/block")))?;
        let parts = partitions(&device);
        let whole: Vec<&BlockDevice> = std::iter::once(&device).chain(&parts).collect();
        Ok(Self {
            is_partition: device.sysfs.join("partition").exists(),
            read_only: device.attribute("ro").as_deref() == Some("1"),
            size_bytes: device.attribute("size").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * 512,
            partitions: parts.iter().map(|part| part.name.clone()).collect(),
            mounted_at: mounts(&whole).map_err(|error| at(io::Error::other(error)))?,
            holders: whole.iter().flat_map(|device| names(&device.sysfs.join("holders"))).collect(),
            busy: open_exclusively(path),
            signature: signature(path)?,
            edges_hold_data: edges_hold_data(path).map_err(at)?,
            discards: device.attribute("queue/discard_max_bytes").is_some_and(|bytes| bytes != "0"),
        })
    }
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect()
}

fn partitions(device: &BlockDevice) -> Vec<BlockDevice> {
    let folders = names(&device.sysfs).into_iter().map(|name| device.sysfs.join(name));
    folders.filter(|folder| folder.join("partition").exists()).filter_map(|folder| BlockDevice::at(&folder)).collect()
}

/// Where any of `devices` is mounted, or used for swapping.
fn mounts(devices: &[&BlockDevice]) -> procfs::ProcResult<Vec<String>> {
    let numbers: Vec<String> = devices.iter().map(|device| format!("{}:{}", device.major, device.minor)).collect();
    let mounts = Process::myself()?.mountinfo()?.0;
    let ours = mounts.into_iter().filter(|mount| {
        let source = mount.mount_source.as_deref().and_then(|source| source.strip_prefix("/dev/"));
        numbers.contains(&mount.majmin) || devices.iter().any(|device| source == Some(device.name.as_str()))
    });
    let mut places: Vec<String> = ours.map(|mount| mount.mount_point.display().to_string()).collect();
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swap = |line: &str| {
        line.split_ascii_whitespace().next().and_then(|path| path.strip_prefix("/dev/")).map(str::to_owned)
    };
    let swaps = swaps.lines().filter_map(swap).filter(|name| devices.iter().any(|device| device.name == *name));
    places.extend(swaps.map(|name| format!("swap on {name}")));
    Ok(places)
}

/// The error of opening the device exclusively, where that fails.
#[expect(clippy::disallowed_methods, reason = "a device, which is not written to")]
fn open_exclusively(path: &Path) -> Option<String> {
    let exclusive = i32::try_from(OFlags::EXCL.bits()).unwrap_or_default();
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(exclusive)
        .open(path)
        .err()
        .map(|error| error.to_string())
}

fn edges_hold_data(path: &Path) -> io::Result<bool> {
    let mut disk = fs::File::open(path)?;
    let end = disk.seek(SeekFrom::End(0))?;
    let mut holds = |begin: u64| -> io::Result<bool> {
        let mut edge = Vec::new();
        disk.seek(SeekFrom::Start(begin))?;
        disk.by_ref().take(EDGE_BYTES).read_to_end(&mut edge)?;
        Ok(edge.iter().any(|byte| *byte != 0))
    };
    Ok(holds(0)? || holds(end.saturating_sub(EDGE_BYTES))?)
}

/// The signature that `blkid` finds on the device itself, not in its cache.
fn signature(path: &Path) -> Result<Option<String>, EraseError> {
    let ran = Command::new("blkid").args(["--probe", "--output", "export"]).arg(path).stdin(Stdio::null()).output();
    let output = ran.map_err(|source| EraseError::Program { program: "blkid", text: source.to_string() })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.code() {
        Some(NOTHING_FOUND) => Ok(None),
        Some(SEVERAL_FOUND) => Ok(Some("several signatures".to_owned())),
        Some(0) => Ok(Some(signature_name(&text))),
        _ => Err(EraseError::Program {
            program: "blkid",
            text: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

/// The name of the signature in the output of `blkid --output export`.
fn signature_name(text: &str) -> String {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match (value("TYPE"), value("PTTYPE")) {
        (Some(kind), _) => kind.to_owned(),
        (None, Some(table)) => format!("a partition table ({table})"),
        (None, None) => "an unknown signature".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_parsed() {
        assert_eq!(
            signature_name("DEVNAME=/dev/sdb\nUUID=1\nVERSION=1.0\nBLOCK_SIZE=4096\nTYPE=ext4\nUSAGE=filesystem\n"),
            "ext4"
        );
        assert_eq!(signature_name("DEVNAME=/dev/sdb\nTYPE=LVM2_member\nUSAGE=raid\n"), "LVM2_member");
        assert_eq!(signature_name("DEVNAME=/dev/sdb\nPTUUID=1\nPTTYPE=gpt\n"), "a partition table (gpt)");
    }

    #[test]
    fn only_block_devices_are_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "precious").unwrap();
        for path in [file.as_path(), Path::new("/dev/null"), dir.path()] {
            assert!(matches!(DiskFacts::read(path), Err(EraseError::NotABlockDevice(_))), "{}", path.display());
        }
        assert!(matches!(DiskFacts::read(Path::new("/dev/not-there")), Err(EraseError::Io { .. })));
    }
}
