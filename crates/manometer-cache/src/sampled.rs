//! The requests for some of a trace's keys, held to be simulated.

use manometer_trace::transform::sample::SpatialFilter;
use manometer_trace::{Record, TraceReader};
use rapidhash::v3::rapidhash_v3;

use crate::curve::Sampling;
use crate::error::CacheError;
use crate::number::{Id, Numbers};
use crate::requests::{Details, Requests, too_many_keys};

/// Which keys are in a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen {
    filter: SpatialFilter,
    seed: u64,
}

impl Chosen {
    /// The keys that a sampling begins with, and how many it keeps at most.
    pub(crate) fn new(sampling: Sampling, seed: u64) -> Result<(Self, usize), CacheError> {
        let (filter, keys_max) = match sampling {
            Sampling::Whole => (SpatialFilter::ALL, usize::MAX),
            Sampling::Rate(rate) => (SpatialFilter::of_rate(rate)?, usize::MAX),
            Sampling::Keys(keys) => (SpatialFilter::ALL, keys.max(1)),
        };
        Ok((Self { filter, seed: rapidhash_v3(&seed.to_le_bytes()) }, keys_max))
    }

    #[inline]
    pub(crate) fn keeps(&self, key: u64) -> bool {
        self.filter.keeps(key ^ self.seed)
    }

    /// The share of the keys that is in it.
    pub(crate) fn rate(&self) -> f64 {
        self.filter.rate()
    }

    /// Leaves about half of them.
    pub(crate) fn halve(&mut self) {
        self.filter = self.filter.halved();
    }
}

/// A sample, and what it stands for.
pub(crate) struct Sampled {
    pub(crate) requests: Requests,
    /// The share of the keys that is in it.
    pub(crate) rate: f64,
    /// How many requests there are of all keys.
    pub(crate) all: u64,
}

impl Sampled {
    /// Reads a trace to its end, or to where it is damaged, and shows each request that counts, in the sample or not.
    pub(crate) fn read(
        reader: &mut dyn TraceReader,
        mut details: Details,
        sampling: Sampling,
        seed: u64,
        each: &mut dyn FnMut(&Record),
    ) -> Result<Self, CacheError> {
        let (mut chosen, keys_max) = Chosen::new(sampling, seed)?;
        let (mut requests, mut numbers, mut keys) = (Requests::default(), Numbers::default(), Vec::new());
        let (mut batch, mut all) = (Vec::new(), 0);
        loop {
            match reader.read(&mut batch) {
                Ok(0) => break,
                Ok(_) => {}
                Err(damage) => {
                    requests.damaged(damage);
                    break;
                }
            }
            if all == 0 && batch.first().is_some_and(|record| record.time_ns.is_none()) {
                details.times = false;
            }
            requests.leave_out(&mut batch, details);
            all += batch.len() as u64;
            batch.iter().for_each(&mut *each);
            batch.retain(|record| chosen.keeps(record.key));
            requests.take_in(&batch, &mut numbers, details)?;
            if keys_max == usize::MAX {
                continue;
            }
            let ids = &requests.ids()[requests.len() - batch.len()..];
            for (id, record) in ids.iter().zip(&batch) {
                if *id as usize == keys.len() {
                    keys.push(record.key);
                }
            }
            while numbers.len() > keys_max {
                chosen.halve();
                numbers = keep(chosen, &mut keys, &mut requests)?;
            }
        }
        requests.end(&numbers);
        Ok(Self { requests, rate: chosen.rate(), all })
    }
}

/// Drops all keys that are not chosen, and numbers the others anew.
fn keep(chosen: Chosen, keys: &mut Vec<u64>, requests: &mut Requests) -> Result<Numbers, CacheError> {
    let mut kept = 0;
    let number = |key: &u64| {
        let id = chosen.keeps(*key).then_some(kept);
        kept += Id::from(id.is_some());
        id
    };
    let renamed: Vec<Option<Id>> = keys.iter().map(number).collect();
    requests.rename(&renamed);
    keys.retain(|key| chosen.keeps(*key));
    let mut numbers = Numbers::default();
    let fits = numbers.number(keys.iter().copied(), &mut Vec::new());
    if fits { Ok(numbers) } else { Err(too_many_keys()) }
}
