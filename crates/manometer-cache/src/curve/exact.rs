//! LRU's curve from every request.

use manometer_trace::Record;

use super::bounds::Bounds;
use super::{Curve, Point, Walk, size_of};
use crate::depths::{Counted, Depths, Weighed};
use crate::error::CacheError;
use crate::number::Numbers;
use crate::requests::too_many_keys;
use crate::stack::Stack;
use crate::weight::{Bytes, One, Weight};

/// A walk that has just begun.
pub(super) fn walk(bounds: &Bounds, by_size: bool) -> Box<dyn Walk + '_> {
    match by_size {
        true => Box::new(Exact::<Weighed, Bytes>::new(bounds, true)),
        false => Box::new(Exact::<Counted, One>::new(bounds, false)),
    }
}

struct Exact<'a, D, W> {
    bounds: &'a Bounds,
    by_size: bool,
    numbers: Numbers,
    ids: Vec<u32>,
    stack: Stack<D, W>,
    hits: Vec<u64>,
    requests: u64,
}

impl<'a, D: Depths, W: Weight> Exact<'a, D, W> {
    fn new(bounds: &'a Bounds, by_size: bool) -> Self {
        let hits = vec![0; bounds.values().len() + 1];
        Self { bounds, by_size, numbers: Numbers::default(), ids: Vec::new(), stack: Stack::new(), hits, requests: 0 }
    }
}

impl<D: Depths, W: Weight> Walk for Exact<'_, D, W> {
    fn take(&mut self, batch: &[Record]) -> Result<(), CacheError> {
        self.ids.clear();
        if !self.numbers.number(batch.iter().map(|record| record.key), &mut self.ids) {
            return Err(too_many_keys());
        }
        self.requests += batch.len() as u64;
        for (id, record) in self.ids.iter().zip(batch) {
            if let Some(depth) = self.stack.request(*id, size_of(record, self.by_size)) {
                self.hits[self.bounds.at_least(depth)] += 1;
            }
        }
        Ok(())
    }

    fn curve(&self) -> Curve {
        let footprint = self.stack.total() as f64;
        let mut misses = self.requests;
        let shown = if self.requests == 0 { 0 } else { self.bounds.worth(footprint) };
        let points = self.bounds.values().iter().zip(&self.hits).take(shown).map(|(capacity, hits)| {
            misses -= hits;
            Point { capacity: *capacity, miss_ratio: misses as f64 / self.requests as f64, error: None }
        });
        Curve { points: points.collect(), footprint, rate: 1.0, smallest: 0.0 }
    }
}
