//! What a trace amounts to: counts, span, keys, footprint.
//!
//! Exact, so memory grows with the number of keys (some 40 bytes each), not with the trace.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::key::IdHasher;
use crate::record::{Operation, Record};

/// What has been seen of a trace until now.
#[derive(Debug, Default)]
pub struct Summary {
    requests: u64,
    timed: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    previous_ns: u64,
    backward: u64,
    operations: [u64; Operation::ALL.len()],
    /// Of each key the most bytes that it was seen to have; none where no size was told.
    keys: HashMap<u64, Option<u64>, IdHasher>,
    clients: HashSet<u64, IdHasher>,
    /// Of each device the stretches that were asked for, from where to where, apart from one another.
    stretches: BTreeMap<(u32, u64), u64>,
    key_sizes: Sizes,
    value_sizes: Sizes,
    failed: u64,
    with_result: u64,
}

/// What a trace amounts to, for machines. What it does not tell is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Totals {
    /// Requests.
    pub requests: u64,
    /// Different keys.
    pub keys: u64,
    /// From the earliest request to the latest, in seconds.
    pub span_s: Option<f64>,
    /// Bytes that all keys with their values take, or the different bytes of devices.
    pub footprint_bytes: Option<u64>,
    /// Requests of each operation, in the order of their numbers.
    pub operations: BTreeMap<&'static str, u64>,
    /// Different clients.
    pub clients: Option<u64>,
    /// Bytes of keys.
    pub key_size: Option<SizeTotals>,
    /// Bytes of values, or of requests to a device.
    pub value_size: Option<SizeTotals>,
    /// Requests earlier than the one before.
    pub times_backward: u64,
    /// Requests without a time.
    pub times_absent: u64,
    /// Requests that failed or found nothing.
    pub failed: Option<u64>,
}

/// The sizes of the requests that tell them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeTotals {
    /// The smallest.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: u64,
    /// The sum, in bytes.
    pub sum: f64,
    /// Of so many requests.
    pub samples: u64,
}

#[derive(Debug, Default)]
struct Sizes {
    min: u64,
    max: u64,
    sum: u128,
    samples: u64,
}

impl Sizes {
    fn add(&mut self, size: u64) {
        self.min = if self.samples == 0 { size } else { self.min.min(size) };
        self.max = self.max.max(size);
        self.sum += u128::from(size);
        self.samples += 1;
    }

    fn totals(&self) -> Option<SizeTotals> {
        let Self { min, max, sum, samples } = *self;
        (samples > 0).then(|| SizeTotals { min, mean: sum as f64 / samples as f64, max, sum: sum as f64, samples })
    }
}

impl Summary {
    /// Takes in the next records.
    pub fn add(&mut self, records: &[Record]) {
        for record in records {
            self.add_one(record);
        }
    }

    fn add_one(&mut self, record: &Record) {
        self.requests += 1;
        self.operations[record.operation as usize] += 1;
        if let Some(time) = record.time_ns {
            self.timed += 1;
            self.backward += u64::from(self.timed > 1 && time < self.previous_ns);
            self.previous_ns = time;
            self.first_ns = Some(self.first_ns.map_or(time, |first| first.min(time)));
            self.last_ns = Some(self.last_ns.map_or(time, |last| last.max(time)));
        }
        if let Some(client) = record.client {
            self.clients.insert(client);
        }
        if let Some(size) = record.key_size {
            self.key_sizes.add(size.into());
        }
        if let Some(size) = record.value_size {
            self.value_sizes.add(size);
        }
        if let Some(succeeded) = record.succeeded {
            self.with_result += 1;
            self.failed += u64::from(!succeeded);
        }
        self.add_place(record);
    }

    fn add_place(&mut self, record: &Record) {
        let stretch = if record.operation.is_block() { record.offset.zip(record.value_size) } else { None };
        let size = match stretch {
            Some((offset, size)) => {
                cover(&mut self.stretches, record.device, offset, offset.saturating_add(size));
                None
            }
            None => record.value_size.map(|size| {
                let end = size.saturating_add(record.offset.unwrap_or(0));
                end.saturating_add(record.key_size.unwrap_or(0).into())
            }),
        };
        let largest = self.keys.entry(record.key).or_default();
        *largest = (*largest).max(size);
    }

