//! `environment.json`: the host as it was when the run began.

use std::fs;
use std::path::Path;

use procfs::{CpuInfo, Current as _, Meminfo};
use rustix::fs::StatVfs;
use serde_json::{Value, json};

use super::chain::chain;
use super::device::{Device, device_of};
use super::{disks, virtual_disk};

/// File systems that are made of memory: they accept direct I/O and say nothing about a device.
const MEMORY_FILE_SYSTEMS: [&str; 2] = ["tmpfs", "ramfs"];

/// File systems whose device is another host's, if it is one.
const NETWORK_FILE_SYSTEMS: [&str; 17] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "orangefs",
    "pvfs2",
    "s3fs",
    "smb3",
    "smbfs",
    "sshfs",
    "virtiofs",
];

/// File systems that are made of others.
const LAYERED_FILE_SYSTEMS: [&str; 4] = ["aufs", "fuse-overlayfs", "overlay", "unionfs"];

/// What a file system keeps its data on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// A block device of this host, as far as its type tells.
    Device,
    /// Memory.
    Memory,
    /// Another host, or the host of this virtual machine.
    Network,
    /// Other file systems.
    Layered,
}

impl Backing {
    /// What that is, for people.
    pub fn what(self) -> &'static str {
        match self {
            Self::Device => "a device",
            Self::Memory => "memory, not a device",
            Self::Network => "a network file system, whose device is on another host",
            Self::Layered => "an overlay of other file systems, which shows no device",
        }
    }
}

/// What a file system of type `fs_type` keeps its data on.
pub fn backing(fs_type: &str) -> Backing {
    let fs_type = fs_type.strip_prefix("fuse.").unwrap_or(fs_type);
    let known = [
        (MEMORY_FILE_SYSTEMS.as_slice(), Backing::Memory),
        (NETWORK_FILE_SYSTEMS.as_slice(), Backing::Network),
        (LAYERED_FILE_SYSTEMS.as_slice(), Backing::Layered),
    ];
    known.into_iter().find(|(types, _)| types.contains(&fs_type)).map_or(Backing::Device, |(_, backing)| backing)
}

/// What a reader must know of the host to trust a number measured in `dir`. What the host does not
/// tell is null.
pub fn describe(dir: &Path) -> Value {
    let device = device_of(dir);
    json!({
        "manometer": env!("CARGO_PKG_VERSION"),
        "host": host(),
        "directory": fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()),
        "file_system": mount_of(dir).map(|mount| json!({
            "type": mount.fs_type,
            "source": mount.source,
            "mounted_at": mount.mounted_at,
            "options": mount.options,
            "block_size_bytes": block_size_bytes(dir),
            "size_bytes": size_bytes(dir),
            "free_bytes": free_bytes(dir),
        })),
        "device": device.as_ref().map(describe_device),
    })
}

fn host() -> Value {
    let uname = rustix::system::uname();
    let cpu = CpuInfo::current().ok();
    let os = fs::read_to_string("/etc/os-release").ok();
    let name = os.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")));
    let virtual_machine = cpu.as_ref().is_some_and(|cpu| {
        cpu.get_info(0).and_then(|fields| fields.get("flags").map(|flags| flags.contains("hypervisor"))) == Some(true)
    });
    json!({
        "name": uname.nodename().to_string_lossy(),
        "system": name.map(|name| name.trim_matches('"')),
        "kernel": uname.release().to_string_lossy(),
        "cpu": cpu.as_ref().and_then(|cpu| cpu.model_name(0).map(str::to_owned)),
        "cores": cpu.as_ref().map(CpuInfo::num_cores),
        "memory_bytes": memory_bytes(),
        "virtual_machine": virtual_machine,
    })
}

fn describe_device(device: &Device) -> Value {
    let number = |name: &str| device.attribute(name).and_then(|text| text.parse::<u64>().ok());
    let start_bytes = number("start").map(|sectors| sectors * 512);
    let chain = chain(device);
    let disks = disks::of(&chain);
    let makers: Vec<&str> = chain.iter().filter_map(|layer| virtual_disk::maker_of(&layer.device.sysfs)).collect();
    json!({
        "name": device.name,
        "model": disks::together(&disks, |disk| disk.model.as_ref()),
        "firmware": disks::together(&disks, |disk| disk.firmware.as_ref()),
        "size_bytes": number("size").map(|sectors| sectors * 512),
        "rotational": number("queue/rotational").map(|flag| flag == 1),
        "scheduler": disks::together(&disks, |disk| disk.scheduler.as_ref()),
        "logical_block_bytes": number("queue/logical_block_size"),
        "physical_block_bytes": number("queue/physical_block_size"),
        "optimal_io_bytes": number("queue/optimal_io_size"),
        "queue_requests": number("queue/nr_requests"),
        "write_cache": device.attribute("queue/write_cache"),
        "partition_start_bytes": start_bytes,
        "aligned_to_4_kib": start_bytes.map(|start| start % 4096 == 0),
        "chain": chain,
        "disks": disks,
        "virtual": !makers.is_empty(),
        "virtual_by": makers.first(),
    })
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its type, such as `ext4`.
    pub fs_type: String,
    /// What is mounted.
    pub source: Option<String>,
    /// Where.
    pub mounted_at: std::path::PathBuf,
    /// The options in force.
    pub options: Vec<String>,
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

/// The host's memory in bytes.
pub fn memory_bytes() -> Option<u64> {
    Meminfo::current().ok().map(|memory| memory.mem_total)
}

/// Whether `dir` lies on a file system made of memory.
pub fn is_memory(dir: &Path) -> bool {
    backing_of(dir) == Some(Backing::Memory)
}

/// What the file system that holds `dir` keeps its data on; nothing where its mount is not found.
pub fn backing_of(dir: &Path) -> Option<Backing> {
    mount_of(dir).map(|mount| backing(&mount.fs_type))
}

/// The bytes that can still be written below `dir` by this user.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    statvfs(dir).map(|stat| stat.f_bavail * stat.f_frsize)
}

/// The size of the file system that holds `dir`.
pub fn size_bytes(dir: &Path) -> Option<u64> {
    statvfs(dir).map(|stat| stat.f_blocks * stat.f_frsize)
}

/// The file system's block in bytes: what it allocates by, not what it prefers to be asked for at once.
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
    use super::*;

    #[test]
    fn the_environment_names_what_a_reader_asks_first() {
        let environment = describe(Path::new("."));
        assert!(environment["host"]["kernel"].is_string());
        assert!(environment["host"]["cores"].as_u64().unwrap() > 0);
        assert!(environment["file_system"]["type"].is_string());
        assert!(environment["file_system"]["free_bytes"].is_u64());
    }

    #[test]
    fn memory_is_told_from_a_disk() {
        let shm = Path::new("/dev/shm");
        if mount_of(shm).is_none_or(|mount| mount.fs_type != "tmpfs") {
            println!("skipped: no tmpfs at /dev/shm");
            return;
        }
        assert!(is_memory(&shm.join("not/there/yet")));
    }

    #[test]
    fn file_systems_without_a_device_of_this_host_are_known() {
        for (fs_type, expected) in [
            ("nfs4", Backing::Network),
            ("fuse.sshfs", Backing::Network),
            ("virtiofs", Backing::Network),
            ("overlay", Backing::Layered),
            ("fuse.fuse-overlayfs", Backing::Layered),
            ("ramfs", Backing::Memory),
            ("ext4", Backing::Device),
            ("fuseblk", Backing::Device),
        ] {
            assert_eq!(backing(fs_type), expected, "{fs_type}");
        }
    }
}
