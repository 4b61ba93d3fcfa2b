//! Generates a trace from a model.
//!
//! Each key is created in its part of the trace with all its requests laid out: gaps drawn from its class, and redrawn
//! a few times until its last request falls into the right part. Requests are emitted in order of position. After the
//! model's number of requests, the trace continues with the keys that live to the end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::model::{Arrivals, Bucket, Class, KeyLifetime, SEGMENTS, TraceModel};
use crate::error::TraceError;
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::{Record, TraceOperation};

/// Positions per request, so that several requests fit between two.
const PLACES_PER_REQUEST: u64 = 256;
/// How often the gaps of a key are drawn until its last request falls into the right part.
const DRAWS: usize = 24;
/// A key with more gaps has them drawn one by one, each from the rest of its lifetime.
const GAPS_LAID_OUT_MAX: u64 = 64;

/// Generates a trace of a given number of requests from a model.
pub struct Generator {
    classes: Vec<ClassSampler>,
    arrivals: Option<Clock>,
    random: Xoshiro256PlusPlus,
    segment_places: f64,
    /// The number of parts started; the model's parts repeat.
    segments: u64,
    next: BinaryHeap<Reverse<(u64, u32)>>,
    living: Vec<LiveKey>,
    free: Vec<u32>,
    keys: u64,
    left: u64,
}

/// A class prepared for sampling.
struct ClassSampler {
    requests_per_key: f64,
    lives: Vec<KeyLifetime>,
    gaps: Table,
    value_sizes: Table,
    key_sizes: Table,
    first_operations: Vec<(TraceOperation, f64)>,
    operations: Vec<(TraceOperation, f64)>,
    /// Keys that live to the end, for when the model repeats.
    survivors: Vec<KeyIdentity>,
    /// The survivors of the repetition before.
    returning: Vec<KeyIdentity>,
}

/// The constant properties of a key.
#[derive(Debug, Clone, Copy)]
struct KeyIdentity {
    key: u64,
    value_size: Option<u64>,
    key_size: Option<u32>,
}

/// A key with remaining requests.
struct LiveKey {
    identity: KeyIdentity,
    class: u32,
    is_first: bool,
    /// The number of requests after the next one.
    left: u64,
    /// The position of the last request.
    end: u64,
    /// The remaining gaps, the next one last.
    gaps: Vec<u64>,
}

/// Buckets prepared for sampling.
struct Table {
    buckets: Vec<Bucket>,
    until: Vec<f64>,
    mean: f64,
}

impl Table {
    fn new(buckets: &[Bucket]) -> Self {
        let mut sum = 0.0;
        let until: Vec<f64> = buckets
            .iter()
            .map(|bucket| {
                sum += bucket.weight;
                sum
            })
            .collect();
        let mean = buckets.iter().map(|bucket| bucket.mean * bucket.weight).sum::<f64>() / sum;
        Self { buckets: buckets.to_vec(), until, mean }
    }

    fn bucket(&self, random: &mut Xoshiro256PlusPlus) -> Option<&Bucket> {
        let wanted = unit(random) * self.until.last()?;
        self.buckets.get(self.until.partition_point(|until| *until <= wanted).min(self.buckets.len() - 1))
    }

    /// A number within a random bucket; 0 if there are none.
    fn number(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let Some(bucket) = self.bucket(random) else { return 0.0 };
        if bucket.below - bucket.from == 1 {
            return bucket.from as f64;
        }
        // Uniform on each side of the mean, which preserves it if it is not in the middle.
        let (from, below) = (bucket.from as f64, bucket.below as f64);
        let side = if unit(random) * (below - from) < below - bucket.mean { from } else { below };
        bucket.mean + (side - bucket.mean) * unit(random)
    }

    /// The mean of a random bucket.
    fn size(&self, random: &mut Xoshiro256PlusPlus) -> Option<u64> {
        self.bucket(random).map(|bucket| bucket.mean.round() as u64)
    }
}

/// A number in [0, 1).
pub(super) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

impl Generator {
    /// A trace of `requests` requests. The same seed gives the same trace.
    ///
    /// # Errors
    /// The model is invalid.
    pub fn new(model: &TraceModel, requests: u64, seed: u64) -> Result<Self, TraceError> {
        model.check()?;
        Ok(Self {
            classes: model.classes.iter().map(drawn).collect(),
            arrivals: model.arrivals.as_ref().map(Clock::new),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            segment_places: model.requests as f64 / f64::from(SEGMENTS) * PLACES_PER_REQUEST as f64,
            segments: 0,
            next: BinaryHeap::new(),
            living: Vec::new(),
            free: Vec::new(),
            keys: 0,
            left: requests,
        })
    }

    /// The position at which a part starts.
    fn place_of(&self, segment: u64) -> u64 {
        (segment as f64 * self.segment_places) as u64
    }

