//! LRU's curve from a sample of the keys (SHARDS: Waldspurger and others, FAST 2015), with a head that is exact.
//!
//! The objects requested last are known whole. So small capacities are exact, and so are the number of requests that
//! reach deeper and how much lies above all of those. What is left to the sample is how deep they reach: keys that are
//! requested all the time, whose chance to be in a sample is what makes small ones err, have no part in it.

use manometer_trace::Record;
use rapidhash::v3::rapidhash_v3;

use super::bounds::Bounds;
use super::groups::{GROUPS, half_interval};
use super::known::Known;
use super::{Curve, Point, Sampling, Walk, Wanted, size_of};
use crate::depths::{Counted, Depths, Weighed};
use crate::error::CacheError;
use crate::sampled::Chosen;
use crate::stack::Stack;
use crate::weight::{Bytes, One, Weight};

/// How many objects are known whole.
const HEAD_OBJECTS: usize = 1 << 14;

/// A walk that has just begun.
pub(super) fn walk<'a>(
    bounds: &'a Bounds,
    wanted: &Wanted,
    sampling: Sampling,
) -> Result<Box<dyn Walk + 'a>, CacheError> {
    Ok(match wanted.by_size {
        true => Box::new(Both::<Weighed, Bytes>::new(bounds, wanted, sampling)?),
        false => Box::new(Both::<Counted, One>::new(bounds, wanted, sampling)?),
    })
}

/// The head and the sample, side by side.
struct Both<'a, D, W> {
    bounds: &'a Bounds,
    by_size: bool,
    head: Head<D, W>,
    sample: Sample<D, W>,
    requests: u64,
}

impl<'a, D: Depths, W: Weight> Both<'a, D, W> {
    fn new(bounds: &'a Bounds, wanted: &Wanted, sampling: Sampling) -> Result<Self, CacheError> {
        let (head, sample) = (Head::new(bounds), Sample::new(bounds, sampling, wanted.seed)?);
        Ok(Self { bounds, by_size: wanted.by_size, head, sample, requests: 0 })
    }

    /// The share of all requests that reach below the head.
    fn deep(&self) -> f64 {
        (self.requests - self.head.hits.iter().sum::<u64>()) as f64 / self.requests as f64
    }
}

impl<D: Depths, W: Weight> Walk for Both<'_, D, W> {
    fn take(&mut self, batch: &[Record]) -> Result<(), CacheError> {
        self.requests += batch.len() as u64;
        for record in batch {
            let size = size_of(record, self.by_size);
            let above = self.head.request(record, size, self.bounds, &self.sample.chosen);
            if self.sample.request(record, size, self.bounds, above) {
                self.head.count_sampled(&self.sample.chosen);
            }
        }
        Ok(())
    }

    fn curve(&self) -> Curve {
        let (head, sample, rate) = (&self.head, &self.sample, self.sample.chosen.rate());
        let footprint = head.weight as f64 + (sample.weight - head.sampled) as f64 / rate;
        let shown = if self.requests == 0 { 0 } else { self.bounds.worth(footprint) };
        let deep = self.deep();
        let (mut misses, mut deep_hits) = (self.requests, [0.0; GROUPS]);
        let points = self.bounds.values().iter().enumerate().take(shown).map_while(|(at, capacity)| {
            misses -= head.hits[at];
            deep_hits.iter_mut().zip(&sample.hits[at]).for_each(|(sum, hits)| *sum += hits);
            let is_exact = deep == 0.0 || *capacity <= head.exact_until;
            let (hit_share, error) = if is_exact { (0.0, 0.0) } else { sample.share(&deep_hits)? };
            let miss_ratio = misses as f64 / self.requests as f64 - hit_share * deep;
            Some(Point { capacity: *capacity, miss_ratio, error: (!is_exact).then_some(error * deep) })
        });
        Curve { points: points.collect(), footprint, rate, smallest: 0.0 }
    }
}

/// What lies above a request that reaches below the head, at the least.
#[derive(Debug, Clone, Copy)]
struct Above {
    /// What the head weighs.
    weight: u64,
    /// Of that, what is in the sample as well.
    sampled: u64,
}

/// The objects requested last, and how deep requests reach among them.
struct Head<D, W> {
    known: Known,
    stack: Stack<D, W>,
    hits: Vec<u64>,
    weight: u64,
    sampled: u64,
    /// Up to which capacity no request for an object outside can be a hit.
    exact_until: u64,
}

