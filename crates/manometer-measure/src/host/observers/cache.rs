//! The SSD caches below the device directory: bcache and dm-cache.

use std::path::PathBuf;
use std::time::Duration;

use super::super::cache_counters::CacheCounters;
use super::super::layers::{Layer, LayerKind};
use super::super::observer::{Observer, ObserverKind, boxed};
use super::super::rates::{RateCalculator, RawValue};
use crate::program;
use crate::samples::Column;

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "cache.<name>",
    description: "Each SSD cache of the kernel below the device directory. bcache brings its counts up to date every \
                  13.6 s: its rates are those since the change before, and missing in between. dm-cache is read once a \
                  second, as root, with `dmsetup`.",
    columns,
    create: |subject| boxed(subject.host_layers().iter().filter_map(CacheObserver::of)),
};

/// How often `dmsetup` runs, and how long it may take: at a sample, and before the first one, which decides whether there
/// are any.
const STATUS_INTERVAL_NS: u64 = 1_000_000_000;
const STATUS_LIMIT: Duration = Duration::from_secs(1);
const FIRST_STATUS_LIMIT: Duration = Duration::from_secs(10);

const FROM: &str = "/sys/block/<bcache>/bcache, dmsetup status";

fn columns() -> Vec<Column> {
    let column = |name: &str, unit: &str, meaning: &str| Column::new(name, unit).meaning(meaning).from(FROM);
    vec![
        column("read_hits", "1/s", "Reads that the cache served."),
        column("read_misses", "1/s", "Reads that it did not serve."),
        column("write_hits", "1/s", "Writes of cached blocks; dm-cache only."),
        column("write_misses", "1/s", "Writes of other blocks; dm-cache only."),
        column("bypassed_reads", "1/s", "Reads sent past the cache, whether it held the data or not; bcache only."),
        column("promotions", "1/s", "Blocks copied into the cache; dm-cache only."),
        column("demotions", "1/s", "Blocks that left it for others; dm-cache only."),
        column(
            "dirty_bytes",
            "B",
            "Data that is newer in the cache than on the origin; bcache rounds it, dm-cache counts whole blocks.",
        ),
    ]
}

/// What is read.
#[derive(Debug)]
enum Source {
    /// The directory `bcache` of a device in sysfs.
    Bcache(PathBuf),
    /// The name of a mapping.
    DmCache(String),
}

#[derive(Debug)]
struct CacheObserver {
    series: String,
    source: Source,
    read_ns: Option<u64>,
    counters: Option<CacheCounters>,
    rates: RateCalculator,
}

impl CacheObserver {
    /// Of a layer that is a cache, and whose counters can be read.
    fn of(layer: &Layer) -> Option<Self> {
        let source = match layer.kind {
            LayerKind::Bcache => Source::Bcache(layer.device.sysfs.join("bcache")),
            LayerKind::Dm => Source::DmCache(layer.label.clone()?),
            _ => return None,
        };
        read(&source, FIRST_STATUS_LIMIT)?;
        let series = format!("cache.{}", layer.name);
        Some(Self { series, source, read_ns: None, counters: None, rates: RateCalculator::default() })
    }
}

impl Observer for CacheObserver {
    fn series(&self) -> &str {
        &self.series
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let is_read = |read_ns: u64| t_ns.saturating_sub(read_ns) < STATUS_INTERVAL_NS;
        if matches!(self.source, Source::DmCache(_)) && self.read_ns.is_some_and(is_read) {
            return Vec::new();
        }
        self.read_ns = Some(t_ns);
        let counters = read(&self.source, STATUS_LIMIT);
        let earlier = std::mem::replace(&mut self.counters, counters);
        if matches!(self.source, Source::Bcache(_)) && counters.is_some() && counts(earlier) == counts(counters) {
            // They may be out of date: no rate is known.
            let mut row = vec![None; columns().len() - 1];
            row.push(counters.map(|counters| counters.dirty_bytes as f64));
            return row;
        }
        self.rates.rates(t_ns, raws(counters))
    }
}

