//! Linux's bcache: objects are appended to buckets, and whole buckets are evicted. A hit sets a bucket's priority to
//! the maximum; priorities fall by one whenever 1/1024 of the cache's capacity has been requested. The victim is the
//! bucket with the lowest priority times its remaining content, the next in turn, or a random one. A write appends the
//! object again. If the capacity does not divide evenly, the first buckets are larger by one.
//!
//! Left to the tier simulation: bypass of sequential requests and on congestion, dirty buckets, which cannot be
//! evicted, several open buckets, and metadata. Objects larger than the smallest bucket are not cached.

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

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    bucket: u32,
    weight: W,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    objects: List,
    /// The weight appended.
    filled: u64,
    /// The weight of what is still there.
    used: u64,
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

    /// The bucket to evict; an empty one costs nothing.
    fn victim(&mut self) -> usize {
        let buckets = self.buckets.len();
        match ORDER {
            fifo if fifo == ReplacementOrder::Fifo as u8 => (self.open + 1) % buckets,
            random if random == ReplacementOrder::Random as u8 => self.random.random_range(0..buckets),
            _ => {
                let oldest = self.buckets.iter().map(|bucket| bucket.falls_from).min().unwrap_or(0);
                let least = oldest.saturating_sub(self.fallen);
                let offset = (PRIORITY - least) / LEAST_SHARE;
                let cost = |bucket: &Bucket| (self.priority(bucket) - least + offset).saturating_mul(bucket.used);
                (0..buckets).min_by_key(|at| cost(&self.buckets[*at])).unwrap_or(0)
            }
        }
    }

    /// Removes an object from its bucket; the room is not reused before the bucket is evicted.
    fn take_out(&mut self, slot: Slot) {
        let Object { bucket, weight } = self.arena.value(slot);
        let bucket = &mut self.buckets[bucket as usize];
        bucket.objects.unlink(&mut self.arena, slot);
        bucket.used -= weight.get();
        self.used -= weight.get();
        self.arena.remove(slot);
    }

    /// Opens a bucket and drops its content.
    fn reopen(&mut self) {
        self.open = self.victim();
        while let Some(slot) = self.buckets[self.open].objects.oldest() {
            self.eviction_log.record(self.arena.id(slot));
            self.take_out(slot);
        }
        self.buckets[self.open].filled = 0;
        self.touch(self.open);
    }

    /// Appends an object to the open bucket. Returns whether it fits into any.
    fn append(&mut self, id: KeyId, weight: W) -> bool {
        let size = weight.get();
        if size > self.bucket_size {
            return false;
        }
        if self.buckets[self.open].filled + size > self.room(self.open) {
            self.reopen();
        }
        let slot = self.arena.insert(id, Object { bucket: self.open as u32, weight });
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
        let Object { bucket, weight: before } = self.arena.value(slot);
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
