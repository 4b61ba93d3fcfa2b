//! The requests for a sample of a trace's keys.

use manometer_trace::Record;
use manometer_trace::transform::sample::SpatialFilter;
use rapidhash::v3::rapidhash_v3;

use crate::error::CacheError;
use crate::key_id::{KeyId, KeyIdTable};
use crate::request::RequestFields;
use crate::requests::{RequestSequence, too_many_keys};

/// The most requests of a sample with a fixed number of keys, which bounds its memory.
const SAMPLED_MAX: usize = 1 << 25;
/// The fewest keys that a sample is reduced to.
const KEYS_MIN: usize = 128;

/// The part of a trace that is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// The whole trace.
    Full,
    /// About this share of its keys, with all their requests.
    Rate(f64),
    /// At most this many keys, with all their requests, in memory that does not grow with the trace. Policies other
    /// than LRU are simulated on the kept requests, with fewer keys if there are too many requests.
    Keys(usize),
}

/// Decides which keys are sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeySample {
    filter: SpatialFilter,
    seed: u64,
}

impl KeySample {
    /// The initial sample of a sampling, and the largest number of keys.
    pub(crate) fn new(sampling: Sampling, seed: u64) -> Result<(Self, usize), CacheError> {
        let (filter, keys_max) = match sampling {
            Sampling::Full => (SpatialFilter::ALL, usize::MAX),
            Sampling::Rate(rate) => (SpatialFilter::of_rate(rate)?, usize::MAX),
            Sampling::Keys(0) => {
                return Err(CacheError::Invalid("a sample of 0 keys gives no estimate: use some thousand".to_owned()));
            }
            Sampling::Keys(keys) => (SpatialFilter::ALL, keys),
        };
        Ok((Self { filter, seed: rapidhash_v3(&seed.to_le_bytes()) }, keys_max))
    }

    #[inline]
    pub(crate) fn contains(&self, key: u64) -> bool {
        self.filter.keeps(key ^ self.seed)
    }

    /// The share of sampled keys.
    pub(crate) fn rate(&self) -> f64 {
        self.filter.rate()
    }

    /// Drops about half of the keys.
    pub(crate) fn halve(&mut self) {
        self.filter = self.filter.halved();
    }
}

/// Collects the requests for sampled keys.
pub(crate) struct RequestSampler {
    key_sample: KeySample,
    keys_max: usize,
    requests_max: usize,
    requests: RequestSequence,
    key_ids: KeyIdTable,
    /// The keys by ID, if some may have to be dropped.
    keys: Vec<u64>,
    kept: Vec<Record>,
}

impl RequestSampler {
    /// An empty sample.
    pub(crate) fn new(sampling: Sampling, seed: u64) -> Result<Self, CacheError> {
        let (key_sample, keys_max) = KeySample::new(sampling, seed)?;
        let requests_max = if keys_max == usize::MAX { usize::MAX } else { SAMPLED_MAX };
        Ok(Self {
            key_sample,
            keys_max,
            requests_max,
            requests: RequestSequence::default(),
            key_ids: KeyIdTable::default(),
            keys: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Adds the sampled ones of some requests, and drops keys if there are too many.
    pub(crate) fn add(&mut self, batch: &[Record], details: RequestFields) -> Result<(), CacheError> {
        let batch = match self.key_sample.rate() < 1.0 {
            true => {
                self.kept.clear();
                self.kept.extend(batch.iter().filter(|record| self.key_sample.contains(record.key)));
                &self.kept
            }
            false => batch,
        };
        self.requests.append(batch, &mut self.key_ids, details)?;
        if self.keys_max == usize::MAX {
            return Ok(());
        }
        let ids = &self.requests.ids()[self.requests.len() - batch.len()..];
        for (id, record) in ids.iter().zip(batch) {
            if *id as usize == self.keys.len() {
                self.keys.push(record.key);
            }
        }
        while self.key_ids.len() > self.keys_max || self.requests.len() > self.requests_max {
            self.halve()?;
        }
        Ok(())
    }

    /// Drops about half of the keys, and renumbers the others.
    fn halve(&mut self) -> Result<(), CacheError> {
        if self.requests.len() > self.requests_max && self.key_ids.len() < KEYS_MIN {
            return Err(CacheError::Invalid(format!(
                "{} keys have more than {} requests: simulate a slice of the trace",
                self.key_ids.len(),
                self.requests_max,
            )));
        }
        self.key_sample.halve();
        let mut kept = 0;
        let number = |key: &u64| {
            let id = self.key_sample.contains(*key).then_some(kept);
            kept += KeyId::from(id.is_some());
            id
        };
        let renamed: Vec<Option<KeyId>> = self.keys.iter().map(number).collect();
        self.requests.remap_keys(&renamed);
        self.keys.retain(|key| self.key_sample.contains(*key));
        self.key_ids = KeyIdTable::default();
        let fits = self.key_ids.assign(self.keys.iter().copied(), &mut Vec::new());
        if fits { Ok(()) } else { Err(too_many_keys()) }
    }

    /// The sample, and the share of sampled keys.
    pub(crate) fn finish(mut self) -> (RequestSequence, f64) {
        self.requests.finish(&self.key_ids);
        (self.requests, self.key_sample.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manometer_trace::TraceOperation;

    fn add(sampled: &mut RequestSampler, keys: impl Iterator<Item = u64>) -> Result<(), CacheError> {
        let batch: Vec<Record> = keys.map(|key| Record::new(TraceOperation::Get, key)).collect();
        sampled.add(&batch, RequestFields::NONE)
    }

    #[test]
    fn neither_keys_nor_requests_become_too_many() {
        let mut sampled =
            RequestSampler { requests_max: 20_000, ..RequestSampler::new(Sampling::Keys(1000), 1).unwrap() };
        for round in 0..100 {
            add(&mut sampled, (0..500).map(|key| key + round * 3)).unwrap();
            assert!(sampled.requests.len() <= 20_000 && sampled.key_ids.len() <= 1000);
        }
        let (requests, rate) = sampled.finish();
        assert_eq!(rate, 0.25);
        assert!((150..250).contains(&requests.keys()), "{}", requests.keys());
    }

    #[test]
    fn requests_for_a_few_keys_that_are_too_many_are_refused() {
        let mut sampled =
            RequestSampler { requests_max: 5000, ..RequestSampler::new(Sampling::Keys(1000), 1).unwrap() };
        let error = add(&mut sampled, std::iter::repeat_n(7, 5001)).unwrap_err();
        assert_eq!(error.to_string(), "1 keys have more than 5000 requests: simulate a slice of the trace");
    }

    #[test]
    fn a_sample_may_be_small_and_not_of_nothing() {
        let mut sampled = RequestSampler::new(Sampling::Keys(100), 1).unwrap();
        add(&mut sampled, 0..1000).unwrap();
        assert!((1..=100).contains(&sampled.key_ids.len()), "{}", sampled.key_ids.len());
        assert!(RequestSampler::new(Sampling::Keys(0), 1).err().unwrap().to_string().contains("0 keys"));
    }
}
