//! `environment.json`: the host at the start of a run.

use std::fs;
use std::path::Path;

use procfs::{CpuInfo, Current as _, Meminfo};
use serde_json::{Value, json};

use super::block_device::{BlockDevice, device_of};
use super::layers::layers_of;
use super::mount::{block_size_bytes, free_bytes, mount_of, size_bytes};
use super::{disks, virtual_disk};

/// The facts about the host that a reader needs to trust a number measured in `dir`. What the host does not show is null.
pub fn describe(dir: &Path) -> Value {
    let device = device_of(dir);
    json!({
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

fn describe_device(device: &BlockDevice) -> Value {
    let number = |name: &str| device.attribute(name).and_then(|text| text.parse::<u64>().ok());
    let start_bytes = number("start").map(|sectors| sectors * 512);
    let layers = layers_of(device);
    let disks = disks::of(&layers);
    let hypervisors: Vec<&str> =
        layers.iter().filter_map(|layer| virtual_disk::hypervisor_of(&layer.device.sysfs)).collect();
    json!({
        "name": device.name,
        "model": disks::distinct_values(&disks, |disk| disk.model.as_ref()),
        "firmware": disks::distinct_values(&disks, |disk| disk.firmware.as_ref()),
        "size_bytes": number("size").map(|sectors| sectors * 512),
        "rotational": number("queue/rotational").map(|flag| flag == 1),
        "scheduler": disks::distinct_values(&disks, |disk| disk.scheduler.as_ref()),
        "logical_block_bytes": number("queue/logical_block_size"),
        "physical_block_bytes": number("queue/physical_block_size"),
        "optimal_io_bytes": number("queue/optimal_io_size"),
        "queue_requests": number("queue/nr_requests"),
        "write_cache": device.attribute("queue/write_cache"),
        "partition_start_bytes": start_bytes,
        "aligned_to_4_kib": start_bytes.map(|start| start % 4096 == 0),
        "chain": layers,
        "disks": disks,
        "virtual": !hypervisors.is_empty(),
        "virtual_by": hypervisors.first(),
    })
}

/// The host's memory in bytes.
pub fn memory_bytes() -> Option<u64> {
    Meminfo::current().ok().map(|memory| memory.mem_total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_has_host_and_file_system() {
        let environment = describe(Path::new("."));
        assert!(environment["host"]["kernel"].is_string());
        assert!(environment["host"]["cores"].as_u64().unwrap() > 0);
        assert!(environment["file_system"]["type"].is_string());
        assert!(environment["file_system"]["free_bytes"].is_u64());
    }
}
