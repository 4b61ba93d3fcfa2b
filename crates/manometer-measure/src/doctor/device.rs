//! The disks: model, I/O scheduler and block sizes.

use std::fs;

use super::{Check, CheckStatus, Layer, Nvme};
use crate::host::virtual_disk;
use crate::human;

const WHY_DEVICE: &str = "hard disks and flash have different bottlenecks";
const WHY_VIRTUAL: &str = "the host's caches, limits and neighbours hide the flash";
const WHY_SCHEDULER: &str = "orders, merges and delays requests";
const WHY_BLOCKS: &str = "a write of a partial block reads the block first";

/// The facts about a disk for the checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckedDisk {
    /// Its name in the kernel.
    pub name: String,
    /// Its model.
    pub model: Option<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Whether it is a hard disk.
    pub rotational: Option<bool>,
    /// The hypervisor, if it is a virtual disk.
    pub virtual_by: Option<&'static str>,
    /// The I/O schedulers, the current one in brackets.
    pub scheduler: Option<String>,
    /// The smallest request.
    pub logical_block_bytes: Option<u64>,
    /// The smallest write that needs no read first.
    pub physical_block_bytes: Option<u64>,
    /// The preferred request size of the device; 0 if it has none.
    pub optimal_io_bytes: Option<u64>,
    /// Facts of an NVMe disk.
    pub nvme: Option<Nvme>,
}

impl CheckedDisk {
    pub(super) fn read(layer: &Layer) -> Self {
        let text = |file: &str| Some(fs::read_to_string(layer.sysfs.join(file)).ok()?.trim().to_owned());
        let number = |file: &str| text(file)?.parse::<u64>().ok();
        Self {
            name: layer.name.clone(),
            model: text("device/model"),
            size_bytes: number("size").map(|sectors| sectors * 512),
            rotational: number("queue/rotational").map(|flag| flag == 1),
            virtual_by: virtual_disk::hypervisor_of(&layer.sysfs),
            scheduler: text("queue/scheduler"),
            logical_block_bytes: number("queue/logical_block_size"),
            physical_block_bytes: number("queue/physical_block_size"),
            optimal_io_bytes: number("queue/optimal_io_size"),
            nvme: Nvme::read(&layer.name, &layer.sysfs),
        }
    }

    fn description(&self) -> String {
        let model = self.model.as_deref().unwrap_or("model unknown");
        let size = self.size_bytes.map_or_else(|| "size unknown".to_owned(), human::bytes);
        let rotational = match self.rotational {
            Some(true) => "rotational",
            Some(false) => "not rotational",
            None => "rotational unknown",
        };
        format!("{}: {model}, {size}, {rotational}", self.name)
    }

    /// The current scheduler.
    fn current_scheduler(&self) -> Option<&str> {
        let text = self.scheduler.as_deref()?;
        let current = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        current.or((text == "none").then_some("none"))
    }
}

/// The NVMe disks among `disks`, with their names.
pub(super) fn nvme_disks(disks: &[CheckedDisk]) -> Vec<(&str, &Nvme)> {
    disks.iter().filter_map(|disk| Some((disk.name.as_str(), disk.nvme.as_ref()?))).collect()
}

pub(super) fn checks(disks: &[CheckedDisk]) -> Vec<Check> {
    if disks.is_empty() {
        let none = |id, why| Check::new(id, CheckStatus::Missing, "no disk is visible below the directory", why);
        let all = [
            ("device", WHY_DEVICE),
            ("virtual-disk", WHY_VIRTUAL),
            ("scheduler", WHY_SCHEDULER),
            ("block-size", WHY_BLOCKS),
        ];
        return all.map(|(id, why)| none(id, why)).to_vec();
    }
    vec![device(disks), virtual_disk(disks), scheduler(disks), block_size(disks)]
}

fn device(disks: &[CheckedDisk]) -> Check {
    let texts: Vec<String> = disks.iter().map(CheckedDisk::description).collect();
    let claims_to_rotate = disks.iter().any(|disk| disk.virtual_by.is_some() && disk.rotational == Some(true));
    if claims_to_rotate {
        let text = format!("{}, as the virtual disk claims", texts.join("; "));
        let remedy = disks.iter().map(|disk| format!("echo 0 > /sys/block/{}/queue/rotational", disk.name));
        return Check::new("device", CheckStatus::Limited, text, WHY_DEVICE)
            .remedy(remedy.collect::<Vec<_>>().join("; "));
    }
    Check::new("device", CheckStatus::Ok, texts.join("; "), WHY_DEVICE)
}

