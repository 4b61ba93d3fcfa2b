//! OPT (Belady): evicts the object whose next request is the latest. For objects of equal size no policy that admits
//! every request misses less; with sizes this is the usual approximation.

use super::{CacheConfig, EvictionLog, Policy, PolicyKind};
use crate::bit_set::HierarchicalBitSet;
use crate::huge_pages::filled_table;
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::requests::RequestSequence;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "opt",
    about: "evicts the object whose next request is the latest: the fewest misses of all policies that admit every request; an approximation if sizes differ",
    source: "Belady, IBM Systems Journal 1966; cache thesis 3.1",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Opt),
};

/// An object is identified by the position of its next request, which is unique.
struct Opt<'a, W> {
    capacity: u64,
    used: u64,
    requests: &'a RequestSequence,
    next: &'a [u32],
    next_uses: HierarchicalBitSet,
    /// For each key, if its object is cached: the position of its next request, and its weight.
    held: Vec<Option<(u32, W)>>,
    eviction_log: EvictionLog,
}

impl<'a, W: Weight> Opt<'a, W> {
    fn new(setting: &CacheConfig<'a>) -> Self {
        let requests = setting.requests;
        Self {
            capacity: setting.capacity,
            used: 0,
            requests,
            next: requests.next_uses(),
            next_uses: HierarchicalBitSet::new(requests.len() + requests.keys()),
            held: filled_table(None, requests.keys()),
            eviction_log: EvictionLog::default(),
        }
    }

    /// The position of the next request for the object of a request, leaving out those that are larger than the cache.
    fn next_after(&self, position: u32) -> u32 {
        let mut next = self.next[position as usize];
        while self.requests.sizes().get(next as usize).is_some_and(|size| *size > self.capacity) {
            next = self.next[next as usize];
        }
        next
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(value) = self.next_uses.max() else { break };
            let never = self.requests.len() as u32;
            let id = self.requests.ids().get(value as usize).copied().unwrap_or(value.wrapping_sub(never));
            self.eviction_log.record(id);
            self.remove(id);
        }
    }
}

impl<W: Weight> Policy for Opt<'_, W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.held[id as usize].is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    #[inline]
    fn remove(&mut self, id: KeyId) {
        if let Some((value, weight)) = self.held[id as usize].take() {
            self.next_uses.remove(value);
            self.used -= weight.get();
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        let next = self.next_after(request.position);
        let is_hit = self.holds(request.id);
        self.remove(request.id);
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        self.held[request.id as usize] = Some((next, weight));
        self.next_uses.insert(next);
        is_hit
    }
}
