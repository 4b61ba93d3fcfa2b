//! The kernel's counters of an array.

use std::fs;
use std::path::Path;

use manometer_measure::host::CacheCounters;
use serde::{Deserialize, Serialize};

use super::block_device::sysfs;
use super::built_array::{BuiltArray, CacheKind};
use crate::{LabError, program};

const SECTOR_BYTES: u64 = 512;

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
    CacheCounters::read_bcache(&directory).map_err(LabError::at(directory))
}

fn dm_cache(device: &Path) -> Result<CacheCounters, LabError> {
    let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let status = program::run("dmsetup", &["status", &name])?;
    CacheCounters::parse_dm_cache(&status)
        .ok_or_else(|| LabError::Kernel(format!("the status of dm-cache is `{}`", status.trim())))
}
