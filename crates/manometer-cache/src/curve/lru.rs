//! LRU's curve from a sample of the keys (SHARDS: Waldspurger and others, FAST 2015), with a head that is exact.
//!
//! The objects requested last are known whole. So small capacities are exact, and so are the number of requests that
//! reach deeper and how much lies above all of those. What is left to the sample is how deep they reach: keys that are
//! requested all the time, whose chance to be in a sample is what makes small ones err, have no part in it.

use manometer_trace::{Record, TraceReader};
use rapidhash::v3::rapidhash_v3;

use super::bounds::Bounds;
use super::groups::{GROUPS, half_interval};
use super::known::Known;
use super::{Curve, Point, Wanted, counts, size_of};
use crate::depths::{Counted, Depths, Weighed};
use crate::error::CacheError;
use crate::sampled::Chosen;
use crate::stack::Stack;
use crate::weight::{Bytes, One, Weight};

/// How many objects are known whole.
const HEAD_OBJECTS: usize = 1 << 14;

pub(super) fn curve(reader: &mut dyn TraceReader, bounds: &Bounds, wanted: &Wanted) -> Result<Curve, CacheError> {
    if wanted.by_size {
        walk::<Weighed, Bytes>(reader, bounds, wanted)
    } else {
        walk::<Counted, One>(reader, bounds, wanted)
    }
}

fn walk<D: Depths, W: Weight>(
    reader: &mut dyn TraceReader,
    bounds: &Bounds,
    wanted: &Wanted,
) -> Result<Curve, CacheError> {
    let mut head = Head::<D, W>::new(bounds);
    let mut sample = Sample::<D, W>::new(bounds, wanted)?;
    let mut batch = Vec::new();
    let (mut requests, mut left_out) = (0, 0);
    let damage = loop {
        match reader.read(&mut batch) {
            Ok(0) => break None,
            Err(damage) => break Some(damage),
            Ok(_) => {}
        }
        for record in &batch {
            if !counts(record, wanted.by_size) {
                left_out += 1;
                continue;
            }
            requests += 1;
            let size = size_of(record, wanted.by_size);
            let above = head.request(record, size, bounds, &sample.chosen);
            if sample.request(record, size, bounds, above) {
                head.count_sampled(&sample.chosen);
            }
        }
    };
    let deep = requests - head.hits.iter().sum::<u64>();
    let footprint = head.weight as f64 + (sample.weight - head.sampled) as f64 / sample.chosen.rate();
    let mut misses = requests;
    let shown = if requests == 0 { 0 } else { bounds.worth(footprint) };
    let points = bounds.values().iter().enumerate().take(shown).map_while(|(at, capacity)| {
        misses -= head.hits[at];
        let exact = misses as f64 / requests as f64;
        let is_exact = deep == 0 || *capacity <= head.exact_until;
        let (hit_share, error) = if is_exact { (0.0, 0.0) } else { sample.deep_hits(at)? };
        let weight = deep as f64 / requests as f64;
        let error = (!is_exact).then_some(error * weight);
        Some(Point { capacity: *capacity, miss_ratio: exact - hit_share * weight, error })
    });
    Ok(Curve { points: points.collect(), requests, left_out, footprint, rate: sample.chosen.rate(), damage })
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
    fn new(bounds: &Bounds, wanted: &Wanted) -> Result<Self, CacheError> {
        let (chosen, keys_max) = Chosen::new(wanted.sampling, wanted.seed)?;
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

    /// The share of the deep requests that are hits at the capacity `at`, and half of its interval; none where no deep
    /// request is in the sample.
    fn deep_hits(&self, at: usize) -> Option<(f64, f64)> {
        let mut hits = [0.0; GROUPS];
        for counted in &self.hits[..=at] {
            hits.iter_mut().zip(counted).for_each(|(sum, hits)| *sum += hits);
        }
        let all: f64 = self.deep.iter().sum();
        if all == 0.0 {
            return None;
        }
        let share = hits.iter().sum::<f64>() / all;
        let off: [f64; GROUPS] = std::array::from_fn(|group| hits[group] - share * self.deep[group]);
        Some((share, half_interval(&off, self.chosen.rate()) / all))
    }
}
