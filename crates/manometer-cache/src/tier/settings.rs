//! Arrangements as files describe them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::device::DeviceSettings;
use super::host::HostSettings;
use super::page_cache::PAGE;
use super::raid_array::{RaidArray, default_chunk, one_device};
use super::second_level::settings::SecondLevelSettings;
use super::workload::WorkloadSettings;
use crate::CacheError;
use crate::key_id::KEYS_MAX;
use crate::raid_level::RaidLevel;

/// The most devices of a level.
const COUNT_MAX: u64 = 1024;

/// An arrangement as a file describes it.
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
    host: HostSettings,
    origin: OriginSettings,
    cache: Option<SecondLevelSettings>,
    sweep: Option<CacheSweep>,
    equal: Option<EqualDevices>,
}

/// What data come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginSettings {
    /// Which of the devices.
    pub device: String,
    /// How many of them.
    #[serde(default = "one_device")]
    pub count: u64,
    /// How they are joined.
    #[serde(default)]
    pub raid: RaidLevel,
    /// The bytes of a RAID chunk.
    #[serde(default = "default_chunk")]
    pub chunk: ByteSize,
    /// How much of them is used.
    pub size: ByteSize,
}

/// Which caches are tried instead.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSweep {
    /// The sizes of the cache, each as a share of the origin.
    pub cache_to_origin: Vec<f64>,
}

/// With how many devices it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EqualDevices {
    /// How they are joined.
    pub raid: RaidLevel,
    /// How many at most.
    pub count_max: u64,
}

/// An arrangement of devices under a host.
#[derive(Debug, Clone)]
pub struct Arrangement {
    /// Its name.
    pub name: String,
    /// What sizes and periods are divided by.
    pub scale: u64,
    /// Where chance comes from.
    pub seed: u64,
    /// The host.
    pub host: HostSettings,
    /// What data come from.
    pub origin: OriginSettings,
    /// The SSD before it.
    pub cache: Option<SecondLevelSettings>,
    /// Which caches are tried instead.
    pub sweep: Option<CacheSweep>,
    /// How many devices of the origin without a cache do as much is looked for among these.
    pub equal: Option<EqualDevices>,
    /// The devices there are.
    pub devices: BTreeMap<String, DeviceSettings>,
    /// The workloads there are.
    pub workloads: BTreeMap<String, WorkloadSettings>,
}

impl Arrangement {
    /// Reads an arrangement and the files that it names, which lie beside it.
    ///
    /// # Errors
    /// What is wrong with which file, and what would be right.
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

    /// Whether it can be.
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

    /// The same with each of the caches that are tried instead.
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

    /// The same without the cache, on so many devices.
    #[must_use]
    pub fn without_cache(&self, count: u64, raid: RaidLevel) -> Self {
        let mut other = self.clone();
        (other.cache, other.sweep, other.equal) = (None, None, None);
        (other.origin.count, other.origin.raid) = (count, raid);
        other.name = format!("{} without a cache on {count} × {}", self.name, self.origin.device);
        other
    }

    /// The same with a cache of another size.
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
    /// The numbers of devices that make such an array, one by itself among them.
    pub fn counts(self) -> impl Iterator<Item = (u64, RaidLevel)> {
        let array = move |members| (members, if members == 1 { RaidLevel::None } else { self.raid });
        (1..=self.count_max).map(array).filter(|(members, raid)| {
            RaidArray { raid: *raid, members: *members, chunk: default_chunk().0 }.validation_error().is_none()
        })
    }
}

impl OriginSettings {
    /// The array that it is.
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

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, CacheError> {
    let wrong = |text: String| CacheError::Invalid(format!("{}: {text}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    toml::from_str(&text).map_err(|error| wrong(error.to_string()))
}
