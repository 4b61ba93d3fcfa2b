//! Linux's bcache: objects are appended to buckets, and whole buckets are evicted. A hit sets a bucket's priority to
//! the maximum; priorities fall by one whenever 1/1024 of the cache's capacity has been requested. The victim is the
//! bucket with the lowest priority times its remaining content, the next in turn, or a random one. A write appends the
//! object again. If the capacity does not divide evenly, the first buckets are larger by one.
//!
//! A bucket with dirty objects is not evicted. That it has none any more is noticed when 1/16 of the capacity has been
//! appended, or when no bucket can be evicted (garbage collection).
//!
//! Left to the tier simulation: bypass of sequential requests and on congestion, what is dirty and when it is cleaned,
//! several open buckets, and metadata. Objects larger than the smallest bucket are not cached.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter};
use crate::arena::{Arena, List, Slot};
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const LRU: PolicyKind = PolicyKind {
    name: "bcache",
    about: "evicts whole buckets: the lowest product of recency and remaining content",
    details: RequestFields { writes: true, ..RequestFields::NONE },
    create: by_weight!(BcacheLru),
    ..FIFO
};

pub(super) const FIFO: PolicyKind = PolicyKind {
    name: "bcache-fifo",
    about: "evicts whole buckets in order",
    source: "Linux, drivers/md/bcache; cache thesis 4.1",
    parameters: &[PolicyParameter {
        name: "buckets",
        meaning: "number of buckets, at most the capacity",
        default: 1024.0,
        min: 1.0,
        max: 1e6,
        is_whole: true,
    }],
    details: RequestFields { writes: true, ..RequestFields::NONE },
    create: by_weight!(BcacheFifo),
};

pub(super) const RANDOM: PolicyKind = PolicyKind {
    name: "bcache-random",
    about: "evicts whole buckets at random",
    details: RequestFields { writes: true, ..RequestFields::NONE },
    create: by_weight!(BcacheRandom),
    ..FIFO
};

type BcacheLru<W> = Bcache<W, { ReplacementOrder::Lru as u8 }>;
type BcacheFifo<W> = Bcache<W, { ReplacementOrder::Fifo as u8 }>;
type BcacheRandom<W> = Bcache<W, { ReplacementOrder::Random as u8 }>;

/// The order in which buckets are evicted.
enum ReplacementOrder {
    Lru,
    Fifo,
    Random,
}

/// The priority of a bucket that was just used.
const PRIORITY: u64 = 32_768;
/// Priorities fall this often per capacity requested.
const PERIODS_PER_CAPACITY: u64 = 1024;
/// Even the lowest priority counts as this fraction of the difference to the highest.
const LEAST_SHARE: u64 = 8;
/// Garbage is collected this often per capacity appended.
const COLLECTIONS_PER_CAPACITY: u64 = 16;

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    bucket: u32,
    weight: W,
    is_dirty: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    objects: List,
    /// The weight appended.
    filled: u64,
    /// The weight of what is still there.
    used: u64,
    /// The weight of what is dirty.
    dirty: u64,
    /// Whether it had dirty objects at the last collection, or got one since.
    is_pinned: bool,
    /// The priority that it would have had at time 0, without use since.
    falls_from: u64,
}

struct Bcache<W, const ORDER: u8> {
    capacity: u64,
    used: u64,
    /// The size of the smallest bucket.
    bucket_size: u64,
    arena: Arena<Object<W>>,
    buckets: Vec<Bucket>,
    open: usize,
    /// How often priorities have fallen, and the weight to request until they fall again.
    fallen: u64,
    to_fall: i128,
    /// The weight to append until garbage is collected.
    to_collect: i128,
    /// The buckets that are pinned, or were opened since the last collection.
    unavailable: usize,
    random: Xoshiro256PlusPlus,
    eviction_log: EvictionLog,
}