fn read(source: &Source, limit: Duration) -> Option<CacheCounters> {
    match source {
        Source::Bcache(directory) => CacheCounters::read_bcache(directory).ok(),
        Source::DmCache(name) => {
            // Without --noflush the kernel would write the cache's metadata each time.
            let status = program::answer("dmsetup", &["status", "--noflush", name], limit).ok()?;
            CacheCounters::parse_dm_cache(&status)
        }
    }
}

/// What bcache brings up to date now and then.
fn counts(counters: Option<CacheCounters>) -> Option<[u64; 2]> {
    counters.map(|counters| [counters.read_hits, counters.read_misses])
}

fn raws(counters: Option<CacheCounters>) -> Vec<RawValue> {
    let number = |count: Option<u64>| count.map(|count| count as f64);
    let count = |of: fn(&CacheCounters) -> Option<u64>| RawValue::Counter(number(counters.as_ref().and_then(of)));
    vec![
        count(|counters| Some(counters.read_hits)),
        count(|counters| Some(counters.read_misses)),
        count(|counters| counters.write_hits),
        count(|counters| counters.write_misses),
        count(|counters| counters.bypassed_reads),
        count(|counters| counters.promotions),
        count(|counters| counters.demotions),
        RawValue::Gauge(number(counters.map(|counters| counters.dirty_bytes))),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::host::BlockDevice;

    fn bcache(directory: &Path, hits: u64, misses: u64) -> Layer {
        let statistics = directory.join("bcache/stats_total");
        fs::create_dir_all(&statistics).unwrap();
        for (name, count) in
            [("cache_hits", hits), ("cache_misses", misses), ("cache_bypass_hits", 1), ("cache_bypass_misses", 2)]
        {
            fs::write(statistics.join(name), format!("{count}\n")).unwrap();
        }
        fs::write(directory.join("bcache/dirty_data"), "2.0k\n").unwrap();
        let device = BlockDevice { major: 252, minor: 0, name: "bcache0".to_owned(), sysfs: directory.to_owned() };
        Layer { name: "bcache0".to_owned(), kind: LayerKind::Bcache, maps_to: Vec::new(), label: None, device }
    }

    #[test]
    fn a_cache_has_rates_of_hits_and_misses_and_its_dirty_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let mut observer = CacheObserver::of(&bcache(directory.path(), 10, 20)).unwrap();
        assert_eq!(observer.series(), "cache.bcache0");
        observer.sample(1_000_000_000);
        let unchanged = observer.sample(2_000_000_000);
        assert_eq!(unchanged, [None, None, None, None, None, None, None, Some(2048.0)]);
        bcache(directory.path(), 40, 22);
        let row = observer.sample(3_000_000_000);
        assert_eq!(row, [Some(15.0), Some(1.0), None, None, Some(0.0), None, None, Some(2048.0)]);
        assert_eq!(row.len(), observer.columns().len());
        fs::remove_dir_all(directory.path().join("bcache")).unwrap();
        assert!(observer.sample(4_000_000_000).iter().all(Option::is_none));
    }

    #[test]
    fn what_is_no_cache_or_cannot_be_read_is_not_observed() {
        let directory = tempfile::tempdir().unwrap();
        let layer = bcache(directory.path(), 1, 1);
        let disk = Layer { kind: LayerKind::Disk, ..layer.clone() };
        assert!(CacheObserver::of(&disk).is_none());
        let mapping =
            Layer { kind: LayerKind::Dm, label: Some("manometer-no-such-mapping".to_owned()), ..layer.clone() };
        assert!(CacheObserver::of(&mapping).is_none());
        fs::remove_file(directory.path().join("bcache/dirty_data")).unwrap();
        assert!(CacheObserver::of(&layer).is_none());
    }
}
