//! What a device is and who uses it, read before anything on it is destroyed.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use manometer_measure::host::Device;
use procfs::process::Process;
use rustix::fs::OFlags;

use super::EraseError;

/// What `blkid --probe` says by its exit status: that it found nothing, and that it found several things.
const NOTHING_FOUND: i32 = 2;
const SEVERAL_FOUND: i32 = 8;

/// What a device is and who uses it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Whether it is a part of a disk.
    pub is_partition: bool,
    /// Whether it may only be read.
    pub read_only: bool,
    /// Its size.
    pub size_bytes: u64,
    /// The partitions that the kernel knows on it.
    pub partitions: Vec<String>,
    /// Where it or a partition of it is mounted.
    pub mounted_at: Vec<String>,
    /// Devices that stand on it or a partition of it: LVM, md, dm-crypt.
    pub holders: Vec<String>,
    /// Why it cannot be had alone.
    pub held: Option<String>,
    /// What is on it: a file system, a table of partitions.
    pub signature: Option<String>,
}

impl Facts {
    /// Reads what there is to know of `path`.
    ///
    /// # Errors
    /// It is no block device, or cannot be looked into.
    pub fn read(path: &Path) -> Result<Self, EraseError> {
        let at = |source| EraseError::Io { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(at)?;
        if !metadata.file_type().is_block_device() {
            return Err(EraseError::NoDevice(path.to_owned()));
        }
        let number = metadata.rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let device = Device::at(Path::new(&format!("/sys/dev/block/{major}:{minor}")))
            .ok_or_else(|| at(io::Error::other("the kernel does not show it below /sys/dev/block")))?;
        let parts = partitions(&device);
        let whole: Vec<&Device> = std::iter::once(&device).chain(&parts).collect();
        Ok(Self {
            is_partition: device.sysfs.join("partition").exists(),
            read_only: device.attribute("ro").as_deref() == Some("1"),
            size_bytes: device.attribute("size").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * 512,
            partitions: parts.iter().map(|part| part.name.clone()).collect(),
            mounted_at: mounts(&whole).map_err(|error| at(io::Error::other(error)))?,
            holders: whole.iter().flat_map(|device| names(&device.sysfs.join("holders"))).collect(),
            held: held(path),
            signature: signature(path)?,
        })
    }
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect()
}

fn partitions(device: &Device) -> Vec<Device> {
    let folders = names(&device.sysfs).into_iter().map(|name| device.sysfs.join(name));
    folders.filter(|folder| folder.join("partition").exists()).filter_map(|folder| Device::at(&folder)).collect()
}

/// Where any of `devices` is mounted in our view, or is used to swap.
fn mounts(devices: &[&Device]) -> procfs::ProcResult<Vec<String>> {
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

/// Why the device cannot be opened for ourselves alone.
fn held(path: &Path) -> Option<String> {
    let alone = i32::try_from(OFlags::EXCL.bits()).unwrap_or_default();
    fs::OpenOptions::new().read(true).write(true).custom_flags(alone).open(path).err().map(|error| error.to_string())
}

/// What `blkid` finds on the device itself, not in any cache.
fn signature(path: &Path) -> Result<Option<String>, EraseError> {
    let ran = Command::new("blkid").args(["--probe", "--output", "export"]).arg(path).stdin(Stdio::null()).output();
    let output = ran.map_err(|source| EraseError::Program { program: "blkid", text: source.to_string() })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.code() {
        Some(NOTHING_FOUND) => Ok(None),
        Some(SEVERAL_FOUND) => Ok(Some("signatures of several kinds".to_owned())),
        Some(0) => Ok(Some(named(&text))),
        _ => Err(EraseError::Program {
            program: "blkid",
            text: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

/// What `blkid --output export` names.
fn named(text: &str) -> String {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match (value("TYPE"), value("PTTYPE")) {
        (Some(kind), _) => kind.to_owned(),
        (None, Some(table)) => format!("a table of partitions ({table})"),
        (None, None) => "something that blkid knows".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blkid_names_file_systems_members_and_tables() {
        assert_eq!(
            named("DEVNAME=/dev/sdb\nUUID=1\nVERSION=1.0\nBLOCK_SIZE=4096\nTYPE=ext4\nUSAGE=filesystem\n"),
            "ext4"
        );
        assert_eq!(named("DEVNAME=/dev/sdb\nTYPE=LVM2_member\nUSAGE=raid\n"), "LVM2_member");
        assert_eq!(named("DEVNAME=/dev/sdb\nPTUUID=1\nPTTYPE=gpt\n"), "a table of partitions (gpt)");
    }

    #[test]
    fn what_is_no_block_device_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "precious").unwrap();
        for path in [file.as_path(), Path::new("/dev/null"), dir.path()] {
            assert!(matches!(Facts::read(path), Err(EraseError::NoDevice(_))), "{}", path.display());
        }
        assert!(matches!(Facts::read(Path::new("/dev/not-there")), Err(EraseError::Io { .. })));
    }
}