impl<W: Weight, const ORDER: u8> Bcache<W, ORDER> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let buckets = (setting.parameters[0] as u64).min(setting.capacity).max(1);
        Self {
            capacity: setting.capacity,
            used: 0,
            bucket_size: setting.capacity / buckets,
            arena: Arena::new(setting.requests.keys()),
            buckets: vec![Bucket { falls_from: PRIORITY, ..Bucket::default() }; buckets as usize],
            open: 0,
            fallen: 0,
            to_fall: 0,
            to_collect: i128::from(setting.capacity / COLLECTIONS_PER_CAPACITY),
            unavailable: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(setting.seed),
            eviction_log: EvictionLog::default(),
        }
    }

    /// Lowers priorities as requests come.
    fn age(&mut self, size: u64) {
        self.to_fall -= i128::from(size);
        if self.to_fall < 0 {
            self.to_fall += i128::from(self.capacity.div_ceil(PERIODS_PER_CAPACITY));
            self.fallen += 1;
        }
    }

    /// The room in a bucket.
    fn room(&self, bucket: usize) -> u64 {
        let larger = self.capacity % self.buckets.len() as u64;
        self.bucket_size + u64::from((bucket as u64) < larger)
    }

    fn touch(&mut self, bucket: usize) {
        self.buckets[bucket].falls_from = PRIORITY + self.fallen;
    }

    fn priority(&self, bucket: &Bucket) -> u64 {
        bucket.falls_from.saturating_sub(self.fallen)
    }

    /// Unpins the buckets without dirty objects.
    fn collect(&mut self) {
        for bucket in &mut self.buckets {
            bucket.is_pinned = bucket.dirty > 0;
        }
        self.unavailable = (0..self.buckets.len()).filter(|at| self.buckets[*at].is_pinned || *at == self.open).count();
        self.to_collect = i128::from(self.capacity / COLLECTIONS_PER_CAPACITY);
    }

    /// The bucket to evict; an empty one costs nothing. `None` if all are pinned.
    fn victim(&mut self) -> Option<usize> {
        let buckets = self.buckets.len();
        let mut free = (0..buckets).filter(|at| !self.buckets[*at].is_pinned);
        match ORDER {
            fifo if fifo == ReplacementOrder::Fifo as u8 => {
                (1..=buckets).map(|at| (self.open + at) % buckets).find(|at| !self.buckets[*at].is_pinned)
            }
            random if random == ReplacementOrder::Random as u8 => {
                let count = free.clone().count();
                (count > 0).then(|| self.random.random_range(0..count)).and_then(|at| free.nth(at))
            }
            _ => {
                let oldest = self.buckets.iter().map(|bucket| bucket.falls_from).min().unwrap_or(0);
                let least = oldest.saturating_sub(self.fallen);
                let offset = (PRIORITY - least) / LEAST_SHARE;
                let cost = |bucket: &Bucket| (self.priority(bucket) - least + offset).saturating_mul(bucket.used);
                free.min_by_key(|at| cost(&self.buckets[*at]))
            }
        }
    }

    /// Removes an object from its bucket; the room is not reused before the bucket is evicted.
    fn take_out(&mut self, slot: Slot) {
        let Object { bucket, weight, is_dirty } = self.arena.value(slot);
        let bucket = &mut self.buckets[bucket as usize];
        bucket.objects.unlink(&mut self.arena, slot);
        bucket.used -= weight.get();
        bucket.dirty -= if is_dirty { weight.get() } else { 0 };
        self.used -= weight.get();
        self.arena.remove(slot);
    }

    /// Opens a bucket and drops its content. Returns whether one could be opened.
    fn reopen(&mut self) -> bool {
        let Some(victim) = self.victim().or_else(|| {
            self.collect();
            self.victim()
        }) else {
            return false;
        };
        self.open = victim;
        while let Some(slot) = self.buckets[self.open].objects.oldest() {
            self.eviction_log.record(self.arena.id(slot));
            self.take_out(slot);
        }
        self.buckets[self.open].filled = 0;
        self.unavailable = (self.unavailable + 1).min(self.buckets.len());
        self.touch(self.open);
        true
    }

    /// Appends an object to the open bucket. Returns whether there is a bucket for it.
    fn append(&mut self, id: KeyId, weight: W) -> bool {
        let size = weight.get();
        if size > self.bucket_size {
            return false;
        }
        if self.buckets[self.open].filled + size > self.room(self.open) && !self.reopen() {
            return false;
        }
        self.to_collect -= i128::from(size);
        if self.to_collect < 0 {
            self.collect();
        }
        let slot = self.arena.insert(id, Object { bucket: self.open as u32, weight, is_dirty: false });
        let bucket = &mut self.buckets[self.open];
        bucket.objects.push(&mut self.arena, slot);
        bucket.filled += size;
        bucket.used += size;
        self.used += size;
        true
    }
}

