//! The common part of LFU, its variants with ageing, and GDSF: evicts the lowest priority, and among equals the least
//! recently used. Requests count while an object is cached.

use std::marker::PhantomData;

use super::CacheConfig;
use super::ranked::{RankFunction, RankedPolicy};
use crate::key_id::KeyId;
use crate::request::CacheRequest;
use crate::weight::Weight;

/// The priority of an object.
pub(super) trait PriorityFunction: Send {
    /// `age` is the highest priority of an evicted object.
    fn of(age: f64, requests: u32, weight: u64) -> f64;
}

pub(super) type PriorityPolicy<W, P> = RankedPolicy<W, RankByPriority<P>>;

pub(super) struct RankByPriority<P> {
    age: f64,
    priority: PhantomData<P>,
}

impl<W: Weight, P: PriorityFunction> RankFunction<W> for RankByPriority<P> {
    /// The request count.
    type Mark = u32;
    /// The bits of the priority, whose order is that of positive numbers; then the last request.
    type Rank = (u64, u32);

    fn new(_: &CacheConfig<'_>) -> Self {
        Self { age: 0.0, priority: PhantomData }
    }

    fn requested(&mut self, before: Option<u32>, _: &CacheRequest) -> u32 {
        before.unwrap_or(0) + 1
    }

    fn rank(&self, requests: u32, request: &CacheRequest, weight: W) -> (u64, u32) {
        (P::of(self.age, requests, weight.get()).to_bits(), request.position)
    }

    fn on_evicted(&mut self, _: KeyId, (priority, _): (u64, u32), _: u32, _: W) {
        self.age = self.age.max(f64::from_bits(priority));
    }
}
