//! The lifetime of an arrangement's SSDs.

use super::device_level::DeviceLevel;
use super::price::Price;
use super::result::ArrangementResult;

pub(super) const DAYS_PER_YEAR: f64 = 365.25;
const SECONDS_PER_YEAR: f64 = DAYS_PER_YEAR * 86_400.0;
const TB: f64 = 1e12;

/// The lifetime of SSDs under a continuous workload.
#[derive(Debug, Clone, PartialEq)]
pub enum SsdLife {
    /// There are no SSDs.
    NoSsd,
    /// Nothing was written to them.
    NoWear,
    /// The years until their rated endurance is used up.
    Years(f64),
    /// The reason why it is unknown.
    Unknown(String),
}

impl SsdLife {
    /// The lifetime of the levels in `flash`, each with the price of its devices.
    pub(super) fn of(outcome: &ArrangementResult, flash: &[(&DeviceLevel, &Price)]) -> Self {
        let (level, price) = match flash {
            [] => return Self::NoSsd,
            [level] => *level,
            _ => return Self::Unknown("it is unknown which of two levels of SSDs was written to".to_owned()),
        };
        let Some(endurance_tb) = price.endurance_tb else {
            return Self::Unknown(format!("the prices have no `endurance_tb` for `{}`", price.device));
        };
        match (outcome.ssd_bytes_written, outcome.seconds) {
            (Some(0.0), _) => Self::NoWear,
            (Some(bytes), Some(seconds)) => {
                Self::Years(endurance_tb * TB * f64::from(level.count) / (bytes / seconds * SECONDS_PER_YEAR))
            }
            (Some(_), None) => {
                Self::Unknown("the results lack `seconds`, the time over which SSDs were written".to_owned())
            }
            (None, _) => Self::Unknown("the results lack `ssd_bytes_written`".to_owned()),
        }
    }

    /// How often SSDs are replaced within `years`, if known.
    pub(super) fn replacements(&self, years: f64) -> Option<f64> {
        match self {
            Self::NoSsd | Self::NoWear => Some(0.0),
            Self::Years(life) => Some(((years / life).ceil() - 1.0).max(0.0)),
            Self::Unknown(_) => None,
        }
    }
}
