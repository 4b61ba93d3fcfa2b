//! A storage level: devices of one kind, single or as a RAID array.

use serde::Deserialize;
use serde_json::Value;

use super::positive::positive;
use crate::error::CacheError;
use crate::raid_level::RaidLevel;

/// The devices of the origin or of the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceLevel {
    /// The name of the devices in the price file.
    pub device: String,
    /// The number of devices.
    pub count: u32,
    /// Usable capacity in bytes, after RAID.
    pub bytes: f64,
    /// The RAID level, if known.
    pub raid: RaidLevel,
}

/// A level as stored in a result file.
#[derive(Debug, Deserialize)]
pub(super) struct RawLevel {
    device: String,
    count: u32,
    bytes: f64,
    raid: Option<Value>,
}

impl DeviceLevel {
    /// Raw capacity in bytes, with copies and parity; without a RAID level there is no redundancy.
    pub fn raw_bytes(&self) -> f64 {
        let count = f64::from(self.count);
        self.bytes
            * match self.raid {
                RaidLevel::None | RaidLevel::Raid0 => 1.0,
                RaidLevel::Raid1 => count,
                RaidLevel::Raid5 => count / (count - 1.0),
                RaidLevel::Raid10 => 2.0,
            }
    }
}

impl RawLevel {
    pub(super) fn check(self, name: &str) -> Result<DeviceLevel, CacheError> {
        let Self { device, count, bytes, raid } = self;
        let raid = raid.map_or(Ok(RaidLevel::None), |raid| read_raid(name, &raid))?;
        let least = devices_min(raid);
        if count < least {
            return Err(CacheError::Invalid(format!("`{name}.count` is {count}: it has to be {least} at least")));
        }
        Ok(DeviceLevel { device, count, bytes: positive(&format!("{name}.bytes"), bytes)?, raid })
    }
}

fn read_raid(name: &str, value: &Value) -> Result<RaidLevel, CacheError> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.strip_prefix("raid").unwrap_or(&text) {
        "0" => Ok(RaidLevel::Raid0),
        "1" => Ok(RaidLevel::Raid1),
        "5" => Ok(RaidLevel::Raid5),
        "10" => Ok(RaidLevel::Raid10),
        _ => Err(CacheError::Invalid(format!("`{name}.raid` is {value}: take 0, 1, 5 or 10"))),
    }
}

fn devices_min(raid: RaidLevel) -> u32 {
    match raid {
        RaidLevel::None | RaidLevel::Raid0 => 1,
        RaidLevel::Raid1 | RaidLevel::Raid10 => 2,
        RaidLevel::Raid5 => 3,
    }
}
