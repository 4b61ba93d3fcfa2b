//! A level of storage: devices of one kind, alone or as a RAID.

use serde::Deserialize;
use serde_json::Value;

use super::number::above_zero;
use crate::CacheError;

/// How several devices hold one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raid {
    /// Striped: nothing is held twice.
    Raid0,
    /// Mirrored: every device holds all.
    Raid1,
    /// Striped with one device's worth of parity.
    Raid5,
    /// Striped over mirrored pairs.
    Raid10,
}

/// The devices that hold the data, or the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// What the prices call the devices.
    pub device: String,
    /// How many there are.
    pub count: u32,
    /// What all of them hold together, after RAID.
    pub bytes: f64,
    /// How, where that is told.
    pub raid: Option<Raid>,
}

/// A level as results have it.
#[derive(Debug, Deserialize)]
pub(super) struct LevelTable {
    device: String,
    count: u32,
    bytes: f64,
    raid: Option<Value>,
}

impl Level {
    /// What the devices hold with copies and parity; without a level of RAID nothing is held twice.
    pub fn raw_bytes(&self) -> f64 {
        let count = f64::from(self.count);
        self.bytes
            * match self.raid {
                None | Some(Raid::Raid0) => 1.0,
                Some(Raid::Raid1) => count,
                Some(Raid::Raid5) => count / (count - 1.0),
                Some(Raid::Raid10) => 2.0,
            }
    }
}

impl LevelTable {
    pub(super) fn check(self, name: &str) -> Result<Level, CacheError> {
        let Self { device, count, bytes, raid } = self;
        let raid = raid.filter(|raid| !raid.is_null()).map(|raid| Raid::read(name, &raid)).transpose()?;
        let least = raid.map_or(1, Raid::devices_min);
        if count < least {
            return Err(CacheError::Wrong(format!("`{name}.count` is {count}: it has to be {least} at least")));
        }
        Ok(Level { device, count, bytes: above_zero(&format!("{name}.bytes"), bytes)?, raid })
    }
}

impl Raid {
    fn read(name: &str, value: &Value) -> Result<Self, CacheError> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match text.strip_prefix("raid").unwrap_or(&text) {
            "0" => Ok(Self::Raid0),
            "1" => Ok(Self::Raid1),
            "5" => Ok(Self::Raid5),
            "10" => Ok(Self::Raid10),
            _ => Err(CacheError::Wrong(format!("`{name}.raid` is {value}: take 0, 1, 5 or 10"))),
        }
    }

    fn devices_min(self) -> u32 {
        match self {
            Self::Raid0 => 1,
            Self::Raid1 | Self::Raid10 => 2,
            Self::Raid5 => 3,
        }
    }
}
