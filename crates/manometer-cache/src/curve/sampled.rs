//! LRU's curve from a sample of the keys (SHARDS: Waldspurger and others, FAST 2015), with an exact head.
//!
//! The most recently used objects are tracked exactly. So small capacities are exact, and so are the number of deeper
//! requests and the least weight above them. Only the depth of deeper requests is estimated. Very popular keys, whose
//! presence in a sample is the main error of small samples, have no part in it.
//!
//! A point's interval has two parts. Which keys are sampled decides how many of the deep requests hit: that part follows
//! from the differences between groups of keys. The other is common to all groups: the depth itself is a count of sampled
//! keys, with the variance of a binomial one, and stands for a range of capacities.

use manometer_trace::Record;
use rapidhash::v3::rapidhash_v3;

use super::capacities::CapacityGrid;
use super::interval::{KEY_GROUPS, NORMAL, interval_half_width};
use super::reusable_ids::ReusableIds;
use super::{CurveOptions, CurvePoint, LruCurveBuilder, MissRatioCurve, SampledCurveBuilder, size_of};
use crate::error::CacheError;
use crate::fenwick::{ByteTree, CountTree, FenwickTree};
use crate::lru_stack::LruStack;
use crate::sampling::{KeySample, Sampling};
use crate::weight::{ByteWeight, UnitWeight, Weight};

/// The number of objects tracked exactly.
const HEAD_OBJECTS: usize = 1 << 14;
/// The negative logarithm of 1 - 95 %, rounded as is usual.
const RULE_OF_THREE: f64 = 3.0;
/// Depths per doubling at which deep requests are counted.
const DEPTH_STEPS: u64 = 256;

/// A new pass.
pub(super) fn walk<'a>(
    grid: &'a CapacityGrid,
    wanted: &CurveOptions,
    sampling: Sampling,
) -> Result<Box<dyn SampledCurveBuilder + 'a>, CacheError> {
    Ok(match wanted.by_size {
        true => Box::new(SampledLruCurve::<ByteTree, ByteWeight>::new(grid, wanted, sampling)?),
        false => Box::new(SampledLruCurve::<CountTree, UnitWeight>::new(grid, wanted, sampling)?),
    })
}

/// The exact head and the sample.
struct SampledLruCurve<'a, D, W> {
    grid: &'a CapacityGrid,
    by_size: bool,
    head: ExactHead<D, W>,
    sample: SampledTail<D, W>,
    requests: u64,
}

impl<'a, D: FenwickTree, W: Weight> SampledLruCurve<'a, D, W> {
    fn new(grid: &'a CapacityGrid, wanted: &CurveOptions, sampling: Sampling) -> Result<Self, CacheError> {
        let (head, sample) = (ExactHead::new(grid), SampledTail::new(grid, sampling, wanted.seed)?);
        Ok(Self { grid, by_size: wanted.by_size, head, sample, requests: 0 })
    }

    fn footprint(&self) -> f64 {
        let (head, sample) = (&self.head, &self.sample);
        head.weight as f64 + (sample.weight - head.sampled) as f64 / sample.key_sample.rate()
    }

    /// The share of all requests that reach below the head.
    fn deep(&self) -> f64 {
        (self.requests - self.head.hits.iter().sum::<u64>()) as f64 / self.requests as f64
    }
}

impl<D: FenwickTree, W: Weight> LruCurveBuilder for SampledLruCurve<'_, D, W> {
    fn add(&mut self, batch: &[Record]) -> Result<(), CacheError> {
        self.requests += batch.len() as u64;
        for record in batch {
            let size = size_of(record, self.by_size);
            let above = self.head.request(record, size, self.grid, &self.sample.key_sample);
            if self.sample.request(record, size, self.grid, above) {
                self.head.count_sampled(&self.sample.key_sample);
            }
        }
        Ok(())
    }

    fn curve(&self) -> MissRatioCurve {
        let mut points = self.reference();
        let deep = self.deep();
        let depths = self.sample.depths(self.head.weight as f64);
        for point in &mut points {
            point.error = point.error.map(|error| error.hypot(depths.error(point.capacity as f64) * deep));
        }
        let footprint = self.footprint();
        let all = points.last().map(|last| CurvePoint { capacity: footprint.ceil() as u64, ..*last });
        MissRatioCurve { points, footprint, all, rate: self.sample.key_sample.rate(), smallest: 0.0 }
    }
}

