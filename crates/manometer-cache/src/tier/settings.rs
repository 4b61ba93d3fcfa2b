//! The settings of arrangements.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manometer_measure::{ByteSize, regular_file};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::device::DeviceSettings;
use super::host::TierHostSettings;
use super::page_cache::PAGE;
use super::raid_array::{RaidArray, default_chunk, one_device};
use super::second_level::settings::SecondLevelSettings;
use super::workload::TierWorkloadSettings;
use crate::CacheError;
use crate::key_id::KEYS_MAX;
use crate::raid_level::RaidLevel;

/// The most devices of a level.
const COUNT_MAX: u64 = 1024;

/// The content of an arrangement's file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrangementFile {
    name: Option<String>,
    devices: PathBuf,
    workloads: PathBuf,
    #[serde(default = "one")]
    scale: u64,
    #[serde(default = "one")]
    seed: u64,
    host: TierHostSettings,
    origin: OriginSettings,
    cache: Option<SecondLevelSettings>,
    sweep: Option<CacheSweep>,
    equal: Option<EqualDevices>,
}

/// The settings of the origin.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginSettings {
    /// The name of the device.
    pub device: String,
    /// The number of devices.
    #[serde(default = "one_device")]
    pub count: u64,
    /// The RAID level.
    #[serde(default)]
    pub raid: RaidLevel,
    /// The bytes of a RAID chunk.
    #[serde(default = "default_chunk")]
    pub chunk: ByteSize,
    /// The size in use.
    pub size: ByteSize,
}

/// Other cache sizes to simulate.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSweep {
    /// The sizes as shares of the origin.
    pub cache_to_origin: Vec<f64>,
}

/// The arrays of devices to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EqualDevices {
    /// The RAID level.
    pub raid: RaidLevel,
    /// The largest number of devices.
    pub count_max: u64,
}

/// An arrangement of devices below a host.
#[derive(Debug, Clone)]
pub struct Arrangement {
    /// Its name.
    pub name: String,
    /// The divisor of sizes and periods.
    pub scale: u64,
    /// The seed of random choices.
    pub seed: u64,
    /// The host.
    pub host: TierHostSettings,
    /// The origin.
    pub origin: OriginSettings,
    /// The SSD cache, if any.
    pub cache: Option<SecondLevelSettings>,
    /// Other cache sizes to simulate.
    pub sweep: Option<CacheSweep>,
    /// The arrays of origin devices among which one of equal throughput is searched.
    pub equal: Option<EqualDevices>,
    /// The device models by name.
    pub devices: BTreeMap<String, DeviceSettings>,
    /// The workloads by name.
    pub workloads: BTreeMap<String, TierWorkloadSettings>,
}

impl Arrangement {
    /// Reads an arrangement and the files that it names, relative to its directory.
    ///
    /// # Errors
    /// The file, what is wrong with it, and what would be right.
    pub fn load(path: &Path) -> Result<Self, CacheError> {
        let file: ArrangementFile = read(path)?;
        let beside = |other: &Path| path.parent().unwrap_or(Path::new("")).join(other);
        let arrangement = Self {
            name: file.name.unwrap_or_else(|| stem(path)),
            scale: file.scale,
            seed: file.seed,
            host: file.host,
            origin: file.origin,
            cache: file.cache,
            sweep: file.sweep,
            equal: file.equal,
            devices: read(&beside(&file.devices))?,
            workloads: read(&beside(&file.workloads))?,
        };
        arrangement.validate().map_err(|text| CacheError::Invalid(format!("{}: {text}", path.display())))?;
        Ok(arrangement)
    }

