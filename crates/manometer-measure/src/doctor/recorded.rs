//! Recorded facts of hosts.

use std::path::PathBuf;

use super::*;
use crate::host::LayerKind;

fn layer(name: &str, kind: LayerKind, start_bytes: Option<u64>) -> Layer {
    let (sysfs, is_lowest) = (PathBuf::from("/sys/block").join(name), kind == LayerKind::Disk);
    Layer { name: name.to_owned(), kind, sysfs, start_bytes, is_lowest }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn options(all: &[&str]) -> Vec<String> {
    all.iter().map(|option| (*option).to_owned()).collect()
}

fn all_working() -> Interfaces {
    let works = || Ok("works".to_owned());
    Interfaces { direct_io: works(), libaio: works(), io_uring: works(), dsync: works() }
}

/// A server with one NVMe disk and a partition on it.
pub(super) fn nvme() -> Facts {
    let nvme = Nvme {
        hints: Hints { from: "sysfs", ..Hints::default() },
        latency_tolerances: vec![LatencyTolerance {
            file: "/sys/block/nvme0n1/device/power/pm_qos_latency_tolerance_us".into(),
            us: text("100000"),
        }],
    };
    let disk = CheckedDisk {
        name: "nvme0n1".to_owned(),
        model: text("Samsung SSD 980 PRO 1TB"),
        size_bytes: Some(1_000_204_886_016),
        rotational: Some(false),
        virtual_by: None,
        scheduler: text("[none] mq-deadline"),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(512),
        optimal_io_bytes: Some(0),
        nvme: Some(nvme),
    };
    Facts {
        file_system: FileSystem {
            fs_type: text("ext4"),
            source: text("/dev/nvme0n1p1"),
            mounted_at: "/data".into(),
            options: options(&["relatime", "rw"]),
            data: Some(DataMode::Mode("ordered".to_owned())),
            block_bytes: Some(4096),
            free_bytes: Some(900 << 30),
        },
        layers: vec![layer("nvme0n1p1", LayerKind::Partition, Some(1 << 20)), layer("nvme0n1", LayerKind::Disk, None)],
        disks: vec![disk],
        interfaces: all_working(),
        cgroups: Cgroups {
            v2: Some(Hierarchy {
                mounted_at: "/sys/fs/cgroup".into(),
                controllers: options(&["cpuset", "cpu", "io", "memory", "pids"]),
                writable: true,
            }),
            v1: Vec::new(),
        },
        containers: vec![ContainerProgram { name: "podman", answer: Answer::Version("4.3.1".to_owned()) }],
        cpu: Cpu {
            governors: ["powersave".to_owned()].into(),
            turbo: Some((true, "/sys/devices/system/cpu/intel_pstate/no_turbo")),
        },
        swap: Swap { total_bytes: Some(0), used_bytes: Some(0) },
        machine: Machine { hypervisor: false, product: text("Dell Inc. PowerEdge R650"), container: false },
        tools: Tools { smartctl: true, nvme: false, block_events: Ok(()) },
    }
}

fn sata(name: &str, model: &str, rotational: bool, physical_block_bytes: u64) -> CheckedDisk {
    CheckedDisk {
        name: name.to_owned(),
        model: text(model),
        size_bytes: Some(480_103_981_056),
        rotational: Some(rotational),
        scheduler: text("none [mq-deadline] kyber bfq"),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(physical_block_bytes),
        optimal_io_bytes: Some(0),
        ..CheckedDisk::default()
    }
}

/// An old desktop: one hard disk, partitioned in the days of 63 sectors.
pub(super) fn hard_disk() -> Facts {
    Facts {
        layers: vec![layer("sdc1", LayerKind::Partition, Some(63 * 512)), layer("sdc", LayerKind::Disk, None)],
        disks: vec![sata("sdc", "WDC WD10EZEX-08W", true, 4096)],
        ..nvme()
    }
}

/// A server with an encrypted volume on an array of two SATA flash disks.
pub(super) fn array() -> Facts {
    Facts {
        layers: vec![
            layer("dm-0", LayerKind::Dm, None),
            layer("md0", LayerKind::Md, None),
            layer("sda1", LayerKind::Partition, Some(1 << 20)),
            layer("sdb1", LayerKind::Partition, Some(1 << 20)),
            layer("sda", LayerKind::Disk, None),
            layer("sdb", LayerKind::Disk, None),
        ],
        disks: ["sda", "sdb"].map(|name| sata(name, "INTEL SSDSC2KB48", false, 4096)).to_vec(),
        ..nvme()
    }
}

/// A virtual machine on a virtio disk, with control groups of version 1.
pub(super) fn virtual_machine() -> Facts {
    let disk = CheckedDisk {
        name: "vda".to_owned(),
        model: None,
        size_bytes: Some(256 << 30),
        rotational: Some(true),
        virtual_by: Some("virtio"),
        scheduler: text("none [mq-deadline] kyber bfq"),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        optimal_io_bytes: Some(0),
        nvme: None,
    };
    let v1 = |name: &str| Hierarchy {
        mounted_at: PathBuf::from("/sys/fs/cgroup").join(name),
        controllers: options(&[name]),
        writable: true,
    };
    Facts {
        layers: vec![layer("vda", LayerKind::Disk, None)],
        disks: vec![disk],
        cgroups: Cgroups {
            v2: Some(Hierarchy {
                mounted_at: "/sys/fs/cgroup/unified".into(),
                controllers: options(&["hugetlb"]),
                writable: true,
            }),
            v1: vec![v1("cpu"), v1("blkio")],
        },
        cpu: Cpu::default(),
        machine: Machine { hypervisor: true, product: None, container: false },
        ..nvme()
    }
}

/// A directory on a file system of `fs_type` without a device of this host.
pub(super) fn without_device(fs_type: &str) -> Facts {
    let file_system = FileSystem { fs_type: text(fs_type), ..nvme().file_system };
    Facts { file_system, layers: Vec::new(), disks: Vec::new(), ..nvme() }
}

#[test]
fn every_host_has_the_same_checks_each_once() {
    let ids = |facts: &Facts| facts.checks().iter().map(|check| check.id).collect::<Vec<_>>();
    let all = [hard_disk(), array(), virtual_machine(), without_device("nfs4"), without_device("overlay")];
    for facts in &all {
        assert_eq!(ids(facts), ids(&nvme()));
    }
    let mut once = ids(&nvme());
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids(&nvme()).len());
}

#[test]
fn checks_of_the_device_are_missing_without_one() {
    let checks = without_device("overlay").checks();
    for id in ["file-system", "layers", "device", "virtual-disk", "scheduler", "block-size", "alignment"] {
        let check = checks.iter().find(|check| check.id == id).unwrap();
        assert_eq!(check.status, CheckStatus::Missing, "{id}");
    }
}

#[test]
fn this_host_can_be_read() {
    let facts = Facts::read(std::path::Path::new("."), Interfaces::untried("not tried"));
    assert_eq!(facts.checks().len(), nvme().checks().len());
}