impl<D: FenwickTree, W: Weight> SampledCurveBuilder for SampledLruCurve<'_, D, W> {
    fn reference(&self) -> Vec<CurvePoint> {
        let (head, sample, deep) = (&self.head, &self.sample, self.deep());
        let shown = if self.requests == 0 { 0 } else { self.grid.shown_len(self.footprint()) };
        let (mut misses, mut deep_hits) = (self.requests, [0.0; KEY_GROUPS]);
        let points = self.grid.values().iter().enumerate().take(shown).map_while(|(at, capacity)| {
            misses -= head.hits[at];
            deep_hits.iter_mut().zip(&sample.hits[at]).for_each(|(sum, hits)| *sum += hits);
            let is_exact = deep == 0.0 || *capacity <= head.exact_until;
            let (hit_share, error) = if is_exact { (0.0, 0.0) } else { sample.share(&deep_hits)? };
            let miss_ratio = misses as f64 / self.requests as f64 - hit_share * deep;
            Some(CurvePoint { capacity: *capacity, miss_ratio, error: (!is_exact).then_some(error * deep) })
        });
        points.collect()
    }
}

/// The least weight above a request that reaches below the head.
#[derive(Debug, Clone, Copy)]
struct HeadWeight {
    /// The weight of the head.
    weight: u64,
    /// The weight of those of its objects that are in the sample.
    sampled: u64,
}

/// The most recently used objects, and the depths of requests among them.
struct ExactHead<D, W> {
    ids: ReusableIds,
    stack: LruStack<D, W>,
    hits: Vec<u64>,
    weight: u64,
    sampled: u64,
    /// The capacity up to which no request for an object outside the head can hit.
    exact_until: u64,
}

impl<D: FenwickTree, W: Weight> ExactHead<D, W> {
    fn new(grid: &CapacityGrid) -> Self {
        let hits = vec![0; grid.values().len() + 1];
        Self { ids: ReusableIds::default(), stack: LruStack::new(), hits, weight: 0, sampled: 0, exact_until: u64::MAX }
    }

    /// Adds a request. Returns the weight above it if it reaches below the head.
    #[inline]
    fn request(
        &mut self,
        record: &Record,
        size: u64,
        grid: &CapacityGrid,
        key_sample: &KeySample,
    ) -> Option<HeadWeight> {
        let above = HeadWeight { weight: self.weight, sampled: self.sampled };
        let id = self.ids.acquire(record.key);
        let before = self.stack.weight(id);
        let depth = self.stack.touch(id, size);
        let now = self.stack.weight(id);
        let is_sampled = before != now && key_sample.contains(record.key);
        self.weight = self.weight + now - before;
        self.sampled = if is_sampled { self.sampled + now - before } else { self.sampled };
        if let Some(depth) = depth {
            self.hits[grid.index_at_least(depth)] += 1;
            return None;
        }
        if self.stack.len() > HEAD_OBJECTS {
            self.drop_oldest(key_sample);
            self.exact_until = self.exact_until.min(self.weight);
        }
        Some(above)
    }

    fn drop_oldest(&mut self, key_sample: &KeySample) {
        let Some((id, weight)) = self.stack.pop_oldest() else { return };
        self.weight -= weight;
        self.sampled -= if key_sample.contains(self.ids.key(id)) { weight } else { 0 };
        self.ids.release(id);
    }

    /// Recounts the objects that are in the sample.
    fn count_sampled(&mut self, key_sample: &KeySample) {
        let ids = self.ids.iter().filter(|(key, _)| key_sample.contains(*key));
        self.sampled = ids.map(|(_, id)| self.stack.weight(id)).sum();
    }
}

/// The requests for sampled keys, and the depths of those below the head.
struct SampledTail<D, W> {
    key_sample: KeySample,
    keys_max: usize,
    ids: ReusableIds,
    stack: LruStack<D, W>,
    weight: u64,
    /// For each group of keys, the number of deep requests, and the capacity at which each hits.
    deep: [f64; KEY_GROUPS],
    hits: Vec<[f64; KEY_GROUPS]>,
    depth_grid: CapacityGrid,
    /// The number of deep requests by depth.
    depths: Vec<f64>,
}

impl<D: FenwickTree, W: Weight> SampledTail<D, W> {
    fn new(grid: &CapacityGrid, sampling: Sampling, seed: u64) -> Result<Self, CacheError> {
        let (key_sample, keys_max) = KeySample::new(sampling, seed)?;
        let depth_grid = CapacityGrid::with_steps(DEPTH_STEPS);
        Ok(Self {
            key_sample,
            keys_max,
            ids: ReusableIds::default(),
            stack: LruStack::new(),
            depths: vec![0.0; depth_grid.values().len() + 1],
            depth_grid,
            weight: 0,
            deep: [0.0; KEY_GROUPS],
            hits: vec![[0.0; KEY_GROUPS]; grid.values().len() + 1],
        })
    }

