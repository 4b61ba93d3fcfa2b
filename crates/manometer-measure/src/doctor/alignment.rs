//! Whether partitions and the file system's blocks begin on whole 4 KiB.

use super::{Check, CheckStatus, FileSystem, Layer};
use crate::human;

const WHY: &str = "a request across two blocks costs two";

/// The block that flash and newer hard disks write at least.
const BLOCK_BYTES: u64 = 4096;

pub(super) fn check(layers: &[Layer], file_system: &FileSystem) -> Check {
    let off = |layer: &&Layer| layer.start_bytes.is_some_and(|start| !start.is_multiple_of(BLOCK_BYTES));
    let crooked: Vec<String> = layers
        .iter()
        .filter(off)
        .map(|layer| format!("{} begins at byte {}", layer.name, layer.start_bytes.unwrap_or_default()))
        .collect();
    if !crooked.is_empty() {
        let text = format!("{}: no multiple of 4 KiB", crooked.join("; "));
        return Check::new("alignment", CheckStatus::Limited, text, WHY)
            .remedy("make the partition anew from sector 2048: parted --align optimal (its data is lost)");
    }
    let Some(block_bytes) = file_system.block_bytes else {
        return Check::new("alignment", CheckStatus::Missing, "the file system does not tell its block", WHY);
    };
    if layers.is_empty() {
        return Check::new("alignment", CheckStatus::Missing, "no block device to be aligned to", WHY);
    }
    if !block_bytes.is_multiple_of(BLOCK_BYTES) {
        let text = format!("the file system allocates by {}", human::bytes(block_bytes));
        return Check::new("alignment", CheckStatus::Limited, text, WHY)
            .remedy("make the file system anew with blocks of 4096 bytes (its data is lost)");
    }
    let partitions = layers.iter().filter(|layer| layer.start_bytes.is_some()).count();
    let text = match partitions {
        0 => format!("no partition; the file system allocates by {}", human::bytes(block_bytes)),
        _ => format!("partitions begin on whole 4 KiB; the file system allocates by {}", human::bytes(block_bytes)),
    };
    Check::new("alignment", CheckStatus::Ok, text, WHY)
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn a_partition_from_the_days_of_63_sectors_is_found() {
        let facts = recorded::hard_disk();
        let check = check(&facts.layers, &facts.file_system);
        assert_eq!(check.status, CheckStatus::Limited);
        assert_eq!(check.text, "sdc1 begins at byte 32256: no multiple of 4 KiB");
    }

    #[test]
    fn blocks_of_one_kibibyte_are_found() {
        let mut facts = recorded::nvme();
        assert_eq!(check(&facts.layers, &facts.file_system).status, CheckStatus::Ok);
        facts.file_system.block_bytes = Some(1024);
        assert_eq!(check(&facts.layers, &facts.file_system).text, "the file system allocates by 1 KiB");
        facts.file_system.block_bytes = None;
        assert_eq!(check(&facts.layers, &facts.file_system).status, CheckStatus::Missing);
    }
}
