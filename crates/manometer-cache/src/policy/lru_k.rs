//! LRU-K: evicts the object whose K-th last request is the oldest, first those with fewer than K requests. Request
//! times are remembered for a while after eviction. Correlated requests are not merged.

use super::lists::WeightedLists;
use super::ranked::{RankFunction, RankedPolicy};
use super::{CacheConfig, PolicyKind, PolicyParameter, share};
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "lru-k",
    about: "evicts the object whose K-th last request is the oldest",
    source: "O'Neil, O'Neil and Weikum, SIGMOD 1993",
    parameters: &[
        PolicyParameter {
            name: "k",
            meaning: "K: which of the last requests counts",
            default: 2.0,
            min: 1.0,
            max: K_MAX as f64,
            is_whole: true,
        },
        PolicyParameter {
            name: "history",
            meaning: "size of the history of evicted objects, in capacities",
            default: 1.0,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(LruK),
};

const K_MAX: usize = 4;
/// A time before all others.
const NEVER: u32 = 0;

/// The last K requests, the latest first: positions from 1 on.
type RequestTimes = [u32; K_MAX];

type LruK<W> = RankedPolicy<W, RankByKthRequest<W>>;

struct RankByKthRequest<W> {
    k: usize,
    history_max: u64,
    history: WeightedLists<RequestTimes, W, 1>,
}

impl<W: Weight> RankFunction<W> for RankByKthRequest<W> {
    type Mark = RequestTimes;
    /// The K-th last request, then the last one.
    type Rank = (u32, u32);

    fn new(setting: &CacheConfig<'_>) -> Self {
        Self {
            k: setting.parameters[0] as usize,
            history_max: share(setting.capacity, setting.parameters[1]),
            history: WeightedLists::new(setting.requests.keys()),
        }
    }

    fn requested(&mut self, before: Option<RequestTimes>, request: &CacheRequest) -> RequestTimes {
        let remembered = || {
            let ghost = self.history.find(request.id)?;
            let times = self.history.value(ghost);
            self.history.remove(ghost);
            Some(times)
        };
        let [last, second, third, _] = before.or_else(remembered).unwrap_or([NEVER; K_MAX]);
        [request.position + 1, last, second, third]
    }

    fn rank(&self, times: RequestTimes, _: &CacheRequest, _: W) -> (u32, u32) {
        (times[self.k - 1], times[0])
    }

    fn on_evicted(&mut self, id: KeyId, _: (u32, u32), times: RequestTimes, weight: W) {
        self.history.insert(0, id, times, weight);
        self.history.trim(0, self.history_max);
    }
}