    /// Adds a request. Returns whether fewer keys are kept from now on.
    #[inline]
    fn request(&mut self, record: &Record, size: u64, grid: &CapacityGrid, above: Option<HeadWeight>) -> bool {
        if !self.key_sample.contains(record.key) {
            return false;
        }
        let rate = self.key_sample.rate();
        let id = self.ids.acquire(record.key);
        let before = self.stack.weight(id);
        let depth = self.stack.touch(id, size);
        let own = self.stack.weight(id);
        self.weight = self.weight + own - before;
        if let Some(above) = above {
            let group = rapidhash_v3(&record.key.to_le_bytes()) as usize % KEY_GROUPS;
            self.deep[group] += 1.0 / rate;
            if let Some(depth) = depth {
                let between = (depth - own).saturating_sub(above.sampled) as f64 / rate;
                let depth = (above.weight + own).saturating_add(between.round() as u64);
                self.hits[grid.index_at_least(depth)][group] += 1.0 / rate;
                self.depths[self.depth_grid.index_at_least(depth)] += 1.0 / rate;
            }
        }
        let is_full = self.ids.len() > self.keys_max;
        if is_full {
            self.drop_half();
        }
        is_full
    }

    fn drop_half(&mut self) {
        self.key_sample.halve();
        let key_sample = self.key_sample;
        for id in self.ids.retain(|key| key_sample.contains(key)) {
            self.weight -= self.stack.weight(id);
            self.stack.remove(id);
        }
    }

    /// The hits as a share of the deep requests, and half the width of its confidence interval; `None` if the sample
    /// has no deep request.
    fn share(&self, hits: &[f64; KEY_GROUPS]) -> Option<(f64, f64)> {
        let all: f64 = self.deep.iter().sum();
        let share = hits.iter().sum::<f64>() / all;
        let off = std::array::from_fn(|group| hits[group] - share * self.deep[group]);
        (all > 0.0).then(|| (share, (interval_half_width(&off, self.key_sample.rate()) / all).max(self.least_error())))
    }

    /// The share of the keys that may behave in a way that no sampled key shows: 3 / n with 95 % confidence (the rule of
    /// three: Hanley and Lippman-Hand, 1983), of the keys that are not sampled.
    fn least_error(&self) -> f64 {
        let (keys, rate) = (self.ids.len() as f64, self.key_sample.rate());
        (RULE_OF_THREE / keys).min(1.0) * (1.0 - rate)
    }

    /// The deep requests by depth, below a head of so much weight.
    fn depths(&self, head_weight: f64) -> DeepRequests<'_> {
        let all: f64 = self.deep.iter().sum();
        let mut hits = 0.0;
        let shares = self.depths.iter().map(|requests| {
            hits += requests;
            hits / all.max(1.0)
        });
        let weights = self.ids.iter().map(|(_, id)| self.stack.weight(id) as f64);
        let (sum, squares) =
            weights.fold((0.0, 0.0), |(sum, squares), weight| (sum + weight, squares + weight * weight));
        let rate = self.key_sample.rate();
        DeepRequests {
            capacities: self.depth_grid.values(),
            shares: shares.collect(),
            head_weight,
            variance: squares / f64::max(sum, 1.0) * (1.0 - rate) / rate,
        }
    }
}

/// How many deep requests hit at each capacity.
struct DeepRequests<'a> {
    capacities: &'a [u64],
    /// The hits at each capacity, as a share of the deep requests.
    shares: Vec<f64>,
    head_weight: f64,
    /// The variance of a depth for each weight below the head.
    variance: f64,
}

impl DeepRequests<'_> {
    /// How much the share of hits changes, at most, over the range of depths that `capacity` may stand for (95 %).
    fn error(&self, capacity: f64) -> f64 {
        let off = NORMAL * (self.variance * (capacity - self.head_weight).max(0.0)).sqrt();
        let at = |depth: f64| self.capacities.partition_point(|capacity| (*capacity as f64) < depth);
        let [low, own, high] = [capacity - off, capacity, capacity + off].map(at);
        let share = |at: usize| self.shares[at.min(self.shares.len() - 1)];
        (share(high) - share(own.saturating_sub(1))).max(share(own) - share(low.saturating_sub(1)))
    }
}
