//! A cache by the device mapper's cache target.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use manometer_cache::tier::{SecondLevelSettings, WriteMode};

use super::block_device::device_bytes;
use super::device_mapper::{SECTOR_BYTES, create_device, linear};
use super::journal::ArrayJournal;
use crate::LabError;

const ALIGNMENT_BYTES: u64 = 1 << 20;

/// The metadata of a cache without blocks, and of each block (the kernel's documentation: 4 MiB and 16 bytes).
const METADATA_BYTES: u64 = 4 << 20;
const METADATA_BLOCK_BYTES: u64 = 16;

/// The first block of the metadata: zeros say that there are none yet.
const SUPERBLOCK: [u8; 4096] = [0; 4096];

/// The room for the metadata of a cache of `bytes`.
pub(super) fn metadata_bytes(bytes: u64, block: u64) -> u64 {
    (METADATA_BYTES + bytes / block.max(1) * METADATA_BLOCK_BYTES).next_multiple_of(ALIGNMENT_BYTES)
}

/// Checks whether dm-cache can be a cache of `bytes`.
pub(super) fn check(settings: &SecondLevelSettings, bytes: u64) -> Result<(), LabError> {
    let block = settings.block.0;
    if !block.is_multiple_of(32 << 10) || block > 1 << 30 {
        return Err(LabError::Refused(format!(
            "`cache.block` is {block} bytes: dm-cache takes multiples of 32KiB up to 1GiB"
        )));
    }
    if bytes < block {
        return Err(LabError::Refused(format!("the cache has {bytes} bytes, less than a `cache.block` of {block}")));
    }
    Ok(())
}

/// Puts `bytes` of `cache` before `origin`; its first part holds the metadata, which `is_new` forgets.
pub(super) fn build(
    is_new: bool,
    settings: &SecondLevelSettings,
    bytes: u64,
    name: &str,
    origin: &Path,
    cache: &Path,
    journal: &mut ArrayJournal,
) -> Result<PathBuf, LabError> {
    let block = settings.block.0;
    let (cache_bytes, origin_bytes) = (device_bytes(cache)?, device_bytes(origin)?);
    let metadata_bytes = metadata_bytes(bytes, block);
    let blocks_bytes = cache_bytes.saturating_sub(metadata_bytes).min(bytes) / block * block;
    let part = |offset: u64, bytes: u64| linear(cache, offset, bytes);
    let metadata = create_device(&format!("manometer-{name}-metadata"), &part(0, metadata_bytes), journal)?;
    if is_new {
        clear_superblock(&metadata)?;
    }
    let blocks = create_device(&format!("manometer-{name}-blocks"), &part(metadata_bytes, blocks_bytes), journal)?;
    let table = cache_table(settings, origin_bytes, &metadata, &blocks, origin);
    create_device(&format!("manometer-{name}"), &table, journal)
}

/// The table of the cache target.
fn cache_table(
    settings: &SecondLevelSettings,
    origin_bytes: u64,
    metadata: &Path,
    blocks: &Path,
    origin: &Path,
) -> String {
    let mode = match settings.mode {
        WriteMode::WriteBack => "writeback",
        WriteMode::WriteThrough => "writethrough",
        WriteMode::WriteAround => "passthrough",
    };
    let options = settings
        .migration
        .map_or("0".to_owned(), |migration| format!("2 migration_threshold {}", migration.0 / SECTOR_BYTES));
    format!(
        "0 {} cache {} {} {} {} 1 {mode} smq {options}",
        origin_bytes / SECTOR_BYTES,
        metadata.display(),
        blocks.display(),
        origin.display(),
        settings.block.0 / SECTOR_BYTES,
    )
}

fn clear_superblock(metadata: &Path) -> Result<(), LabError> {
    let device = OpenOptions::new().write(true).open(metadata).map_err(LabError::at(metadata))?;
    let cleared = device.write_all_at(&SUPERBLOCK, 0).and_then(|()| device.sync_all());
    cleared.map_err(LabError::at(metadata))
}
