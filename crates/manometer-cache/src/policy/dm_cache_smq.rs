//! The policy `smq` of Linux's dm-cache since 4.2: two queues of 64 levels, one of hot spots, which decides on
//! promotion, and one of cached objects. Each second the levels are rebalanced, and the promotion threshold adapts to
//! how well the queues predict requests. Objects promoted within the last minute are not demoted.
//!
//! A hot spot is one object here. Left to the tier simulation: hot spots of several neighbouring blocks, and dirty
//! blocks, which are not demoted until they are clean. With sizes the limits are in bytes.

use super::smq_levels::{LEVELS, SmqLevels};
use super::time_source::{REQUESTS_PER_SECOND, TimeSource};
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, is_full};
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "dm-cache-smq",
    about: "promotes the hottest objects of a queue of levels, with a threshold that follows how well it predicts",
    source: "Linux, dm-cache-policy-smq.c, 2015",
    parameters: &[
        PolicyParameter {
            name: "write",
            meaning: "levels by which a write must be hotter than a read",
            default: 2.0,
            min: 0.0,
            max: 64.0,
            is_whole: true,
        },
        REQUESTS_PER_SECOND,
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
/// The number of levels promoted from while there is room and, once there is none, by the sixteenths of requests for
/// well-placed objects in the cache.
const WITH_ROOM: usize = LEVELS / 2;
const BY_SIXTEENTHS: [usize; 17] = [1, 1, 1, 2, 4, 6, 7, 8, 7, 6, 4, 4, 3, 3, 2, 2, 1];
const CACHE_PERIOD_SECONDS: u32 = 10;
const DEMOTION_PERIOD_SECONDS: u32 = 60;
/// After this many idle seconds, further ones change nothing.
const IDLE_SECONDS_MAX: u32 = 2 * DEMOTION_PERIOD_SECONDS;

/// How well a queue predicts requests.
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

    fn sixteenths(&self) -> usize {
        (16 * self.good).checked_div(self.good + self.bad).unwrap_or(0) as usize
    }
}

struct DmCacheSmq<W> {
    capacity: u64,
    used: u64,
    hot_spots_max: u64,
    hot_spots_used: u64,
    write_extra: usize,
    seconds: TimeSource,
    second: u32,
    hot_spots: SmqLevels<W>,
    cached: SmqLevels<W>,
    hot_spot_predictions: PredictionStats,
    cache_predictions: PredictionStats,
    /// The lowest level from which reads are promoted.
    promoted: usize,
    /// How many levels the first request within a second raises a hot spot.
    jump: usize,
    eviction_log: EvictionLog,
}

impl<W: Weight> DmCacheSmq<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let keys = setting.requests.keys();
        let mean = setting.mean_weight();
        let hot_spots_max = (setting.capacity / HOT_SPOTS.0).max(HOT_SPOTS.1.saturating_mul(mean));
        let in_top = (hot_spots_max / mean / LEVELS as u64).min(setting.capacity / mean);
        Self {
            capacity: setting.capacity,
            used: 0,
            hot_spots_max,
            hot_spots_used: 0,
            write_extra: setting.parameters[0] as usize,
            seconds: TimeSource::new(setting.requests, setting.parameters[1]),
            second: 0,
            hot_spots: SmqLevels::new(keys, TOP_LEVELS, in_top),
            cached: SmqLevels::with_sentinels(keys),
            hot_spot_predictions: PredictionStats::default(),
            cache_predictions: PredictionStats::default(),
            promoted: LEVELS,
            jump: 1,
            eviction_log: EvictionLog::default(),
        }
    }

    fn pass_to(&mut self, second: u32) {
        let passed = second.saturating_sub(self.second).min(IDLE_SECONDS_MAX);
        for second in second - passed..second {
            self.tick(second + 1);
        }
        self.second = self.second.max(second);
    }

    fn tick(&mut self, second: u32) {
        if second.is_multiple_of(DEMOTION_PERIOD_SECONDS) {
            self.cached.advance_sentinels((second / DEMOTION_PERIOD_SECONDS) as usize % 2);
        }
        let is_full = is_full(self.capacity, self.used, self.cached.objects());
        let levels = if is_full { BY_SIXTEENTHS[self.cache_predictions.sixteenths()] } else { WITH_ROOM };
        let (share, jump) = match self.hot_spot_predictions.sixteenths() {
            0 => (4, 4),
            1 => (2, 2),
            _ => (1, 1),
        };
        self.promoted = LEVELS - levels / share;
        self.jump = jump;
        self.hot_spots.balance();
        self.hot_spot_predictions = PredictionStats::default();
        if second.is_multiple_of(CACHE_PERIOD_SECONDS) {
            self.cached.balance();
            self.cache_predictions = PredictionStats::default();
        }
    }

    /// Records a request for a hot spot. Returns its level.
    fn raise_level(&mut self, id: KeyId, weight: W, second: u32) -> usize {
        let known = self.hot_spots.find(id);
        self.hot_spot_predictions.record(known.map(|slot| self.hot_spots.level(slot)));
        if let Some(slot) = known {
            self.hot_spots_used = self.hot_spots_used - self.hot_spots.reweigh(slot, weight) + weight.get();
            let lift = if self.hot_spots.is_first_in(slot, second) { self.jump } else { 0 };
            self.hot_spots.lift(slot, lift);
        } else {
            self.hot_spots_used += weight.get();
            self.hot_spots.insert(id, weight);
        }
        while self.hot_spots_used > self.hot_spots_max {
            let Some((_, size)) = self.hot_spots.evict(Some(id)) else { break };
            self.hot_spots_used -= size;
        }
        self.hot_spots.find(id).map_or(0, |slot| self.hot_spots.level(slot))
    }

    /// Makes room for a promotion, if enough can be demoted.
    fn has_room(&mut self, weight: W) -> bool {
        while self.used > self.capacity - weight.get() {
            let Some((id, size)) = self.cached.evict_before_sentinel() else { return false };
            self.used -= size;
            self.eviction_log.record(id);
        }
        true
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
        let level = self.raise_level(request.id, weight, self.second);
        let held = self.cached.find(request.id);
        self.cache_predictions.record(held.map(|slot| self.cached.level(slot)));
        if let Some(slot) = held {
            self.used = self.used - self.cached.reweigh(slot, weight) + weight.get();
            if self.cached.is_first_in(slot, self.second / CACHE_PERIOD_SECONDS) {
                self.cached.lift(slot, 1);
            }
            while self.used > self.capacity {
                let Some((id, size)) = self.cached.evict(Some(request.id)) else { break };
                self.used -= size;
                self.eviction_log.record(id);
            }
            return true;
        }
        let needed = self.promoted + if request.is_write { self.write_extra } else { 0 };
        if level >= needed && self.has_room(weight) {
            self.used += weight.get();
            self.cached.insert(request.id, weight);
        }
        false
    }
}