    /// Creates the keys whose lifetimes start in the next part.
    fn begin_segment(&mut self) {
        let first = (self.segments % u64::from(SEGMENTS)) as u32;
        for class in 0..self.classes.len() {
            if first == 0 {
                self.classes[class].returning = std::mem::take(&mut self.classes[class].survivors);
            }
            let lives: Vec<KeyLifetime> =
                self.classes[class].lives.iter().filter(|life| life.first == first).copied().collect();
            for life in lives {
                (0..life.keys).for_each(|_| self.insert_key(class, life));
            }
        }
        self.segments += 1;
    }

    fn insert_key(&mut self, class: usize, life: KeyLifetime) {
        let from = self.place_of(self.segments);
        let last_from = self.place_of(self.segments + u64::from(life.last - life.first));
        let last_to = self.place_of(self.segments + u64::from(life.last - life.first) + 1);
        let drawn = &mut self.classes[class];
        let identity = match if life.first == 0 { drawn.returning.pop() } else { None } {
            Some(returning) => returning,
            None => {
                self.keys += 1;
                KeyIdentity {
                    key: self.keys - 1,
                    value_size: drawn.value_sizes.size(&mut self.random),
                    key_size: drawn
                        .key_sizes
                        .size(&mut self.random)
                        .map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
                }
            }
        };
        let gaps = (drawn.requests_per_key + unit(&mut self.random)).floor() as u64 - 1;
        // A key that lives from the start was requested before it, and its next request comes when its gap ends.
        let room = match life.first == 0 && gaps > 0 {
            true => (drawn.gaps.number(&mut self.random) * PLACES_PER_REQUEST as f64).min(self.segment_places),
            false => self.segment_places,
        };
        let begin = from + (unit(&mut self.random) * room) as u64;
        if life.last == SEGMENTS - 1 && gaps > 0 {
            drawn.survivors.push(identity);
        }
        let (end, laid_out) = match gaps {
            0 => (begin, Vec::new()),
            few if few <= GAPS_LAID_OUT_MAX => lay_out(&drawn.gaps, few, begin, last_from..last_to, &mut self.random),
            _ => (
                last_from.max(begin) + (unit(&mut self.random) * (last_to - last_from.max(begin)) as f64) as u64,
                Vec::new(),
            ),
        };
        let living = LiveKey { identity, class: class as u32, is_first: true, left: gaps, end, gaps: laid_out };
        let slot = self.free.pop().unwrap_or(self.living.len() as u32);
        match self.living.get_mut(slot as usize) {
            Some(free) => *free = living,
            None => self.living.push(living),
        }
        self.next.push(Reverse((begin, slot)));
    }

    /// The next request of any key.
    fn request(&mut self) -> Record {
        loop {
            if let Some(Reverse((place, slot))) = self.next.peek().copied()
                && place < self.place_of(self.segments)
            {
                self.next.pop();
                return self.request_of(place, slot);
            }
            self.begin_segment();
        }
    }

    fn request_of(&mut self, place: u64, slot: u32) -> Record {
        let living = &mut self.living[slot as usize];
        let class = &self.classes[living.class as usize];
        let operations = if living.is_first { &class.first_operations } else { &class.operations };
        let mut record = Record::new(pick(operations, &mut self.random), living.identity.key);
        (record.value_size, record.key_size) = (living.identity.value_size, living.identity.key_size);
        record.time_ns = self.arrivals.as_mut().map(|clock| clock.next(&mut self.random));
        living.is_first = false;
        if living.left == 0 {
            self.free.push(slot);
            return record;
        }
        let gap = living.gaps.pop().unwrap_or_else(|| {
            let mean = living.end.saturating_sub(place) as f64 / living.left as f64;
            (class.gaps.number(&mut self.random) / class.gaps.mean * mean) as u64
        });
        living.left -= 1;
        // The remaining requests need positions too.
        let latest = living.end.saturating_sub(living.left).max(place.saturating_add(1));
        self.next.push(Reverse((place.saturating_add(gap.max(1)).min(latest), slot)));
        record
    }
}

fn drawn(class: &Class) -> ClassSampler {
    ClassSampler {
        requests_per_key: class.requests_per_key,
        lives: class.lives.clone(),
        gaps: Table::new(&class.gaps),
        value_sizes: Table::new(&class.value_sizes),
        key_sizes: Table::new(&class.key_sizes),
        first_operations: operations(&class.first_operations),
        operations: operations(&class.operations),
        survivors: Vec::new(),
        returning: Vec::new(),
    }
}

fn operations(shares: &BTreeMap<String, f64>) -> Vec<(TraceOperation, f64)> {
    let known = shares.iter().filter_map(|(name, share)| Some((name.parse().ok()?, *share)));
    known.collect()
}

