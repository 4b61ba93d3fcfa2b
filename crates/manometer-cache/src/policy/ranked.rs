//! The common part of LRU-K, LFU, its variants with ageing, and GDSF: evicts the lowest rank. An object's rank changes
//! only with its requests.

use super::{CacheConfig, EvictionLog, Policy};
use crate::indexed_heap::IndexedHeap;
use crate::key_id::KeyId;
use crate::request::CacheRequest;
use crate::weight::Weight;

/// The ranking of objects.
pub(super) trait RankFunction<W>: Send {
    /// The value kept about an object's requests.
    type Mark: Copy + Send;
    /// The rank.
    type Rank: Copy + Ord + Send;

    fn new(setting: &CacheConfig<'_>) -> Self;

    /// The value to keep after a request; `before` is `None` if the object was not cached.
    fn requested(&mut self, before: Option<Self::Mark>, request: &CacheRequest) -> Self::Mark;

    /// The rank of an object after its last request.
    fn rank(&self, mark: Self::Mark, request: &CacheRequest, weight: W) -> Self::Rank;

    /// Called after an object was evicted.
    fn on_evicted(&mut self, id: KeyId, rank: Self::Rank, mark: Self::Mark, weight: W);
}

#[derive(Debug, Clone, Copy)]
struct Object<M, W> {
    mark: M,
    weight: W,
}

pub(super) struct RankedPolicy<W, O: RankFunction<W>> {
    capacity: u64,
    used: u64,
    heap: IndexedHeap<O::Rank, Object<O::Mark, W>>,
    order: O,
    eviction_log: EvictionLog,
}

impl<W: Weight, O: RankFunction<W>> RankedPolicy<W, O> {
    pub(super) fn new(setting: &CacheConfig<'_>) -> Self {
        let heap = IndexedHeap::new(setting.requests.keys());
        Self { capacity: setting.capacity, used: 0, heap, order: O::new(setting), eviction_log: EvictionLog::default() }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some((id, rank, Object { mark, weight })) = self.heap.lowest() else { break };
            self.used -= weight.get();
            self.heap.remove(id);
            self.eviction_log.record(id);
            self.order.on_evicted(id, rank, mark, weight);
        }
    }
}

impl<W: Weight, O: RankFunction<W>> Policy for RankedPolicy<W, O> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.heap.get(id).is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some((_, object)) = self.heap.get(id) {
            self.used -= object.weight.get();
            self.heap.remove(id);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        if let Some((_, before)) = self.heap.get(request.id) {
            let mark = self.order.requested(Some(before.mark), request);
            let rank = self.order.rank(mark, request, weight);
            self.heap.update(request.id, rank, Object { mark, weight });
            self.used = self.used - before.weight.get() + weight.get();
            if weight.get() > before.weight.get() {
                self.evict_above(self.capacity);
            }
            return true;
        }
        let mark = self.order.requested(None, request);
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let rank = self.order.rank(mark, request, weight);
        self.heap.insert(request.id, rank, Object { mark, weight });
        false
    }
}