    /// Checks the arrangement.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn validate(&self) -> Result<(), String> {
        if self.scale == 0 {
            return Err("`scale` is 0: 1 is full size".to_owned());
        }
        for (name, device) in &self.devices {
            device.validation_error().map_or(Ok(()), |text| Err(format!("device `{name}`: {text}")))?;
        }
        self.host.validation_error().map_or(Ok(()), |text| Err(format!("`host`: {text}")))?;
        let OriginSettings { device, size, .. } = &self.origin;
        self.check_level("origin", device, self.origin.array(), size.0)?;
        if let Some(cache) = &self.cache {
            cache.validation_error().map_or(Ok(()), |text| Err(format!("`cache`: {text}")))?;
            self.check_level("cache", &cache.device, cache.array(), cache.size.0)?;
            let blocks = (self.origin.size.0 / self.scale).div_ceil(cache.block.0);
            if blocks == 0 || blocks > KEYS_MAX as u64 {
                return Err("`cache.block` does not fit the origin: it needs 1 to 2^31 of them".to_owned());
            }
        }
        if size.0 / self.scale / PAGE >= u64::from(u32::MAX) {
            return Err(
                "`origin.size` is 16 TiB or more at this `scale`: make it smaller, or `scale` larger".to_owned()
            );
        }
        if self.equal.is_some_and(|equal| equal.count_max > COUNT_MAX) {
            return Err(format!("`equal.count_max` is above {COUNT_MAX}"));
        }
        let ratios = self.sweep.iter().flat_map(|sweep| &sweep.cache_to_origin);
        if let Some(ratio) = ratios.into_iter().find(|ratio| !(**ratio > 0.0 && **ratio <= 1.0)) {
            return Err(format!("`sweep.cache_to_origin`: {ratio} is not above 0 and up to 1"));
        }
        if (self.sweep.is_some() || self.equal.is_some()) && self.cache.is_none() {
            return Err("`sweep` and `equal` are about a `[cache]`, which is not there".to_owned());
        }
        for other in self.swept() {
            other.validate().map_err(|text| format!("`sweep.cache_to_origin`, {}: {text}", other.name))?;
        }
        match self.equal {
            Some(equal) if equal.counts().next().is_none() => {
                Err(format!("`equal.count_max` is {}: its `raid` needs more devices", equal.count_max))
            }
            _ => Ok(()),
        }
    }

    /// This arrangement with each of the other cache sizes.
    pub fn swept(&self) -> Vec<Self> {
        let ratios = self.sweep.iter().flat_map(|sweep| &sweep.cache_to_origin);
        ratios.map(|ratio| self.with_cache_of(*ratio)).collect()
    }

    fn check_level(&self, level: &str, device: &str, array: RaidArray, bytes: u64) -> Result<(), String> {
        let Some(settings) = self.devices.get(device) else {
            let known: Vec<&str> = self.devices.keys().map(String::as_str).collect();
            return Err(format!("`{level}.device`: there is no device `{device}`: there are `{}`", known.join("`, `")));
        };
        if array.members > COUNT_MAX {
            return Err(format!("`{level}.count` is above {COUNT_MAX}"));
        }
        array.validation_error().map_or(Ok(()), |text| Err(format!("`{level}`: {text}")))?;
        let room = settings.capacity().saturating_mul(array.data_members());
        match bytes {
            0 => Err(format!("`{level}.size` is 0")),
            _ if bytes > room => Err(format!("`{level}.size` is {bytes} bytes, and its devices hold {room}")),
            _ => Ok(()),
        }
    }

    /// This arrangement without the cache, on `count` devices.
    #[must_use]
    pub fn without_cache(&self, count: u64, raid: RaidLevel) -> Self {
        let mut other = self.clone();
        (other.cache, other.sweep, other.equal) = (None, None, None);
        (other.origin.count, other.origin.raid) = (count, raid);
        other.name = format!("{} without a cache on {count} × {}", self.name, self.origin.device);
        other
    }

    /// This arrangement with a cache of another size.
    #[must_use]
    pub fn with_cache_of(&self, share: f64) -> Self {
        let mut other = self.clone();
        other.sweep = None;
        other.name = format!("{} at {}", self.name, share);
        if let Some(cache) = &mut other.cache {
            cache.size = ByteSize((self.origin.size.0 as f64 * share) as u64);
        }
        other
    }
}

impl EqualDevices {
    /// The numbers of devices that form such an array, starting with a single device.
    pub fn counts(self) -> impl Iterator<Item = (u64, RaidLevel)> {
        let array = move |members| (members, if members == 1 { RaidLevel::None } else { self.raid });
        (1..=self.count_max).map(array).filter(|(members, raid)| {
            RaidArray { raid: *raid, members: *members, chunk: default_chunk().0 }.validation_error().is_none()
        })
    }
}

impl OriginSettings {
    /// The RAID array.
    pub fn array(&self) -> RaidArray {
        RaidArray { raid: self.raid, members: self.count, chunk: self.chunk.0 }
    }
}

fn one() -> u64 {
    1
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, CacheError> {
    let wrong = |text: String| CacheError::Invalid(format!("{}: {text}", path.display()));
    let text =
        regular_file::read_text(path, FILE_BYTES_MAX).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    toml::from_str(&text).map_err(|error| wrong(error.to_string()))
}
