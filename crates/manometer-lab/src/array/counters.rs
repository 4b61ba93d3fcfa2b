//! The kernel's counters of an array.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::block_device::sysfs;
use super::built_array::{BuiltArray, CacheKind};
use crate::{LabError, program};

const SECTOR_BYTES: u64 = 512;

/// The counters of a cache. What the kernel does not count is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CacheCounters {
    /// Reads that the cache served.
    pub read_hits: u64,
    /// Reads that it did not.
    pub read_misses: u64,
    /// Writes of blocks that are cached; bcache does not count them.
    pub write_hits: Option<u64>,
    /// Writes of others.
    pub write_misses: Option<u64>,
    /// The reads among them that bypassed the cache, hits too; of bcache alone.
    pub bypassed_reads: Option<u64>,
    /// Blocks copied into it, of dm-cache alone.
    pub promotions: Option<u64>,
    /// Blocks that left it for others, of dm-cache alone.
    pub demotions: Option<u64>,
    /// Bytes that are newer in the cache than on the origin. bcache rounds them.
    pub dirty_bytes: u64,
}

impl CacheCounters {
    /// The counts since `earlier`; the dirty bytes as they are now.
    fn since(&self, earlier: &Self) -> Self {
        let less = |now: u64, then: u64| now.saturating_sub(then);
        let less_some = |now: Option<u64>, then: Option<u64>| Some(less(now?, then.unwrap_or(0)));
        Self {
            read_hits: less(self.read_hits, earlier.read_hits),
            read_misses: less(self.read_misses, earlier.read_misses),
            write_hits: less_some(self.write_hits, earlier.write_hits),
            write_misses: less_some(self.write_misses, earlier.write_misses),
            bypassed_reads: less_some(self.bypassed_reads, earlier.bypassed_reads),
            promotions: less_some(self.promotions, earlier.promotions),
            demotions: less_some(self.demotions, earlier.demotions),
            dirty_bytes: self.dirty_bytes,
        }
    }
}

/// The requests that a device got.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceTraffic {
    /// The device's place: `origin-0`, `cache-0`.
    pub place: String,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// The counters of an array.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ArrayCounters {
    /// The cache's, where there is one. bcache brings its own up to date every 13.6 s.
    pub cache: Option<CacheCounters>,
    /// Those of each device, the origin's first.
    pub devices: Vec<DeviceTraffic>,
}

impl ArrayCounters {
    /// The counts since `earlier`, of the same array.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.devices.iter().zip(&earlier.devices);
        Self {
            cache: self.cache.map(|cache| cache.since(&earlier.cache.unwrap_or_default())),
            devices: pairs.map(|(now, then)| now.since(then)).collect(),
        }
    }
}

impl DeviceTraffic {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            place: self.place.clone(),
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            writes: self.writes.saturating_sub(earlier.writes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }
}

/// Reads the counters of an array.
pub(super) fn read(array: &BuiltArray) -> Result<ArrayCounters, LabError> {
    let devices = [("origin", &array.origin), ("cache", &array.cache_devices)];
    let places = devices.iter().flat_map(|(level, devices)| {
        devices.iter().enumerate().map(move |(at, device)| (format!("{level}-{at}"), device.as_path()))
    });
    let cache = match (array.cache, &array.device) {
        (Some(CacheKind::Bcache), Some(device)) => Some(bcache(device)?),
        (Some(CacheKind::DmCache), Some(device)) => Some(dm_cache(device)?),
        _ => None,
    };
    let devices: Result<_, _> = places.map(|(place, device)| traffic(place, device)).collect();
    Ok(ArrayCounters { cache, devices: devices? })
}

fn traffic(place: String, device: &Path) -> Result<DeviceTraffic, LabError> {
    let path = sysfs(device)?.join("stat");
    let text = fs::read_to_string(&path).map_err(LabError::at(&path))?;
    let fields: Vec<u64> = text.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    let field = |at: usize| fields.get(at).copied().unwrap_or(0);
    Ok(DeviceTraffic {
        place,
        reads: field(0),
        read_bytes: field(2) * SECTOR_BYTES,
        writes: field(4),
        written_bytes: field(6) * SECTOR_BYTES,
    })
}

