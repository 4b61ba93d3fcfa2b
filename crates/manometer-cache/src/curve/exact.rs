//! LRU's exact curve, from every request.

use manometer_trace::Record;

use super::capacities::CapacityGrid;
use super::{CurvePoint, LruCurveBuilder, MissRatioCurve, size_of};
use crate::error::CacheError;
use crate::fenwick::{ByteTree, CountTree, FenwickTree};
use crate::key_id::KeyIdTable;
use crate::lru_stack::LruStack;
use crate::requests::too_many_keys;
use crate::weight::{ByteWeight, UnitWeight, Weight};

/// A new pass.
pub(super) fn walk(grid: &CapacityGrid, by_size: bool) -> Box<dyn LruCurveBuilder + '_> {
    match by_size {
        true => Box::new(ExactLruCurve::<ByteTree, ByteWeight>::new(grid, true)),
        false => Box::new(ExactLruCurve::<CountTree, UnitWeight>::new(grid, false)),
    }
}

struct ExactLruCurve<'a, D, W> {
    grid: &'a CapacityGrid,
    by_size: bool,
    key_ids: KeyIdTable,
    ids: Vec<u32>,
    stack: LruStack<D, W>,
    hits: Vec<u64>,
    requests: u64,
    /// The most that all keys weighed at any time.
    largest: u64,
}

impl<'a, D: FenwickTree, W: Weight> ExactLruCurve<'a, D, W> {
    fn new(grid: &'a CapacityGrid, by_size: bool) -> Self {
        let hits = vec![0; grid.values().len() + 1];
        Self {
            grid,
            by_size,
            key_ids: KeyIdTable::default(),
            ids: Vec::new(),
            stack: LruStack::new(),
            hits,
            requests: 0,
            largest: 0,
        }
    }
}

impl<D: FenwickTree, W: Weight> LruCurveBuilder for ExactLruCurve<'_, D, W> {
    fn add(&mut self, batch: &[Record]) -> Result<(), CacheError> {
        self.ids.clear();
        if !self.key_ids.assign(batch.iter().map(|record| record.key), &mut self.ids) {
            return Err(too_many_keys());
        }
        self.requests += batch.len() as u64;
        for (id, record) in self.ids.iter().zip(batch) {
            if let Some(depth) = self.stack.touch(*id, size_of(record, self.by_size)) {
                self.hits[self.grid.index_at_least(depth)] += 1;
            }
            self.largest = self.largest.max(self.stack.total());
        }
        Ok(())
    }

    fn curve(&self) -> MissRatioCurve {
        let footprint = self.stack.total() as f64;
        let mut misses = self.requests;
        let shown = if self.requests == 0 { 0 } else { self.grid.shown_len(footprint) };
        let points = self.grid.values().iter().zip(&self.hits).take(shown).map(|(capacity, hits)| {
            misses -= hits;
            CurvePoint { capacity: *capacity, miss_ratio: misses as f64 / self.requests as f64, error: None }
        });
        let first_requests = self.requests - self.hits.iter().sum::<u64>();
        let all = (self.requests > 0).then(|| CurvePoint {
            capacity: self.largest,
            miss_ratio: first_requests as f64 / self.requests as f64,
            error: None,
        });
        MissRatioCurve { points: points.collect(), footprint, all, rate: 1.0, smallest: 0.0 }
    }
}
