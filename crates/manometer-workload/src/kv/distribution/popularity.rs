//! Which records are popular, and by how much: a distribution with all its parameters.

use super::{EXPONENT, hot_records};
use crate::kv::error::KvError;
use crate::kv::settings::KeyDistribution;

/// A distribution with all its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PopularityDistribution {
    /// Uniform.
    Uniform,
    /// Exact Zipf, scattered.
    Zipfian {
        /// Above 0.
        exponent: f64,
    },
    /// YCSB's scrambled zipfian.
    YcsbZipfian,
    /// Exact Zipf over age.
    Latest {
        /// Above 0.
        exponent: f64,
    },
    /// A hot set and the rest.
    Hotspot {
        /// The share of the records that is hot.
        records: f64,
        /// The share of the requests that goes there.
        requests: f64,
    },
    /// Exponential over age.
    Exponential {
        /// The share of the requests, in percent, …
        percentile: f64,
        /// … that goes to this share of the records, the last ones.
        fraction: f64,
    },
    /// One after the other.
    Sequential,
}

impl PopularityDistribution {
    /// Exact Zipf with YCSB's exponent.
    pub const ZIPFIAN: Self = Self::Zipfian { exponent: EXPONENT };

    /// Its name.
    pub fn kind(self) -> KeyDistribution {
        match self {
            Self::Uniform => KeyDistribution::Uniform,
            Self::Zipfian { .. } => KeyDistribution::Zipfian,
            Self::YcsbZipfian => KeyDistribution::YcsbZipfian,
            Self::Latest { .. } => KeyDistribution::Latest,
            Self::Hotspot { .. } => KeyDistribution::Hotspot,
            Self::Exponential { .. } => KeyDistribution::Exponential,
            Self::Sequential => KeyDistribution::Sequential,
        }
    }

    /// Its exponent, where it has one.
    pub fn exponent(self) -> Option<f64> {
        match self {
            Self::Zipfian { exponent } | Self::Latest { exponent } => Some(exponent),
            Self::YcsbZipfian => Some(EXPONENT),
            _ => None,
        }
    }

    /// Checks it for `records` records.
    pub(in crate::kv) fn check(self, records: u64) -> Result<(), KvError> {
        let bad = |name, got: f64, wanted| Err(KvError::BadSetting { name, got: got.to_string(), wanted });
        let share = |value: f64| (0.0..=1.0).contains(&value);
        match self {
            Self::Zipfian { exponent } | Self::Latest { exponent } if !(exponent.is_finite() && exponent > 0.0) => {
                bad("exponent", exponent, "write a number above 0; for 0 use `uniform`")
            }
            Self::Hotspot { records, .. } if !share(records) => {
                bad("hotspotdatafraction", records, "write a share from 0 to 1")
            }
            Self::Hotspot { requests, .. } if !share(requests) => {
                bad("hotspotopnfraction", requests, "write a share from 0 to 1")
            }
            Self::Hotspot { records: hot, requests } if hot_records(records, hot) == 0 && requests > 0.0 => {
                bad("hotspotdatafraction", hot, "not one record is hot, but requests go there; write a larger share")
            }
            Self::Hotspot { records: hot, requests } if hot_records(records, hot) == records && requests < 1.0 => {
                bad("hotspotdatafraction", hot, "every record is hot, but requests go elsewhere; write a smaller share")
            }
            Self::Exponential { percentile, .. } if !(percentile > 0.0 && percentile < 100.0) => {
                bad("exponential.percentile", percentile, "write a number above 0 and below 100")
            }
            Self::Exponential { fraction, .. } if !(fraction.is_finite() && fraction > 0.0) => {
                bad("exponential.frac", fraction, "write a number above 0")
            }
            _ => Ok(()),
        }
    }
}
