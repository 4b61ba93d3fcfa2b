//! Prices of devices and electricity.

use serde::Deserialize;

use super::device_level::DeviceLevel;
use crate::CacheError;

/// Bytes of a GB as sold.
const GB: f64 = 1e9;
/// The largest ratio of a device's capacity to its nominal size: makers add a few sectors.
const SOLD_BELOW: f64 = 1.01;

/// The storage medium of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A hard disk.
    Hdd,
    /// An SSD, whose flash wears with writes.
    Ssd,
}

/// The price of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The name of the device in results.
    pub device: String,
    /// The product's name.
    pub product: String,
    /// The storage medium.
    pub kind: DeviceKind,
    /// The price per GB.
    pub per_gb: f64,
    /// The lowest and the highest offer per GB; both the price itself if no range is given.
    pub per_gb_interval: [f64; 2],
    /// The size of a whole device in GB, if devices are bought whole.
    pub size_gb: Option<f64>,
    /// The date of the price.
    pub date: String,
    /// The source of the price.
    pub source: String,
    /// Power consumption in watts.
    pub watts: Option<f64>,
    /// Rated endurance in 10^12 bytes written.
    pub endurance_tb: Option<f64>,
    /// The source of these data.
    pub data_sheet: Option<String>,
}

/// The price of electricity.
#[derive(Debug, Clone, PartialEq)]
pub struct Electricity {
    /// The price per kWh.
    pub per_kwh: f64,
    /// The date of the price.
    pub date: String,
    /// The source of the price.
    pub source: String,
}

/// A price file; all prices are in one currency.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// The currency as three letters, such as `USD`.
    pub currency: String,
    /// The price of electricity.
    pub electricity: Option<Electricity>,
    /// The prices of devices.
    pub devices: Vec<Price>,
}

impl Prices {
    /// The price of `device`.
    ///
    /// # Errors
    /// It has none; the error lists the devices that have one.
    pub fn of(&self, device: &str) -> Result<&Price, CacheError> {
        self.devices.iter().find(|price| price.device == device).ok_or_else(|| {
            let known: Vec<&str> = self.devices.iter().map(|price| price.device.as_str()).collect();
            CacheError::Invalid(format!("`{device}` has no price; these have: {}", known.join(", ")))
        })
    }
}

impl Prices {
    /// All prices at their lowest.
    #[must_use]
    pub fn at_lowest(&self) -> Self {
        self.with(|price| price.per_gb_interval[0])
    }

    /// All prices at their highest.
    #[must_use]
    pub fn at_highest(&self) -> Self {
        self.with(|price| price.per_gb_interval[1])
    }

    fn with(&self, per_gb: impl Fn(&Price) -> f64) -> Self {
        let devices = self.devices.iter().map(|price| Price { per_gb: per_gb(price), ..price.clone() });
        Self { devices: devices.collect(), ..self.clone() }
    }
}

impl Price {
    /// The GB bought for a level: of whole devices, or as used.
    pub(super) fn gb_bought(&self, level: &DeviceLevel) -> Result<f64, CacheError> {
        let needed = level.raw_bytes() / GB;
        let Some(size) = self.size_gb else { return Ok(needed) };
        let bought = f64::from(level.count) * size;
        if needed > bought * SOLD_BELOW {
            return Err(CacheError::Invalid(format!(
                "{needed} GB with their copies do not fit on {} × {} ({size} GB each): price a larger device",
                level.count, self.device
            )));
        }
        Ok(bought)
    }
}