fn virtual_disk(disks: &[CheckedDisk]) -> Check {
    let describe = |disk: &CheckedDisk| Some(format!("{} is a virtual disk ({})", disk.name, disk.virtual_by?));
    let texts: Vec<String> = disks.iter().filter_map(describe).collect();
    if texts.is_empty() {
        return Check::new("virtual-disk", CheckStatus::Ok, "no sign of a virtual disk", WHY_VIRTUAL);
    }
    let text = format!("{}: effects of flash cannot be separated from the hypervisor's", texts.join("; "));
    Check::new("virtual-disk", CheckStatus::Limited, text, WHY_VIRTUAL)
        .remedy("use bare metal, or pass the disk through")
}

fn scheduler(disks: &[CheckedDisk]) -> Check {
    let shown = |disk: &CheckedDisk| match &disk.scheduler {
        Some(text) => format!("{}: {text}", disk.name),
        None => format!("{}: unknown", disk.name),
    };
    let text = disks.iter().map(shown).collect::<Vec<_>>().join("; ");
    let known: Vec<Option<&str>> = disks.iter().map(CheckedDisk::current_scheduler).collect();
    let differ = known.windows(2).any(|two| two[0] != two[1]);
    let (status, text) = match known.iter().any(Option::is_none) {
        true => (CheckStatus::Missing, text),
        false if differ => (CheckStatus::Limited, format!("{text}: they differ")),
        false => (CheckStatus::Ok, text),
    };
    let commands = disks.iter().map(|disk| format!("echo none > /sys/block/{}/queue/scheduler", disk.name));
    Check::new("scheduler", status, text, WHY_SCHEDULER).remedy(commands.collect::<Vec<_>>().join("; "))
}

fn block_size(disks: &[CheckedDisk]) -> Check {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), human::bytes);
    let one = |disk: &CheckedDisk| {
        let optimal = match disk.optimal_io_bytes {
            Some(0) | None => "unknown".to_owned(),
            Some(bytes) => human::bytes(bytes),
        };
        let (logical, physical) = (bytes(disk.logical_block_bytes), bytes(disk.physical_block_bytes));
        format!("{}: logical {logical}, physical {physical}, optimal I/O {optimal}", disk.name)
    };
    let text = disks.iter().map(one).collect::<Vec<_>>().join("; ");
    let known = disks.iter().all(|disk| disk.logical_block_bytes.is_some() && disk.physical_block_bytes.is_some());
    Check::new("block-size", if known { CheckStatus::Ok } else { CheckStatus::Missing }, text, WHY_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    fn find(disks: &[CheckedDisk], id: &str) -> Check {
        checks(disks).into_iter().find(|check| check.id == id).unwrap()
    }

    #[test]
    fn a_physical_flash_disk_is_ok() {
        let disks = recorded::nvme().disks;
        assert_eq!(find(&disks, "virtual-disk").status, CheckStatus::Ok);
        let device = find(&disks, "device");
        assert_eq!(device.text, "nvme0n1: Samsung SSD 980 PRO 1TB, 932 GiB, not rotational");
        assert_eq!(find(&disks, "scheduler").text, "nvme0n1: [none] mq-deadline");
        assert_eq!(find(&disks, "block-size").text, "nvme0n1: logical 512 B, physical 512 B, optimal I/O unknown");
    }

    #[test]
    fn a_virtual_disk_that_claims_to_rotate_is_limited() {
        let disks = recorded::virtual_machine().disks;
        let check = find(&disks, "virtual-disk");
        assert_eq!(check.status, CheckStatus::Limited);
        assert!(check.text.starts_with("vda is a virtual disk (virtio)"), "{}", check.text);
        let device = find(&disks, "device");
        assert_eq!(
            (device.status, device.remedy.as_str()),
            (CheckStatus::Limited, "echo 0 > /sys/block/vda/queue/rotational")
        );
    }

    #[test]
    fn disks_of_an_array_must_have_the_same_scheduler() {
        let mut disks = recorded::array().disks;
        assert_eq!(find(&disks, "scheduler").status, CheckStatus::Ok);
        disks[1].scheduler = Some("none mq-deadline [bfq]".to_owned());
        let check = find(&disks, "scheduler");
        assert_eq!(check.status, CheckStatus::Limited);
        assert!(check.remedy.contains("sda") && check.remedy.contains("sdb"), "{}", check.remedy);
        disks[1].scheduler = None;
        assert_eq!(find(&disks, "scheduler").status, CheckStatus::Missing);
    }

    #[test]
    fn a_hard_disk_is_ok() {
        let disks = recorded::hard_disk().disks;
        assert!(find(&disks, "device").text.ends_with("rotational"));
        assert_eq!(find(&disks, "device").status, CheckStatus::Ok);
    }

    #[test]
    fn no_disk_is_a_gap_in_each_check() {
        assert!(checks(&[]).iter().all(|check| check.status == CheckStatus::Missing));
        assert_eq!(checks(&[]).len(), checks(&recorded::nvme().disks).len());
    }
}
