//! Samples keys with all their requests: SHARDS's spatial sampling.

use rapidhash::v3::rapidhash_v3;

use super::Input;
use super::filtered::Filtered;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::TraceReader;
use crate::record::Record;

/// The number of hash values of keys.
pub const SHARES: u64 = 1 << 24;

/// Decides which keys are in the sample. A smaller sample is a subset of a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpatialFilter {
    threshold: u64,
}

impl SpatialFilter {
    /// Every key.
    pub const ALL: Self = Self { threshold: SHARES };

    /// A sample of about `rate` of the keys.
    ///
    /// # Errors
    /// `rate` is not above 0 and at most 1.
    pub fn of_rate(rate: f64) -> Result<Self, TraceError> {
        let threshold = (rate * SHARES as f64).round();
        if !(1.0..=SHARES as f64).contains(&threshold) {
            return Err(TraceError::Wrong(format!(
                "the rate is {rate}: write a share of the keys, above 0 and up to 1"
            )));
        }
        Ok(Self { threshold: threshold as u64 })
    }

    /// Whether a key is in the sample.
    #[inline]
    pub fn keeps(self, key: u64) -> bool {
        self.threshold == SHARES || rapidhash_v3(&key.to_le_bytes()) % SHARES < self.threshold
    }

    /// The sampled share of the keys.
    pub fn rate(self) -> f64 {
        self.threshold as f64 / SHARES as f64
    }

    /// A filter that keeps half as many keys.
    pub fn halved(self) -> Self {
        Self { threshold: (self.threshold / 2).max(1) }
    }
}

/// The requests for the sampled keys.
pub struct SampledTrace {
    input: Filtered,
    filter: SpatialFilter,
}

impl SampledTrace {
    /// The requests of `input` that `filter` keeps.
    pub fn new(input: Input, filter: SpatialFilter) -> Self {
        Self { input: Filtered::new(input), filter }
    }
}

impl TraceReader for SampledTrace {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let filter = self.filter;
        self.input.read(batch, |record| Ok(filter.keeps(record.key)))
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.input.input.keys()
    }

    fn skipped(&self) -> u64 {
        self.input.input.skipped()
    }

    fn lost(&self) -> u64 {
        self.input.input.lost()
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.input.details()
    }

    fn dropped(&self) -> DroppedFields {
        self.input.dropped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_sample_lies_in_a_larger_one() {
        let (large, small) = (SpatialFilter::of_rate(0.5).unwrap(), SpatialFilter::of_rate(0.1).unwrap());
        let of = |filter: SpatialFilter| (0..100_000).filter(|key| filter.keeps(*key)).collect::<Vec<u64>>();
        assert!(of(small).iter().all(|key| large.keeps(*key)));
        assert!((49_000..51_000).contains(&of(large).len()) && (9_500..10_500).contains(&of(small).len()));
        assert_eq!(of(SpatialFilter::ALL).len(), 100_000);
        assert_eq!(large.halved(), SpatialFilter::of_rate(0.25).unwrap());
    }

    #[test]
    fn a_rate_is_a_share() {
        for wrong in [0.0, -1.0, 1.1, f64::NAN, 1e-9] {
            assert!(SpatialFilter::of_rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!(SpatialFilter::of_rate(1.0).ok(), Some(SpatialFilter::ALL));
    }
}