    /// What it amounts to.
    pub fn totals(&self) -> Totals {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let operations = Operation::ALL.iter().zip(&self.operations).filter(|(_, count)| **count > 0);
        Totals {
            requests: self.requests,
            keys: self.keys.len() as u64,
            span_s: self.first_ns.zip(self.last_ns).map(|(first, last)| seconds(last - first)),
            footprint_bytes: self.footprint(),
            operations: operations.map(|(operation, count)| (operation.name(), *count)).collect(),
            clients: (!self.clients.is_empty()).then_some(self.clients.len() as u64),
            key_size: self.key_sizes.totals(),
            value_size: self.value_sizes.totals(),
            times_backward: self.backward,
            times_absent: self.requests - self.timed,
            failed: (self.with_result > 0).then_some(self.failed),
        }
    }

    fn footprint(&self) -> Option<u64> {
        if self.value_sizes.samples == 0 {
            return None;
        }
        let values = self.keys.values().flatten().map(|size| u128::from(*size)).sum::<u128>();
        let stretches = self.stretches.iter().map(|((_, from), to)| u128::from(to - from)).sum::<u128>();
        u64::try_from(values + stretches).ok()
    }
}

/// Adds the bytes `from..to` of a device, and joins what touches.
fn cover(stretches: &mut BTreeMap<(u32, u64), u64>, device: u32, mut from: u64, mut to: u64) {
    if from >= to {
        return;
    }
    if let Some((&(_, begin), &end)) = stretches.range((device, 0)..=(device, from)).next_back() {
        if end >= to {
            return;
        }
        if end >= from {
            from = begin;
        }
    }
    while let Some((&(_, begin), &end)) = stretches.range((device, from)..=(device, to)).next() {
        to = to.max(end);
        stretches.remove(&(device, begin));
    }
    stretches.insert((device, from), to);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_count_once_with_their_largest_value() {
        let mut summary = Summary::default();
        let get = |key, size, time| Record {
            value_size: size,
            time_ns: Some(time),
            key_size: Some(10),
            ..Record::new(Operation::Get, key)
        };
        summary.add(&[get(1, Some(100), 2_000_000_000), get(1, Some(50), 1_000_000_000), get(2, None, 3_500_000_000)]);
        summary.add(&[Record::new(Operation::Delete, 3)]);
        let totals = summary.totals();
        assert_eq!((totals.requests, totals.keys, totals.footprint_bytes), (4, 3, Some(110)));
        assert_eq!((totals.span_s, totals.times_backward, totals.times_absent), (Some(2.5), 1, 1));
        assert_eq!(totals.operations, BTreeMap::from([("get", 3), ("delete", 1)]));
        let sizes = totals.value_size.unwrap();
        assert_eq!((sizes.min, sizes.mean, sizes.max, sizes.samples), (50, 75.0, 100, 2));
    }

    #[test]
    fn what_is_not_told_is_null() {
        let mut summary = Summary::default();
        summary.add(&[Record::new(Operation::Get, 1)]);
        let totals = summary.totals();
        assert_eq!((totals.span_s, totals.footprint_bytes, totals.clients, totals.failed), (None, None, None, None));
    }

    proptest! {
        #[test]
        fn bytes_of_devices_count_once(stretches in prop::collection::vec((0_u32..2, 0_u64..60, 0_u64..20), 0..40)) {
            let mut map = BTreeMap::new();
            let mut bytes = HashSet::new();
            for (device, from, length) in stretches {
                cover(&mut map, device, from, from + length);
                bytes.extend((from..from + length).map(|byte| (device, byte)));
            }
            prop_assert_eq!(map.iter().map(|((_, from), to)| to - from).sum::<u64>(), bytes.len() as u64);
        }
    }
}
