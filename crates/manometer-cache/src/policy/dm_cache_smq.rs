//! The policy `smq` of dm-cache in Linux 6.1: two queues of 64 levels, one of hot spots, which decides on promotion,
//! and one of cached objects. Only misses raise hot spots. The promotion threshold follows how well these predict; each
//! second their levels are rebalanced, and each minute those of cached objects. What is promoted begins at the
//! highest level. In a full cache what is to be promoted only has an object demoted, of the lower half of the levels and
//! until a quarter of the cache is free, so that a later miss finds room. While there is room, a write of a whole object is
//! promoted at once.
//!
//! Left to the tier simulation: dirty blocks, which are not demoted until they are clean. Copies take no time here. With
//! sizes the limits are in bytes.

use super::smq_levels::{LEVELS, SmqLevels};
use super::time_source::{REQUESTS_PER_SECOND, TimeSource};
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter};
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "dm-cache-smq",
    about: "promotes the hottest objects of a queue of levels, with a threshold that follows how well it predicts",
    source: "Linux, dm-cache-policy-smq.c, 6.1",
    parameters: &[
        REQUESTS_PER_SECOND,
        PolicyParameter {
            name: "spot",
            meaning: "objects with neighbouring IDs that are one hot spot",
            default: 1.0,
            min: 1.0,
            max: 16.0,
            is_whole: true,
        },
    ],
    details: RequestFields { writes: true, times: true, ..RequestFields::NONE },
    create: by_weight!(DmCacheSmq),
};

/// The ratio of the cache's room to hot spots, and the fewest hot spots.
const HOT_SPOTS: (u64, u64) = (4, 1024);
/// This many top levels share as many hot spots as one level would hold.
const TOP_LEVELS: usize = 8;
/// Requests for this level or a higher one count as predicted.
const GOOD_LEVEL: usize = LEVELS * 3 / 4;
/// Objects are demoted from the levels below.
const DEMOTED_LEVELS: usize = LEVELS / 2;
/// Objects are demoted until this share of the cache is free.
const FREE_SHARE: u64 = 4;
/// The most neighbouring blocks that are one hot spot.
const SPOT_BLOCKS_MAX: u64 = 16;
const CACHE_PERIOD_SECONDS: u32 = 60;
/// After this many idle seconds, further ones change nothing.
const IDLE_SECONDS_MAX: u32 = 2 * CACHE_PERIOD_SECONDS;

/// The number of neighbouring blocks that are one hot spot of a cache of `cache_blocks` for an origin of
/// `origin_blocks`: fewer where there would be more hot spots than the origin has room for. `dm-cache-policy-smq.c`.
pub fn blocks_per_hot_spot(origin_blocks: u64, cache_blocks: u64) -> u64 {
    let spots = (cache_blocks / HOT_SPOTS.0).max(HOT_SPOTS.1);
    let mut blocks = SPOT_BLOCKS_MAX;
    while blocks > 1 && blocks.saturating_mul(spots) > origin_blocks {
        blocks /= 2;
    }
    blocks
}

/// How well hot spots predict requests.
#[derive(Debug, Clone, Copy, Default)]
struct PredictionStats {
    good: u64,
    bad: u64,
}

impl PredictionStats {
    fn record(&mut self, level: Option<usize>) {
        let is_good = level.is_some_and(|level| level >= GOOD_LEVEL);
        *(if is_good { &mut self.good } else { &mut self.bad }) += 1;
    }

    /// By how much fewer levels are promoted, as long as they predict badly.
    fn caution(&self) -> usize {
        match (16 * self.good).checked_div(self.good + self.bad).unwrap_or(0) {
            0 => 4,
            1 => 2,
            _ => 1,
        }
    }
}

struct DmCacheSmq<W> {
    capacity: u64,
    used: u64,
    hot_spots_max: u64,
    hot_spots_used: u64,
    objects_per_spot: KeyId,
    seconds: TimeSource,
    second: u32,
    hot_spots: SmqLevels<W>,
    cached: SmqLevels<W>,
    predictions: PredictionStats,
    /// How many levels a miss raises a hot spot.
    jump: usize,
    eviction_log: EvictionLog,
}