fn pick(operations: &[(TraceOperation, f64)], random: &mut Xoshiro256PlusPlus) -> TraceOperation {
    let mut wanted = unit(random) * operations.iter().map(|(_, share)| share).sum::<f64>();
    for (operation, share) in operations {
        wanted -= share;
        if wanted < 0.0 {
            return *operation;
        }
    }
    operations.last().map_or(TraceOperation::Get, |(operation, _)| *operation)
}

/// Gaps from `begin` whose last request falls into `wanted`, or the closest of several draws.
fn lay_out(
    table: &Table,
    count: u64,
    begin: u64,
    wanted: std::ops::Range<u64>,
    random: &mut Xoshiro256PlusPlus,
) -> (u64, Vec<u64>) {
    let mut best: Option<(u64, u64, Vec<u64>)> = None;
    for _ in 0..DRAWS {
        let gap = |random: &mut Xoshiro256PlusPlus| (table.number(random) * PLACES_PER_REQUEST as f64) as u64;
        let gaps: Vec<u64> = (0..count).map(|_| gap(random).max(1)).collect();
        let end = gaps.iter().fold(begin, |end, gap| end.saturating_add(*gap));
        let missed = wanted.start.saturating_sub(end).max(end.saturating_sub(wanted.end.saturating_sub(1)));
        if best.as_ref().is_none_or(|best| missed < best.0) {
            best = Some((missed, end, gaps));
        }
        if missed == 0 {
            break;
        }
    }
    let (_, end, mut gaps) = best.unwrap_or_default();
    let last = wanted.end.saturating_sub(1).max(begin.saturating_add(count));
    if end > last {
        // No draw fits: shortens the gaps in proportion.
        let shorter = (last - begin) as f64 / (end - begin) as f64;
        gaps.iter_mut().for_each(|gap| *gap = ((*gap as f64 * shorter) as u64).max(1));
    }
    (end.min(last), gaps)
}

impl TraceReader for Generator {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        let count = self.left.min(BATCH_RECORDS as u64);
        batch.extend((0..count).map(|_| self.request()));
        self.left -= count;
        Ok(batch.len())
    }
}

/// The times of requests: as many per window as the model has, repeated.
struct Clock {
    window_ns: u64,
    requests: Vec<u64>,
    gaps: Table,
    window: u64,
    left: u64,
    time_ns: f64,
}

impl Clock {
    fn new(arrivals: &Arrivals) -> Self {
        let Arrivals { window_ns, requests, gaps } = arrivals;
        let left = requests.first().copied().unwrap_or(0);
        Self {
            window_ns: *window_ns,
            requests: requests.clone(),
            gaps: Table::new(gaps),
            window: 0,
            left,
            time_ns: 0.0,
        }
    }

    fn next(&mut self, random: &mut Xoshiro256PlusPlus) -> u64 {
        while self.left == 0 {
            self.window += 1;
            self.left = self.requests[(self.window % self.requests.len() as u64) as usize];
            self.time_ns = 0.0;
        }
        let room = self.window_ns as f64 - self.time_ns;
        let gap = match self.gaps.mean > 0.0 {
            true => self.gaps.number(random) / self.gaps.mean * room / self.left as f64,
            false => 0.0,
        };
        self.time_ns += gap.min(room * 0.999);
        self.left -= 1;
        self.window.saturating_mul(self.window_ns).saturating_add(self.time_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_gaps_keep_the_order_of_places() {
        let greatest = Bucket { from: u64::MAX - 1, below: u64::MAX, mean: (u64::MAX - 1) as f64, weight: 1.0 };
        let (table, mut random) = (Table::new(&[greatest]), Xoshiro256PlusPlus::seed_from_u64(1));
        let (end, gaps) = lay_out(&table, 3, u64::MAX - 1, 0..u64::MAX, &mut random);
        assert_eq!((end, gaps.len()), (u64::MAX, 3));
        let mut generator = Generator {
            classes: vec![ClassSampler {
                requests_per_key: 3.0,
                lives: Vec::new(),
                gaps: table,
                value_sizes: Table::new(&[]),
                key_sizes: Table::new(&[]),
                first_operations: Vec::new(),
                operations: Vec::new(),
                survivors: Vec::new(),
                returning: Vec::new(),
            }],
            arrivals: None,
            random,
            segment_places: 1.0,
            segments: 0,
            next: BinaryHeap::new(),
            living: vec![LiveKey {
                identity: KeyIdentity { key: 7, value_size: None, key_size: None },
                class: 0,
                is_first: true,
                left: 2,
                end,
                gaps,
            }],
            free: Vec::new(),
            keys: 1,
            left: 3,
        };
        assert_eq!(generator.request_of(u64::MAX, 0).key, 7);
        assert_eq!(generator.next.pop(), Some(Reverse((u64::MAX, 0))));
    }
}
