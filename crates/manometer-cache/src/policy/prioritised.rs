//! What LFU, its forms with ageing, and GDSF have in common: the lowest priority goes; of equals, what was requested
//! least recently. Requests count while an object is in the cache.

use std::marker::PhantomData;

use super::ranked::{Order, Ranked};
use super::{Request, Setting};
use crate::number::Id;
use crate::weight::Weight;

/// What an object is worth.
pub(super) trait Priority: Send {
    /// `age` is the highest priority of those that were evicted.
    fn of(age: f64, requests: u32, weight: u64) -> f64;
}

pub(super) type Prioritised<W, P> = Ranked<W, ByPriority<P>>;

pub(super) struct ByPriority<P> {
    age: f64,
    priority: PhantomData<P>,
}

impl<W: Weight, P: Priority> Order<W> for ByPriority<P> {
    /// How many requests there were.
    type Mark = u32;
    /// Priorities are positive, and so are in the order of their bits; then by the last request.
    type Rank = (u64, u32);

    fn new(_: &Setting<'_>) -> Self {
        Self { age: 0.0, priority: PhantomData }
    }

    fn requested(&mut self, before: Option<u32>, _: &Request) -> u32 {
        before.unwrap_or(0) + 1
    }

    fn rank(&self, requests: u32, request: &Request, weight: W) -> (u64, u32) {
        (P::of(self.age, requests, weight.get()).to_bits(), request.position)
    }

    fn evicted(&mut self, _: Id, (priority, _): (u64, u32), _: u32, _: W) {
        self.age = self.age.max(f64::from_bits(priority));
    }
}
