//! Mounted file systems: the one that holds a directory, where it stores its data, and its free space.

use std::fs;
use std::path::Path;

use rustix::fs::StatVfs;

/// File systems in memory: they accept direct I/O and have no device.
const MEMORY_FILE_SYSTEMS: [&str; 2] = ["tmpfs", "ramfs"];

/// File systems whose data are on another host.
const NETWORK_FILE_SYSTEMS: [&str; 32] = [
    "9p",
    "afs",
    "beegfs",
    "blobfuse",
    "blobfuse2",
    "ceph",
    "ceph-fuse",
    "cifs",
    "curlftpfs",
    "davfs",
    "gcsfuse",
    "glusterfs",
    "goofys",
    "gpfs",
    "gvfsd-fuse",
    "juicefs",
    "lustre",
    "mfs",
    "mount-s3",
    "mountpoint-s3",
    "nfs",
    "nfs4",
    "orangefs",
    "pvfs2",
    "rclone",
    "s3fs",
    "seaweedfs",
    "smb3",
    "smbfs",
    "smbnetfs",
    "sshfs",
    "virtiofs",
];

/// File systems that combine others.
const LAYERED_FILE_SYSTEMS: [&str; 6] = ["aufs", "fuse-overlayfs", "mergerfs", "overlay", "unionfs", "unionfs-fuse"];

/// Where a file system stores its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// A block device of this host, as far as its type shows.
    Device,
    /// Memory.
    Memory,
    /// Another host, or the host of this virtual machine.
    Network,
    /// Other file systems.
    Layered,
    /// A program of this host (FUSE).
    Program,
}

impl Backing {
    /// Its description, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::Device => "a device",
            Self::Memory => "memory, not a device",
            Self::Network => "a network file system, whose device is on another host",
            Self::Layered => "an overlay of other file systems, which shows no device",
            Self::Program => "a file system of a program (FUSE), which shows no device",
        }
    }
}

/// Where a file system of type `fs_type`, mounted from `source`, stores its data.
pub fn backing(fs_type: &str, source: Option<&str>) -> Backing {
    let program = fs_type.strip_prefix("fuse.");
    // A program that gives its file system no type may be known by its source.
    let name = program.or(source.filter(|_| fs_type == "fuse")).unwrap_or(fs_type);
    let known = [
        (MEMORY_FILE_SYSTEMS.as_slice(), Backing::Memory),
        (NETWORK_FILE_SYSTEMS.as_slice(), Backing::Network),
        (LAYERED_FILE_SYSTEMS.as_slice(), Backing::Layered),
    ];
    if let Some((_, backing)) = known.into_iter().find(|(types, _)| types.contains(&name)) {
        return backing;
    }
    match source {
        _ if program.is_none() && fs_type != "fuse" => Backing::Device,
        // All FUSE file systems are mounted through this device.
        Some("/dev/fuse") | None => Backing::Program,
        Some(source) if source.starts_with("/dev/") => Backing::Device,
        Some(source) if is_remote(source) => Backing::Network,
        Some(_) => Backing::Program,
    }
}

/// Whether a source names another host: `host:path`, `//host/share`, `scheme://…`.
fn is_remote(source: &str) -> bool {
    let first = source.split('/').next().unwrap_or_default();
    source.starts_with("//") || first.contains(':')
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its type, such as `ext4`.
    pub fs_type: String,
    /// What is mounted: a device, or the name of a share.
    pub source: Option<String>,
    /// Its mount point.
    pub mounted_at: std::path::PathBuf,
    /// Its mount options.
    pub options: Vec<String>,
}

impl Mount {
    /// Where it stores its data.
    pub fn backing(&self) -> Backing {
        backing(&self.fs_type, self.source.as_deref())
    }
}