impl<W: Weight> DmCacheSmq<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let keys = setting.requests.keys();
        let mean = setting.mean_weight();
        let objects_per_spot = setting.parameters[1] as KeyId;
        let hot_spots_max = (setting.capacity / HOT_SPOTS.0).max(HOT_SPOTS.1.saturating_mul(mean));
        let cached_spots = setting.capacity / mean / u64::from(objects_per_spot);
        let in_top = (hot_spots_max / mean / LEVELS as u64).min(cached_spots);
        let mut cache = Self {
            capacity: setting.capacity,
            used: 0,
            hot_spots_max,
            hot_spots_used: 0,
            objects_per_spot,
            seconds: TimeSource::new(setting.requests, setting.parameters[0]),
            second: 0,
            hot_spots: SmqLevels::new(keys, TOP_LEVELS, in_top),
            cached: SmqLevels::new(keys, 0, 0),
            predictions: PredictionStats::default(),
            jump: 1,
            eviction_log: EvictionLog::default(),
        };
        cache.tick(0);
        cache
    }

    fn pass_to(&mut self, second: u32) {
        let passed = second.saturating_sub(self.second).min(IDLE_SECONDS_MAX);
        for second in second - passed..second {
            self.tick(second + 1);
        }
        self.second = self.second.max(second);
    }

    fn tick(&mut self, second: u32) {
        self.jump = self.predictions.caution();
        self.hot_spots.balance();
        self.predictions = PredictionStats::default();
        if second.is_multiple_of(CACHE_PERIOD_SECONDS) {
            self.cached.balance();
        }
    }

    /// Records a miss of a hot spot. Returns its level.
    fn heat(&mut self, spot: KeyId, weight: W) -> usize {
        let known = self.hot_spots.find(spot);
        self.predictions.record(known.map(|slot| self.hot_spots.level(slot)));
        let slot = match known {
            Some(slot) => self.warm(slot, weight),
            None => self.add_spot(spot, weight),
        };
        self.hot_spots.level(slot)
    }

    /// Raises a known hot spot.
    fn warm(&mut self, slot: Slot, weight: W) -> Slot {
        self.hot_spots_used = self.hot_spots_used - self.hot_spots.reweigh(slot, weight) + weight.get();
        self.hot_spots.lift(slot, self.jump);
        slot
    }

    /// Adds a hot spot, at the level of the one that it replaces.
    fn add_spot(&mut self, spot: KeyId, weight: W) -> Slot {
        let mut level = 0;
        while self.hot_spots_used > self.hot_spots_max.saturating_sub(weight.get()) {
            let Some(oldest) = self.hot_spots.oldest_below(LEVELS, None) else { break };
            level = self.hot_spots.level(oldest);
            self.hot_spots_used -= self.hot_spots.remove(oldest).1;
        }
        self.hot_spots_used += weight.get();
        self.hot_spots.insert(level, spot, weight)
    }

    /// Removes an object and records it.
    fn evict(&mut self, slot: Slot) {
        let (id, size) = self.cached.remove(slot);
        self.used -= size;
        self.eviction_log.record(id);
    }

    /// Promotes an object or, without room, has another one demoted.
    fn promote(&mut self, id: KeyId, weight: W) {
        let free = self.capacity - self.used;
        if weight.get() <= free {
            self.used += weight.get();
            self.cached.insert(LEVELS - 1, id, weight);
        } else if free < self.capacity / FREE_SHARE
            && let Some(slot) = self.cached.oldest_below(DEMOTED_LEVELS, None)
        {
            self.evict(slot);
        }
    }
}

impl<W: Weight> Policy for DmCacheSmq<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.cached.find(id).is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.cached.find(id) {
            self.used -= self.cached.remove(slot).1;
        }
    }

    fn request(&mut self, request: &CacheRequest) -> bool {
        let (weight, second) = (W::of(request.size), self.seconds.of(request));
        self.pass_to(second);
        let Some(slot) = self.cached.find(request.id) else {
            let promoted = LEVELS - LEVELS / self.predictions.caution();
            let level = self.heat(request.id / self.objects_per_spot, weight);
            let is_copied = request.is_write && request.is_whole && weight.get() <= self.capacity - self.used;
            if is_copied || level >= promoted {
                self.promote(request.id, weight);
            }
            return false;
        };
        self.used = self.used - self.cached.reweigh(slot, weight) + weight.get();
        if self.cached.is_first_in(slot, self.second / CACHE_PERIOD_SECONDS) {
            self.cached.lift(slot, 1);
        }
        while self.used > self.capacity {
            let Some(other) = self.cached.oldest_below(LEVELS, Some(request.id)) else { break };
            self.evict(other);
        }
        true
    }
}
