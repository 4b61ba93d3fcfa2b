//! What devices and electricity cost.

use serde::Deserialize;

use super::device_level::DeviceLevel;
use crate::CacheError;

/// The bytes of a GB as shops sell it.
const GB: f64 = 1e9;
/// How many times its size on paper a device may hold: makers agreed on a few sectors more.
const SOLD_BELOW: f64 = 1.01;

/// What a device stores in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// On turning platters.
    Hdd,
    /// In flash, which writes wear.
    Ssd,
}

/// What a device costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// What results call it.
    pub device: String,
    /// What it is sold as.
    pub product: String,
    /// What it stores in.
    pub kind: DeviceKind,
    /// The price of one GB.
    pub per_gb: f64,
    /// The GB of a whole device, where devices are bought whole.
    pub size_gb: Option<f64>,
    /// When it cost that.
    pub date: String,
    /// Who says so.
    pub source: String,
    /// The power that it draws.
    pub watts: Option<f64>,
    /// The bytes, in 10^12, that may be written to it.
    pub endurance_tb: Option<f64>,
    /// Who says that.
    pub data_sheet: Option<String>,
}

/// What electricity costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Electricity {
    /// The price of a kWh.
    pub per_kwh: f64,
    /// When it cost that.
    pub date: String,
    /// Who says so.
    pub source: String,
}

/// A file of prices, all in one currency.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Three letters, as `USD`.
    pub currency: String,
    /// What a kWh costs.
    pub electricity: Option<Electricity>,
    /// What devices cost.
    pub devices: Vec<Price>,
}

impl Prices {
    /// What `device` costs.
    ///
    /// # Errors
    /// It has no price; those that have are listed.
    pub fn of(&self, device: &str) -> Result<&Price, CacheError> {
        self.devices.iter().find(|price| price.device == device).ok_or_else(|| {
            let known: Vec<&str> = self.devices.iter().map(|price| price.device.as_str()).collect();
            CacheError::Invalid(format!("`{device}` has no price; these have: {}", known.join(", ")))
        })
    }
}

impl Price {
    /// The GB that are bought for a level: of whole devices, or those that it takes.
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
