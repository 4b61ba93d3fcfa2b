//! A cache by bcache.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_cache::tier::{SecondLevelSettings, WriteMode};
use manometer_measure::ByteSize;

use super::block_device::sysfs;
use super::journal::ArrayJournal;
use super::undo::{Undo, wait_until, write_kernel_file};
use crate::{LabError, program};

/// The default of `make-bcache`.
const BUCKET_BYTES: u64 = 512 << 10;

/// Takes the names of devices.
const REGISTER: &str = "/sys/fs/bcache/register_quiet";

/// The kernel takes no cache of fewer buckets: it keeps a 1024th of them free, rounded up to a power of two.
const BUCKETS_MIN: u64 = 513;

fn bucket_bytes(settings: &SecondLevelSettings) -> u64 {
    settings.bucket.map_or(BUCKET_BYTES, |bucket| bucket.0)
}

/// The bytes of a cache of `bytes` that hold data: not the superblock's bucket, the journal's, those for the priorities of
/// buckets (of 3 bytes each, twice), and the free ones that are kept in reserve for B-tree nodes, for moving data, for
/// the next write and for later ones (`super.c` of Linux 6.1). What the B-tree takes depends on the data.
pub fn data_bytes(settings: &SecondLevelSettings, bytes: u64) -> u64 {
    let bucket = bucket_bytes(settings);
    let buckets = bytes / bucket;
    let queue = |places: u64| (places + 1).next_power_of_two() - 1;
    let free = buckets.next_power_of_two() >> 10;
    let journal = (buckets >> 7).clamp(2, 256);
    let priorities = (3 * buckets).div_ceil(bucket);
    let reserve = queue(8) + priorities + 2 * queue(free) + queue(4 * free);
    buckets.saturating_sub(1 + journal + priorities + reserve) * bucket
}

/// Checks whether bcache can be a cache of `bytes`.
pub(super) fn check(settings: &SecondLevelSettings, bytes: u64) -> Result<(), LabError> {
    let bucket = bucket_bytes(settings);
    if bytes / bucket >= BUCKETS_MIN {
        return Ok(());
    }
    Err(LabError::Refused(format!(
        "the cache has {}, and bcache needs {BUCKETS_MIN} buckets of {}: make the cache larger, or take a smaller \
         `cache.bucket`",
        ByteSize(bytes),
        ByteSize(bucket)
    )))
}

/// Puts `cache` before `origin`.
pub(super) fn build(
    settings: &SecondLevelSettings,
    origin: &Path,
    cache: &Path,
    journal: &mut ArrayJournal,
) -> Result<PathBuf, LabError> {
    format_devices(settings, origin, cache, journal)?;
    attach(settings, origin, cache, journal)
}

/// Puts `cache` before `origin`, which have been together before.
pub(super) fn attach(
    settings: &SecondLevelSettings,
    origin: &Path,
    cache: &Path,
    journal: &mut ArrayJournal,
) -> Result<PathBuf, LabError> {
    let (disk, set) = register(origin, cache, journal)?;
    configure(settings, &disk.join("bcache"), &set)?;
    Ok(device_of(&disk))
}

/// Takes `origin` without the cache that it had.
pub(super) fn run_alone(origin: &Path, journal: &mut ArrayJournal) -> Result<PathBuf, LabError> {
    let directory = sysfs(origin)?.join("bcache");
    let _ = write_kernel_file(REGISTER.as_ref(), &origin.display().to_string());
    wait_until(&format!("bcache to register {}", origin.display()), || directory.join("running").exists())?;
    write_kernel_file(&directory.join("running"), "1")?;
    let disk = directory.join("dev").canonicalize().map_err(LabError::at(&directory))?;
    journal.record(Undo::Stop { file: disk.join("bcache/stop"), gone: disk.clone() })?;
    Ok(device_of(&disk))
}

/// The device whose directory of the kernel is `disk`.
fn device_of(disk: &Path) -> PathBuf {
    Path::new("/dev").join(disk.file_name().unwrap_or_default())
}

fn format_devices(
    settings: &SecondLevelSettings,
    origin: &Path,
    cache: &Path,
    journal: &mut ArrayJournal,
) -> Result<(), LabError> {
    let policy = match settings.policy.kind().name {
        "bcache-fifo" => "fifo",
        "bcache-random" => "random",
        _ => "lru",
    };
    let (bucket, block) = (format!("{}k", bucket_bytes(settings) >> 10), format!("{}k", settings.block.0 >> 10));
    let (origin, cache) = (origin.display().to_string(), cache.display().to_string());
    for device in [&origin, &cache] {
        journal.record(Undo::run(&["wipefs", "--all", "--quiet", device], Path::new(device)))?;
    }
    let policy = format!("--cache_replacement_policy={policy}");
    let arguments = ["-B", &origin, "-C", &cache, "--bucket", &bucket, "--block", &block, &policy];
    program::run("make-bcache", &arguments).map(drop)
}

/// Registers both devices. Returns the directories of the kernel for the cached disk and for the set.
fn register(origin: &Path, cache: &Path, journal: &mut ArrayJournal) -> Result<(PathBuf, PathBuf), LabError> {
    let set = register_one(cache, "set", "stop", journal)?;
    let disk = register_one(origin, "dev", "bcache/stop", journal)?;
    let state = disk.join("bcache/state");
    wait_until("bcache to attach the cache", || {
        fs::read_to_string(&state).is_ok_and(|state| state.trim() != "no cache")
    })?;
    Ok((disk, set))
}

/// Registers a device. Returns the directory of the kernel that `link` of it leads to, which a write to `stop` removes.
fn register_one(device: &Path, link: &str, stop: &str, journal: &mut ArrayJournal) -> Result<PathBuf, LabError> {
    let link = sysfs(device)?.join("bcache").join(link);
    // Where a daemon watches devices, it has registered this one already, and the kernel refuses a second time.
    let _ = write_kernel_file(REGISTER.as_ref(), &device.display().to_string());
    wait_until(&format!("bcache to register {}", device.display()), || link.exists())?;
    let directory = link.canonicalize().map_err(LabError::at(&link))?;
    journal.record(Undo::Stop { file: directory.join(stop), gone: directory.clone() })?;
    Ok(directory)
}

fn configure(settings: &SecondLevelSettings, backing: &Path, set: &Path) -> Result<(), LabError> {
    let mode = match settings.mode {
        WriteMode::WriteBack => "writeback",
        WriteMode::WriteThrough => "writethrough",
        WriteMode::WriteAround => "writearound",
    };
    write_kernel_file(&backing.join("cache_mode"), mode)?;
    let cutoff = settings.sequential.and_then(|sequential| sequential.bytes).map_or(0, |bytes| bytes.0);
    write_kernel_file(&backing.join("sequential_cutoff"), &cutoff.to_string())?;
    let congested = settings.congested.map(|congested| (congested.read, congested.write));
    let us = |span: manometer_measure::Span| span.nanoseconds() / 1000;
    let (read, write) = congested.map_or((0, 0), |(read, write)| (us(read), us(write)));
    write_kernel_file(&set.join("congested_read_threshold_us"), &read.to_string())?;
    write_kernel_file(&set.join("congested_write_threshold_us"), &write.to_string())?;
    let Some(share) = settings.clean_above else { return Ok(()) };
    let percent = ((share.0 * 100.0).round() as u64).min(40);
    write_kernel_file(&backing.join("writeback_percent"), &percent.to_string())
}
