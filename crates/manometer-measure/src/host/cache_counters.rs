//! The kernel's counters of an SSD cache: bcache and dm-cache.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

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
    /// Reads those of a bcache device from `directory`, its `bcache` in sysfs.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or holds no number.
    pub fn read_bcache(directory: &Path) -> Result<Self, Error> {
        let read = |name: &str| fs::read_to_string(directory.join(name)).map(|text| text.trim().to_owned());
        let wrong =
            |name: &str, text: &str| Error::new(ErrorKind::InvalidData, format!("`{name}` of bcache is `{text}`"));
        let count = |name: &str| -> Result<u64, Error> {
            let text = read(&format!("stats_total/{name}"))?;
            text.parse().map_err(|_| wrong(name, &text))
        };
        let (bypass_hits, bypass_misses) = (count("cache_bypass_hits")?, count("cache_bypass_misses")?);
        let dirty = read("dirty_data")?;
        Ok(Self {
            read_hits: count("cache_hits")?.saturating_add(bypass_hits),
            read_misses: count("cache_misses")?.saturating_add(bypass_misses),
            bypassed_reads: Some(bypass_hits.saturating_add(bypass_misses)),
            dirty_bytes: rounded_bytes(&dirty).ok_or_else(|| wrong("dirty_data", &dirty))?,
            ..Self::default()
        })
    }

    /// Parses a line of `dmsetup status`: start, length, `cache`, size of a metadata block, metadata used/all, size of a
    /// cache block, cache used/all, read hits, read misses, write hits, write misses, demotions, promotions, dirty
    /// blocks. `None` for another target.
    pub fn parse_dm_cache(status: &str) -> Option<Self> {
        let mut fields = status.split_ascii_whitespace();
        fields.nth(2).filter(|target| *target == "cache")?;
        let block_sectors: u64 = fields.nth(2)?.parse().ok()?;
        let counts: Vec<u64> = fields.skip(1).map_while(|field| field.parse().ok()).collect();
        let [read_hits, read_misses, write_hits, write_misses, demotions, promotions, dirty, ..] = counts.as_slice()
        else {
            return None;
        };
        Some(Self {
            read_hits: *read_hits,
            read_misses: *read_misses,
            write_hits: Some(*write_hits),
            write_misses: Some(*write_misses),
            bypassed_reads: None,
            promotions: Some(*promotions),
            demotions: Some(*demotions),
            dirty_bytes: dirty.checked_mul(block_sectors)?.checked_mul(SECTOR_BYTES)?,
        })
    }

    /// The counts since `earlier`; the dirty bytes as they are now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
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
        let counters = CacheCounters::parse_dm_cache(line).unwrap();
        assert_eq!((counters.read_hits, counters.read_misses), (11, 12));
        assert_eq!((counters.write_hits, counters.write_misses), (Some(13), Some(14)));
        assert_eq!((counters.demotions, counters.promotions), (Some(15), Some(16)));
        assert_eq!(counters.dirty_bytes, 17 * 512 * 512);
        let too_many = format!("0 1 cache 8 1/2 {0} 1/2 1 1 1 1 1 1 {0}", u64::MAX);
        for wrong in
            ["", "0 1 linear", "0 2097152 cache 8 27/1024 512 100/300 11 12", "0 2097152 cache Error", &too_many]
        {
            assert_eq!(CacheCounters::parse_dm_cache(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_of_bcache_that_holds_no_number_is_named() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("stats_total")).unwrap();
        for name in ["cache_hits", "cache_misses", "cache_bypass_hits", "cache_bypass_misses"] {
            fs::write(directory.path().join("stats_total").join(name), "7\n").unwrap();
        }
        fs::write(directory.path().join("dirty_data"), "1.5k\n").unwrap();
        let counters = CacheCounters::read_bcache(directory.path()).unwrap();
        assert_eq!((counters.read_hits, counters.bypassed_reads, counters.dirty_bytes), (14, Some(14), 1536));
        fs::write(directory.path().join("dirty_data"), "much\n").unwrap();
        let error = CacheCounters::read_bcache(directory.path()).unwrap_err();
        assert_eq!(error.to_string(), "`dirty_data` of bcache is `much`");
    }
}
