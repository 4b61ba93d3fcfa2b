//! Whether partitions and the blocks of the file system are aligned to 4 KiB.

use super::{Check, CheckStatus, FileSystem, Layer};
use crate::human;

const WHY: &str = "a request across two blocks becomes two";

/// The smallest write of flash and newer hard disks.
const BLOCK_BYTES: u64 = 4096;

pub(super) fn check(layers: &[Layer], file_system: &FileSystem) -> Check {
    let is_misaligned = |layer: &&Layer| layer.start_bytes.is_some_and(|start| !start.is_multiple_of(BLOCK_BYTES));
    let misaligned: Vec<String> = layers
        .iter()
        .filter(is_misaligned)
        .map(|layer| format!("{} starts at byte {}", layer.name, layer.start_bytes.unwrap_or_default()))
        .collect();
    if !misaligned.is_empty() {
        let text = format!("{}: not a multiple of 4 KiB", misaligned.join("; "));
        return Check::new("alignment", CheckStatus::Limited, text, WHY)
            .remedy("recreate the partition at sector 2048: parted --align optimal (its data is lost)");
    }
    let Some(block_bytes) = file_system.block_bytes else {
        return Check::new("alignment", CheckStatus::Missing, "the file system does not show its allocation unit", WHY);
    };
    if layers.is_empty() {
        return Check::new("alignment", CheckStatus::Missing, "no block device", WHY);
    }
    if !block_bytes.is_multiple_of(BLOCK_BYTES) {
        let text = format!("the file system allocates in units of {}", human::bytes(block_bytes));
        return Check::new("alignment", CheckStatus::Limited, text, WHY)
            .remedy("recreate the file system with blocks of 4096 bytes (its data is lost)");
    }
    let partitions = layers.iter().filter(|layer| layer.start_bytes.is_some()).count();
    let text = match partitions {
        0 => format!("no partition; the file system allocates in units of {}", human::bytes(block_bytes)),
        _ => format!(
            "partitions start at multiples of 4 KiB; the file system allocates in units of {}",
            human::bytes(block_bytes)
        ),
    };
    Check::new("alignment", CheckStatus::Ok, text, WHY)
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn a_partition_at_sector_63_is_found() {
        let facts = recorded::hard_disk();
        let check = check(&facts.layers, &facts.file_system);
        assert_eq!(check.status, CheckStatus::Limited);
        assert_eq!(check.text, "sdc1 starts at byte 32256: not a multiple of 4 KiB");
    }

    #[test]
    fn blocks_of_one_kibibyte_are_found() {
        let mut facts = recorded::nvme();
        assert_eq!(check(&facts.layers, &facts.file_system).status, CheckStatus::Ok);
        facts.file_system.block_bytes = Some(1024);
        assert_eq!(check(&facts.layers, &facts.file_system).text, "the file system allocates in units of 1 KiB");
        facts.file_system.block_bytes = None;
        assert_eq!(check(&facts.layers, &facts.file_system).status, CheckStatus::Missing);
    }
}
