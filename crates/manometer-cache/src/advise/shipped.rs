//! The shipped arrangements, sized for the trace.

use std::collections::BTreeMap;

use manometer_measure::ByteSize;
use serde::{Deserialize, Serialize};

use crate::CacheError;
use crate::tier::device::DeviceSettings;
use crate::tier::{Arrangement, OriginSettings, SecondLevelSettings, TierHostSettings};

macro_rules! shipped {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../arrangements/", $name, ".toml")))),*]
    };
}

const ARRANGEMENTS: [(&str, &str); 7] =
    shipped!["1h", "4h0", "1s", "bcache-1s-1h", "dmcache-1s-1h", "bcache-1s-4h0", "dmcache-1s-4h0"];
const DEVICES: &str = include_str!("../../arrangements/devices.toml");
/// The name and the text of the default prices. The thesis's of 2015 lie beside them.
pub const SHIPPED_PRICES: (&str, &str) = ("prices-2026.toml", include_str!("../../arrangements/prices-2026.toml"));

/// Storage size divided by the size that the trace touches.
const ROOM: f64 = 1.25;
/// The cache as a share of the origin, as in the cache thesis.
const CACHE_SHARE: f64 = 0.2;
/// The least memory in bytes: room for a few requests.
const RAM_MIN: u64 = 1 << 20;
/// The smallest origin in bytes: half its cache is a few blocks and buckets of any arrangement, and has room for their
/// metadata.
const ORIGIN_MIN: u64 = 20 << 20;
const MIB: u64 = 1 << 20;

/// The sizes of the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TierSizes {
    /// The origin.
    pub origin: u64,
    /// The SSD cache.
    pub cache: u64,
    /// The page cache.
    pub ram: u64,
}

impl TierSizes {
    /// The sizes for a trace that touches `touched` bytes, with `ram` bytes of memory.
    pub fn of(touched: u64, ram: u64) -> Self {
        let mib = |bytes: f64| (bytes as u64).div_ceil(MIB).saturating_mul(MIB);
        let origin = mib(touched as f64 * ROOM).max(ORIGIN_MIN);
        let cache = mib(origin as f64 * CACHE_SHARE);
        Self { origin, cache, ram: ram.max(RAM_MIN) }
    }
}

/// The parts of an arrangement's file that are used: sizes are replaced, workloads ignored.
#[derive(Deserialize)]
struct ArrangementShape {
    host: TierHostSettings,
    origin: OriginSettings,
    cache: Option<SecondLevelSettings>,
}

/// The shipped arrangements that decide whether an SSD tier pays: disks, SSDs, and SSDs in front of disks.
///
/// # Errors
/// The data do not fit on their devices.
pub fn shipped(sizes: &TierSizes) -> Result<Vec<Arrangement>, CacheError> {
    let wrong = |name: &str, text: String| CacheError::Invalid(format!("the arrangement `{name}`: {text}"));
    let devices: BTreeMap<String, DeviceSettings> =
        toml::from_str(DEVICES).map_err(|error| wrong("devices", error.to_string()))?;
    let arrangement = |(name, text): &(&str, &str)| {
        let ArrangementShape { mut host, mut origin, mut cache } =
            toml::from_str(text).map_err(|error| wrong(name, error.to_string()))?;
        (host.ram, origin.size) = (ByteSize(sizes.ram), ByteSize(sizes.origin));
        if let Some(cache) = &mut cache {
            cache.size = ByteSize(sizes.cache);
        }
        let arrangement = Arrangement {
            name: (*name).to_owned(),
            scale: 1,
            seed: 1,
            host,
            origin,
            cache,
            sweep: None,
            equal: None,
            devices: devices.clone(),
            workloads: BTreeMap::new(),
        };
        arrangement.validate().map_err(|text| wrong(name, format!("it does not hold the trace: {text}")))?;
        Ok(arrangement)
    };
    ARRANGEMENTS.iter().map(arrangement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Prices;

    #[test]
    fn the_shipped_files_are_read_and_have_their_sizes_from_the_trace() {
        let sizes = TierSizes::of(1000 * MIB, 40 * MIB);
        assert_eq!(sizes, TierSizes { origin: 1250 * MIB, cache: 250 * MIB, ram: 40 * MIB });
        let all = shipped(&sizes).unwrap();
        assert_eq!(all.len(), ARRANGEMENTS.len());
        let cached = all.iter().find(|arrangement| arrangement.name == "dmcache-1s-4h0").unwrap();
        assert_eq!(cached.cache.as_ref().unwrap().size.0, 250 * MIB);
        assert_eq!((cached.origin.size.0, cached.host.ram.0), (1250 * MIB, 40 * MIB));
        let (name, text) = SHIPPED_PRICES;
        let prices = Prices::read(name, text).unwrap();
        assert!(prices.of("hdd").is_ok() && prices.of("ssd").is_ok());
    }

    #[test]
    fn the_smallest_trace_has_room() {
        assert_eq!(TierSizes::of(1, 1), TierSizes { origin: ORIGIN_MIN, cache: 4 * MIB, ram: RAM_MIN });
    }

    #[test]
    fn a_trace_that_no_device_holds_is_refused() {
        let error = shipped(&TierSizes::of(1 << 42, MIB)).unwrap_err().to_string();
        assert!(error.contains("`1h`") && error.contains("does not hold the trace"), "{error}");
    }
}