fn bcache(device: &Path) -> Result<CacheCounters, LabError> {
    let directory = sysfs(device)?.join("bcache");
    let read = |name: &str| -> Result<String, LabError> {
        let path = directory.join(name);
        Ok(fs::read_to_string(&path).map_err(LabError::at(path))?.trim().to_owned())
    };
    let count = |name: &str| -> Result<u64, LabError> {
        let text = read(&format!("stats_total/{name}"))?;
        text.parse().map_err(|_| LabError::Kernel(format!("`{name}` of bcache is `{text}`")))
    };
    let (bypass_hits, bypass_misses) = (count("cache_bypass_hits")?, count("cache_bypass_misses")?);
    let dirty = read("dirty_data")?;
    Ok(CacheCounters {
        read_hits: count("cache_hits")? + bypass_hits,
        read_misses: count("cache_misses")? + bypass_misses,
        bypassed_reads: Some(bypass_hits + bypass_misses),
        dirty_bytes: rounded_bytes(&dirty)
            .ok_or_else(|| LabError::Kernel(format!("`dirty_data` of bcache is `{dirty}`")))?,
        ..CacheCounters::default()
    })
}

/// A size as bcache writes it: `512`, `7.6M`, `1.0k`, in powers of 1024.
fn rounded_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match text.get(digits.len()..)? {
        "" => 1_u64,
        "k" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    let number: f64 = digits.parse().ok()?;
    (number >= 0.0).then_some((number * factor as f64) as u64)
}

fn dm_cache(device: &Path) -> Result<CacheCounters, LabError> {
    let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let status = program::run("dmsetup", &["status", &name])?;
    parse_dm_cache(&status).ok_or_else(|| LabError::Kernel(format!("the status of dm-cache is `{}`", status.trim())))
}

/// Parses a line of `dmsetup status`: start, length, `cache`, size of a metadata block, metadata used/all, size of a
/// cache block, cache used/all, read hits, read misses, write hits, write misses, demotions, promotions, dirty blocks.
fn parse_dm_cache(status: &str) -> Option<CacheCounters> {
    let mut fields = status.split_ascii_whitespace();
    fields.nth(2).filter(|target| *target == "cache")?;
    let block_sectors: u64 = fields.nth(2)?.parse().ok()?;
    let counts: Vec<u64> = fields.skip(1).map_while(|field| field.parse().ok()).collect();
    let [read_hits, read_misses, write_hits, write_misses, demotions, promotions, dirty, ..] = counts.as_slice() else {
        return None;
    };
    Some(CacheCounters {
        read_hits: *read_hits,
        read_misses: *read_misses,
        write_hits: Some(*write_hits),
        write_misses: Some(*write_misses),
        bypassed_reads: None,
        promotions: Some(*promotions),
        demotions: Some(*demotions),
        dirty_bytes: dirty * block_sectors * SECTOR_BYTES,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_bcache_are_parsed() {
        assert_eq!(rounded_bytes("0.0k"), Some(0));
        assert_eq!(rounded_bytes("512"), Some(512));
        assert_eq!(rounded_bytes("7.5M"), Some(7_864_320));
        for wrong in ["", "k", "7.5Q", "-1k", "x"] {
            assert_eq!(rounded_bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_status_of_dm_cache_is_parsed() {
        let line = "0 2097152 cache 8 27/1024 512 100/300 11 12 13 14 15 16 17 1 writeback 2 migration_threshold 2048 smq \
                    0 rw - ";
        let counters = parse_dm_cache(line).unwrap();
        assert_eq!((counters.read_hits, counters.read_misses), (11, 12));
        assert_eq!((counters.write_hits, counters.write_misses), (Some(13), Some(14)));
        assert_eq!((counters.demotions, counters.promotions), (Some(15), Some(16)));
        assert_eq!(counters.dirty_bytes, 17 * 512 * 512);
        for wrong in ["", "0 1 linear", "0 2097152 cache 8 27/1024 512 100/300 11 12", "0 2097152 cache Error"] {
            assert_eq!(parse_dm_cache(wrong), None, "{wrong}");
        }
    }
}