impl<W: Weight, const ORDER: u8> Policy for Bcache<W, ORDER> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.arena.find(id).is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn set_dirty(&mut self, id: KeyId, is_dirty: bool) {
        let Some(slot) = self.arena.find(id) else { return };
        let object = self.arena.value_mut(slot);
        let was_dirty = std::mem::replace(&mut object.is_dirty, is_dirty);
        let Object { bucket, weight, .. } = *object;
        let bucket = &mut self.buckets[bucket as usize];
        bucket.dirty -= if was_dirty { weight.get() } else { 0 };
        bucket.dirty += if is_dirty { weight.get() } else { 0 };
        bucket.is_pinned |= is_dirty;
    }

    fn unavailable_share(&self) -> f64 {
        self.unavailable as f64 / self.buckets.len() as f64
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.arena.find(id) {
            self.take_out(slot);
        }
    }

    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        self.age(weight.get());
        let Some(slot) = self.arena.find(request.id) else {
            self.append(request.id, weight);
            return false;
        };
        let Object { bucket, weight: before, .. } = self.arena.value(slot);
        if request.is_write || before.get() != weight.get() {
            self.take_out(slot);
            if !self.append(request.id, weight) {
                self.eviction_log.record(request.id);
            }
        } else {
            self.touch(bucket as usize);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::policy_spec::PolicySpec;
    use crate::requests::RequestSequence;

    fn request(id: KeyId, is_write: bool) -> CacheRequest {
        CacheRequest { id, position: 0, size: 1, is_write, is_whole: false, time_ns: 0 }
    }

    #[test]
    fn a_dirty_bucket_stays_until_a_collection_finds_it_clean() {
        let blocks = RequestSequence::for_blocks(1000);
        let spec: PolicySpec = "bcache:buckets=8".parse().unwrap();
        let mut cache = spec.create(64, &blocks, false, 1);
        (0..8).for_each(|id| assert!(!cache.request(&request(id, true))));
        cache.set_dirty(3, true);
        (8..500).for_each(|id| assert!(!cache.request(&request(id, false))));
        assert!((0..8).all(|id| cache.holds(id)) && !cache.holds(8));
        // The open bucket, the pinned one, and none opened since: the last collection was just before.
        assert_eq!(cache.unavailable_share(), 2.0 / 8.0);
        cache.set_dirty(3, false);
        (500..564).for_each(|id| assert!(!cache.request(&request(id, false))));
        assert!(!cache.holds(3), "its priority is the lowest");
    }

    #[test]
    fn nothing_dirty_is_evicted_and_without_a_clean_bucket_nothing_is_admitted() {
        let blocks = RequestSequence::for_blocks(200);
        for name in ["bcache", "bcache-fifo", "bcache-random"] {
            let spec: PolicySpec = format!("{name}:buckets=10").parse().unwrap();
            let mut cache = spec.create(60, &blocks, false, 1);
            cache.record_evictions();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
            let (mut dirty, mut evicted, mut refused) = (std::collections::BTreeSet::new(), Vec::new(), 0);
            for _ in 0..20_000 {
                let id = random.random_range(0..200);
                // A write of what is dirty appends it anew, which needs a bucket.
                let is_write = random.random_bool(0.3) && !dirty.contains(&id);
                let is_hit = cache.request(&request(id, is_write));
                refused += u32::from(!is_hit && !cache.holds(id));
                if is_write && cache.holds(id) {
                    cache.set_dirty(id, true);
                    dirty.insert(id);
                }
                if random.random_bool(0.2)
                    && let Some(id) = dirty.pop_first()
                {
                    cache.set_dirty(id, false);
                }
                cache.drain_evictions(&mut evicted);
                assert!(evicted.drain(..).all(|id| !dirty.contains(&id)), "{name}");
                assert!(dirty.iter().all(|id| cache.holds(*id)) && cache.used() <= 60, "{name}");
            }
            assert!(refused > 0, "{name}");
        }
    }
}