/// The mount that holds `dir`, or its nearest parent that exists.
pub fn mount_of(dir: &Path) -> Option<Mount> {
    let existing = existing_ancestor(dir)?;
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?.0;
    let holds = mounts.into_iter().filter(|mount| existing.starts_with(&mount.mount_point));
    // The last of the deepest: a later mount on the same point hides the earlier one.
    let mount = holds.max_by_key(|mount| (mount.mount_point.as_os_str().len(), mount.mnt_id))?;
    let both = mount.mount_options.into_iter().chain(mount.super_options);
    let mut options: Vec<String> =
        both.map(|(name, value)| value.map_or(name.clone(), |value| format!("{name}={value}"))).collect();
    options.sort();
    options.dedup();
    Some(Mount { fs_type: mount.fs_type, source: mount.mount_source, mounted_at: mount.mount_point, options })
}

/// Whether `dir` is on a file system in memory.
pub fn is_memory(dir: &Path) -> bool {
    backing_of(dir) == Some(Backing::Memory)
}

/// Where the file system that holds `dir` stores its data; `None` if its mount is not found.
pub fn backing_of(dir: &Path) -> Option<Backing> {
    mount_of(dir).map(|mount| mount.backing())
}

/// The bytes that can still be written below `dir` by this user.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    statvfs(dir).map(|stat| stat.f_bavail * stat.f_frsize)
}

/// The size of the file system that holds `dir`.
pub fn size_bytes(dir: &Path) -> Option<u64> {
    statvfs(dir).map(|stat| stat.f_blocks * stat.f_frsize)
}

/// The allocation unit of the file system in bytes, not its preferred I/O size.
pub fn block_size_bytes(dir: &Path) -> Option<u64> {
    statvfs(dir).map(|stat| stat.f_frsize)
}

pub(super) fn statvfs(dir: &Path) -> Option<StatVfs> {
    rustix::fs::statvfs(&existing_ancestor(dir)?).ok()
}

fn existing_ancestor(dir: &Path) -> Option<std::path::PathBuf> {
    let absolute = std::path::absolute(dir).ok()?;
    absolute.ancestors().find_map(|dir| fs::canonicalize(dir).ok())
}

#[cfg(test)]
mod tests {
    use manometer_testing::memory_file_system;

    use super::*;

    #[test]
    fn a_file_system_in_memory_is_recognised() {
        let Some(shm) = memory_file_system() else { return };
        assert!(is_memory(&shm.join("not/there/yet")));
    }

    #[test]
    fn file_systems_without_a_device_of_this_host_are_known() {
        for (fs_type, source, expected) in [
            ("nfs4", "server:/export", Backing::Network),
            ("fuse.sshfs", "me@server:", Backing::Network),
            ("fuse.glusterfs", "server:/volume", Backing::Network),
            ("fuse.s3fs", "s3fs", Backing::Network),
            ("fuse", "mountpoint-s3", Backing::Network),
            ("virtiofs", "share", Backing::Network),
            ("overlay", "overlay", Backing::Layered),
            ("fuse.fuse-overlayfs", "fuse-overlayfs", Backing::Layered),
            ("fuse.mergerfs", "one:two", Backing::Layered),
            ("ramfs", "none", Backing::Memory),
            ("ext4", "/dev/sda1", Backing::Device),
            ("zfs", "pool/data:old", Backing::Device),
            ("fuseblk", "/dev/sdb1", Backing::Device),
        ] {
            assert_eq!(backing(fs_type, Some(source)), expected, "{fs_type} {source}");
        }
    }

    #[test]
    fn an_unknown_program_is_classified_by_its_source() {
        for (source, expected) in [
            (Some("server:/export"), Backing::Network),
            (Some("me@server:data"), Backing::Network),
            (Some("//server/share"), Backing::Network),
            (Some("sftp://server/data"), Backing::Network),
            (Some("/dev/sda1"), Backing::Device),
            (Some("/home/me/secret"), Backing::Program),
            (Some("1/disk:2/disk"), Backing::Program),
            (Some("encfs"), Backing::Program),
            (Some("/dev/fuse"), Backing::Program),
            (None, Backing::Program),
        ] {
            for fs_type in ["fuse.newfs", "fuse"] {
                assert_eq!(backing(fs_type, source), expected, "{fs_type} {source:?}");
            }
        }
    }
}
