//! How long the SSDs of an arrangement last.

use super::device_level::DeviceLevel;
use super::price::Price;
use super::result::ArrangementResult;

pub(super) const DAYS_PER_YEAR: f64 = 365.25;
const SECONDS_PER_YEAR: f64 = DAYS_PER_YEAR * 86_400.0;
const TB: f64 = 1e12;

/// How long SSDs last under a workload that goes on without a pause.
#[derive(Debug, Clone, PartialEq)]
pub enum SsdLife {
    /// There are none.
    NoSsd,
    /// Nothing was written to them.
    NoWear,
    /// Until as much is written as they are rated for.
    Years(f64),
    /// Why it is not known.
    Unknown(String),
}

impl SsdLife {
    /// The life of the levels in `flash`, each with what its devices are.
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

    /// How many times SSDs are replaced over `years`, where that is known.
    pub(super) fn replacements(&self, years: f64) -> Option<f64> {
        match self {
            Self::NoSsd | Self::NoWear => Some(0.0),
            Self::Years(life) => Some(((years / life).ceil() - 1.0).max(0.0)),
            Self::Unknown(_) => None,
        }
    }
}
