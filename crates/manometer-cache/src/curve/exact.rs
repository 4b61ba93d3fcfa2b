//! LRU's curve from every request.

use manometer_trace::TraceReader;

use super::bounds::Bounds;
use super::{Curve, Point, details, size_of};
use crate::depths::{Counted, Depths, Weighed};
use crate::error::CacheError;
use crate::number::Numbers;
use crate::requests::{LeftOut, too_many_keys};
use crate::stack::Stack;
use crate::weight::{Bytes, One, Weight};

pub(super) fn curve(reader: &mut dyn TraceReader, bounds: &Bounds, by_size: bool) -> Result<Curve, CacheError> {
    if by_size { walk::<Weighed, Bytes>(reader, bounds, true) } else { walk::<Counted, One>(reader, bounds, false) }
}

fn walk<D: Depths, W: Weight>(
    reader: &mut dyn TraceReader,
    bounds: &Bounds,
    by_size: bool,
) -> Result<Curve, CacheError> {
    let mut numbers = Numbers::default();
    let mut stack = Stack::<D, W>::new();
    let (mut batch, mut ids) = (Vec::new(), Vec::new());
    let mut hits = vec![0_u64; bounds.values().len() + 1];
    let (mut requests, mut left_out) = (0, LeftOut::default());
    let damage = loop {
        match reader.read(&mut batch) {
            Ok(0) => break None,
            Err(damage) => break Some(damage),
            Ok(_) => {
                ids.clear();
                left_out.take_from(&mut batch, details(by_size));
                if !numbers.number(batch.iter().map(|record| record.key), &mut ids) {
                    return Err(too_many_keys());
                }
                requests += ids.len() as u64;
                for (id, record) in ids.iter().zip(&batch) {
                    if let Some(depth) = stack.request(*id, size_of(record, by_size)) {
                        hits[bounds.at_least(depth)] += 1;
                    }
                }
            }
        }
    };
    let footprint = stack.total() as f64;
    let mut misses = requests;
    let shown = if requests == 0 { 0 } else { bounds.worth(footprint) };
    let points = bounds.values().iter().zip(&hits).take(shown).map(|(capacity, hits)| {
        misses -= hits;
        Point { capacity: *capacity, miss_ratio: misses as f64 / requests as f64, error: None }
    });
    Ok(Curve {
        points: points.collect(),
        requests,
        left_out: left_out.sum(),
        footprint,
        rate: 1.0,
        smallest: 0.0,
        damage,
    })
}
