//! The part of a trace that is analysed.

use manometer_trace::character::Report;
use serde::Serialize;

use crate::CacheError;
use crate::sampling::Sampling;

/// The most requests for which all policies are simulated on all keys at the recommended size: 24 bytes of memory each,
/// and a minute or two of processor time in all.
const EXACT_REQUESTS_MAX: u64 = 1 << 24;
/// Approximate number of keys that curves are simulated with.
const KEYS: f64 = 65_536.0;
/// Approximate limit of simulated requests, per policy and size of a curve.
const REQUESTS: f64 = 1_000_000.0;
/// The fewest keys of a sample: with fewer, single keys would decide.
const KEYS_MIN: f64 = 4096.0;

/// The part of a trace that is analysed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AdviceBasis {
    /// Whether objects have sizes: those of most requests are known and differ.
    pub by_size: bool,
    /// Bytes of a unit of capacity: 1, or the assumed size of an object.
    pub unit_bytes: u64,
    /// The share of the keys that curves are simulated with.
    pub rate: f64,
    /// Whether LRU's curve is computed from a sample too, because there are so many keys.
    pub is_lru_sampled: bool,
    /// The seed of the sample and of the policies.
    pub seed: u64,
}

impl AdviceBasis {
    /// Selects the part of a trace with the character `report`; objects without a size have `object_bytes`.
    ///
    /// # Errors
    /// The trace has no requests.
    pub fn new(report: &Report, object_bytes: u64) -> Result<Self, CacheError> {
        if report.requests == 0 {
            return Err(CacheError::Invalid("the trace has no requests: there is nothing to advise on".to_owned()));
        }
        if object_bytes == 0 {
            return Err(CacheError::Invalid("the object size is 0: use at least 1 byte".to_owned()));
        }
        let requests = report.requests as f64;
        let sizes = report.value_size_bytes.as_ref().filter(|sizes| sizes.samples >= requests / 2.0);
        let equal = sizes.filter(|sizes| sizes.min == sizes.max && sizes.min >= 1.0).map(|sizes| sizes.min as u64);
        let by_size = sizes.is_some() && equal.is_none();
        let enough = (KEYS / report.keys).min((REQUESTS / requests).max(KEYS_MIN / report.keys));
        Ok(Self {
            by_size,
            unit_bytes: if by_size { 1 } else { equal.unwrap_or(object_bytes) },
            rate: enough.min(1.0),
            is_lru_sampled: report.key_sample.rate < 1.0,
            seed: 1,
        })
    }

    /// The share of the keys that policies are compared with at one size, if the trace has so many requests.
    pub(super) fn ranking_rate(&self, requests: u64) -> f64 {
        if requests <= EXACT_REQUESTS_MAX { 1.0 } else { self.rate }
    }

    /// The sampling for LRU's curve.
    pub(super) fn lru_sampling(&self) -> Sampling {
        if self.is_lru_sampled { Sampling::Keys(KEYS as usize) } else { Sampling::Full }
    }

    /// A capacity in bytes.
    pub fn bytes(&self, capacity: u64) -> u64 {
        capacity.saturating_mul(self.unit_bytes)
    }
}

/// A trace of keys, one per line, for tests.
#[cfg(test)]
pub(super) fn tests_trace(text: &str) -> Box<dyn manometer_trace::TraceReader> {
    let source = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
    manometer_trace::open_stream(source, &manometer_trace::ReadOptions::default()).unwrap().reader
}

#[cfg(test)]
mod tests {
    use manometer_trace::character::{Character, CharacterOptions};

    use super::*;

    fn report(text: &str) -> Report {
        let mut character = Character::new(CharacterOptions::default());
        let mut batch = Vec::new();
        let mut trace = tests_trace(text);
        while trace.read(&mut batch).unwrap() > 0 {
            character.add(&batch);
        }
        character.report()
    }

    #[test]
    fn objects_have_the_sizes_of_most_requests() {
        let sized = report("time,key,size,op\n0,a,10,get\n1,b,20,get\n");
        let basis = AdviceBasis::new(&sized, 4096).unwrap();
        assert_eq!((basis.by_size, basis.unit_bytes, basis.rate), (true, 1, 1.0));
        let equal = AdviceBasis::new(&report("time,key,size,op\n0,a,512,get\n1,b,512,get\n"), 4096).unwrap();
        assert_eq!((equal.by_size, equal.unit_bytes), (false, 512));
        let bare = AdviceBasis::new(&report("7\n0\n1\n"), 4096).unwrap();
        assert_eq!((bare.by_size, bare.bytes(3)), (false, 3 * 4096));
    }

    #[test]
    fn large_traces_are_looked_at_by_a_sample_of_their_keys() {
        let mut report = report("7\n0\n1\n");
        (report.requests, report.keys) = (100_000_000, 1e6);
        let basis = AdviceBasis::new(&report, 4096).unwrap();
        assert_eq!((basis.rate, basis.ranking_rate(report.requests), basis.ranking_rate(1 << 24)), (0.01, 0.01, 1.0));
        (report.requests, report.keys) = (1_000_000, 655_360.0);
        assert_eq!(AdviceBasis::new(&report, 4096).unwrap().rate, 0.1);
    }

    #[test]
    fn nothing_is_advised_on_nothing() {
        assert!(AdviceBasis::new(&Character::new(CharacterOptions::default()).report(), 4096).is_err());
        assert!(AdviceBasis::new(&report("7\n"), 0).is_err());
    }
}