impl<D: Depths, W: Weight> Head<D, W> {
    fn new(bounds: &Bounds) -> Self {
        let hits = vec![0; bounds.values().len() + 1];
        Self { known: Known::default(), stack: Stack::new(), hits, weight: 0, sampled: 0, exact_until: u64::MAX }
    }

    /// Takes a request in: what lies above it where it reaches deeper.
    #[inline]
    fn request(&mut self, record: &Record, size: u64, bounds: &Bounds, chosen: &Chosen) -> Option<Above> {
        let above = Above { weight: self.weight, sampled: self.sampled };
        let id = self.known.id(record.key);
        let before = self.stack.weight(id);
        let depth = self.stack.request(id, size);
        let now = self.stack.weight(id);
        let is_sampled = before != now && chosen.keeps(record.key);
        self.weight = self.weight + now - before;
        self.sampled = if is_sampled { self.sampled + now - before } else { self.sampled };
        if let Some(depth) = depth {
            self.hits[bounds.at_least(depth)] += 1;
            return None;
        }
        if self.stack.len() > HEAD_OBJECTS {
            self.drop_oldest(chosen);
            self.exact_until = self.exact_until.min(self.weight);
        }
        Some(above)
    }

    fn drop_oldest(&mut self, chosen: &Chosen) {
        let Some((id, weight)) = self.stack.pop_oldest() else { return };
        self.weight -= weight;
        self.sampled -= if chosen.keeps(self.known.key(id)) { weight } else { 0 };
        self.known.forget(id);
    }

    /// Finds out anew what is in the sample as well.
    fn count_sampled(&mut self, chosen: &Chosen) {
        let known = self.known.iter().filter(|(key, _)| chosen.keeps(*key));
        self.sampled = known.map(|(_, id)| self.stack.weight(id)).sum();
    }
}

/// The requests for some of the keys, and how deep those below the head reach.
struct Sample<D, W> {
    chosen: Chosen,
    keys_max: usize,
    known: Known,
    stack: Stack<D, W>,
    weight: u64,
    /// For each group of keys how many requests were deep, and to which capacity each of them reached.
    deep: [f64; GROUPS],
    hits: Vec<[f64; GROUPS]>,
}

impl<D: Depths, W: Weight> Sample<D, W> {
    fn new(bounds: &Bounds, sampling: Sampling, seed: u64) -> Result<Self, CacheError> {
        let (chosen, keys_max) = Chosen::new(sampling, seed)?;
        Ok(Self {
            chosen,
            keys_max,
            known: Known::default(),
            stack: Stack::new(),
            weight: 0,
            deep: [0.0; GROUPS],
            hits: vec![[0.0; GROUPS]; bounds.values().len() + 1],
        })
    }

    /// Takes a request in; whether fewer keys are kept from now on.
    #[inline]
    fn request(&mut self, record: &Record, size: u64, bounds: &Bounds, above: Option<Above>) -> bool {
        if !self.chosen.keeps(record.key) {
            return false;
        }
        let rate = self.chosen.rate();
        let id = self.known.id(record.key);
        let before = self.stack.weight(id);
        let depth = self.stack.request(id, size);
        let own = self.stack.weight(id);
        self.weight = self.weight + own - before;
        if let Some(above) = above {
            let group = rapidhash_v3(&record.key.to_le_bytes()) as usize % GROUPS;
            self.deep[group] += 1.0 / rate;
            if let Some(depth) = depth {
                let between = (depth - own).saturating_sub(above.sampled) as f64 / rate;
                let depth = above.weight + between.round() as u64 + own;
                self.hits[bounds.at_least(depth)][group] += 1.0 / rate;
            }
        }
        let is_full = self.known.len() > self.keys_max;
        if is_full {
            self.drop_half();
        }
        is_full
    }

    fn drop_half(&mut self) {
        self.chosen.halve();
        let chosen = self.chosen;
        for id in self.known.retain(|key| chosen.keeps(key)) {
            self.weight -= self.stack.weight(id);
            self.stack.forget(id);
        }
    }

    /// The share of the deep requests that so many hits are, and half of its interval; none where no deep request is in
    /// the sample.
    fn share(&self, hits: &[f64; GROUPS]) -> Option<(f64, f64)> {
        let all: f64 = self.deep.iter().sum();
        let share = hits.iter().sum::<f64>() / all;
        let off = std::array::from_fn(|group| hits[group] - share * self.deep[group]);
        (all > 0.0).then(|| (share, half_interval(&off, self.chosen.rate()) / all))
    }
}
