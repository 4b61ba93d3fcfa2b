//! The summary of a trace: counts, span, keys and footprint.
//!
//! Exact up to [`KNOWN_MAX`] keys, clients and extents of devices. Above it a sample is kept, with the standard error
//! of each estimate. Memory is therefore bounded for every trace.

mod sampled;
mod stretches;

use std::collections::BTreeMap;

use serde::Serialize;

use self::sampled::{Estimate, Sampled};
use self::stretches::ExtentSet;
use crate::error::TraceError;
use crate::reader::TraceReader;
use crate::record::{Record, TraceOperation};

/// The most keys, clients and extents of devices that are tracked exactly, as many as in `characterise`.
pub const KNOWN_MAX: usize = 1 << 22;

/// Accumulates the summary of a trace.
#[derive(Debug)]
pub struct TraceSummary {
    requests: u64,
    timed: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    previous_ns: u64,
    backward: u64,
    operations: [u64; TraceOperation::ALL.len()],
    /// The largest size seen of each key in bytes; `None` if unknown.
    keys: Sampled<Option<u64>>,
    clients: Sampled<()>,
    /// The requested bytes of devices.
    stretches: ExtentSet,
    key_sizes: Sizes,
    value_sizes: Sizes,
    failed: u64,
    with_result: u64,
}

/// The summary of a trace, for machines. What the trace does not contain is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Totals {
    /// The number of requests.
    pub requests: u64,
    /// The number of different keys. An estimate if `standard_errors` has an entry for it; so are clients and the
    /// footprint.
    pub keys: u64,
    /// From the earliest request to the latest, in seconds.
    pub span_s: Option<f64>,
    /// Bytes of all keys with their values, or different bytes of devices.
    pub footprint_bytes: Option<u64>,
    /// Why the footprint of a trace with sizes is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footprint_reason: Option<String>,
    /// Requests by operation, in the order of their numbers.
    pub operations: BTreeMap<&'static str, u64>,
    /// The number of different clients.
    pub clients: Option<u64>,
    /// Key sizes.
    pub key_size: Option<SizeTotals>,
    /// Value sizes, or sizes of block requests.
    pub value_size: Option<SizeTotals>,
    /// Requests earlier than the one before.
    pub times_backward: u64,
    /// Requests without a time.
    pub times_absent: u64,
    /// Requests that failed or missed.
    pub failed: Option<u64>,
    /// The standard error of each estimate; empty if all numbers are exact.
    pub standard_errors: BTreeMap<&'static str, f64>,
}

/// The sizes of requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeTotals {
    /// The minimum in bytes.
    pub min: u64,
    /// The mean in bytes.
    pub mean: f64,
    /// The maximum in bytes.
    pub max: u64,
    /// The sum, in bytes.
    pub sum: f64,
    /// The number of requests with a size.
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

impl Default for TraceSummary {
    fn default() -> Self {
        Self::with_known_max(KNOWN_MAX)
    }
}

impl TraceSummary {
    /// Tracks up to `known_max` keys, clients and extents each.
    fn with_known_max(known_max: usize) -> Self {
        Self {
            requests: 0,
            timed: 0,
            first_ns: None,
            last_ns: None,
            previous_ns: 0,
            backward: 0,
            operations: [0; TraceOperation::ALL.len()],
            keys: Sampled::new(known_max),
            clients: Sampled::new(known_max),
            stretches: ExtentSet::new(known_max),
            key_sizes: Sizes::default(),
            value_sizes: Sizes::default(),
            failed: 0,
            with_result: 0,
        }
    }

    /// Reads a trace to its end, or up to the error that ends it.
    pub fn read(reader: &mut dyn TraceReader) -> (Self, Option<TraceError>) {
        let (mut summary, mut batch) = (Self::default(), Vec::new());
        loop {
            match reader.read(&mut batch) {
                Ok(0) => return (summary, None),
                Ok(_) => summary.add(&batch),
                Err(error) => return (summary, Some(error)),
            }
        }
    }

    /// Adds the next records.
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
            self.clients.of(client);
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
                self.stretches.add(record.device, offset, offset.saturating_add(size));
                None
            }
            None => record.value_size.map(|size| {
                let end = size.saturating_add(record.offset.unwrap_or(0));
                end.saturating_add(record.key_size.unwrap_or(0).into())
            }),
        };
        if let Some(largest) = self.keys.of(record.key) {
            *largest = (*largest).max(size);
        }
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let operations = TraceOperation::ALL.iter().zip(&self.operations).filter(|(_, count)| **count > 0);
        let (keys, clients) = (self.keys.count(), self.clients.count());
        let (footprint, footprint_reason) = match self.footprint() {
            Ok(footprint) => (footprint, None),
            Err(reason) => (None, Some(reason)),
        };
        let estimates = [("keys", Some(keys)), ("clients", Some(clients)), ("footprint_bytes", footprint)];
        Totals {
            requests: self.requests,
            keys: keys.value.round() as u64,
            span_s: self.first_ns.zip(self.last_ns).map(|(first, last)| seconds(last - first)),
            footprint_bytes: footprint.map(|footprint| footprint.value.round() as u64),
            footprint_reason,
            operations: operations.map(|(operation, count)| (operation.name(), *count)).collect(),
            clients: (clients.value > 0.0).then_some(clients.value.round() as u64),
            key_size: self.key_sizes.totals(),
            value_size: self.value_sizes.totals(),
            times_backward: self.backward,
            times_absent: self.requests - self.timed,
            failed: (self.with_result > 0).then_some(self.failed),
            standard_errors: estimates
                .into_iter()
                .filter_map(|(what, estimate)| Some((what, estimate?.standard_error()?)))
                .collect(),
        }
    }

    /// Bytes of all keys with their values and of all extents; `None` if no size is known.
    fn footprint(&self) -> Result<Option<Estimate>, String> {
        if self.value_sizes.samples == 0 {
            return Ok(None);
        }
        let values = self.keys.sum(|size| size.unwrap_or(0));
        Ok(Some(values.plus(self.stretches.bytes()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_once_with_their_largest_value() {
        let mut summary = TraceSummary::default();
        let get = |key, size, time| Record {
            value_size: size,
            time_ns: Some(time),
            key_size: Some(10),
            ..Record::new(TraceOperation::Get, key)
        };
        summary.add(&[get(1, Some(100), 2_000_000_000), get(1, Some(50), 1_000_000_000), get(2, None, 3_500_000_000)]);
        summary.add(&[Record::new(TraceOperation::Delete, 3)]);
        let totals = summary.totals();
        assert_eq!((totals.requests, totals.keys, totals.footprint_bytes), (4, 3, Some(110)));
        assert_eq!((totals.span_s, totals.times_backward, totals.times_absent), (Some(2.5), 1, 1));
        assert_eq!(totals.operations, BTreeMap::from([("get", 3), ("delete", 1)]));
        let sizes = totals.value_size.unwrap();
        assert_eq!((sizes.min, sizes.mean, sizes.max, sizes.samples), (50, 75.0, 100, 2));
    }

    #[test]
    fn what_a_trace_does_not_hold_is_null() {
        let mut summary = TraceSummary::default();
        summary.add(&[Record::new(TraceOperation::Get, 1)]);
        let totals = summary.totals();
        assert_eq!((totals.span_s, totals.footprint_bytes, totals.clients, totals.failed), (None, None, None, None));
    }

    #[test]
    fn above_the_bound_it_says_what_is_estimated_and_how_well() {
        let mut summary = TraceSummary::with_known_max(1_000);
        let get =
            |key: u64| Record { value_size: Some(100), client: Some(key % 7), ..Record::new(TraceOperation::Get, key) };
        let read = |block: u64| Record::block(TraceOperation::Read, 1, block << 21, 512, 4096);
        summary.add(&(0..500).map(get).chain((0..400).map(read)).collect::<Vec<_>>());
        let exact = summary.totals();
        assert_eq!((exact.keys, exact.footprint_bytes), (900, Some(500 * 100 + 400 * 4096)));
        assert!(exact.standard_errors.is_empty());
        summary.add(&(500..10_000).map(get).chain((400..10_000).map(read)).collect::<Vec<_>>());
        let totals = summary.totals();
        assert_eq!(totals.standard_errors.keys().copied().collect::<Vec<_>>(), ["footprint_bytes", "keys"]);
        let within = |found: u64, truth: f64, what| {
            let error: f64 = totals.standard_errors[what];
            assert!(error < 0.1 * truth && (found as f64 - truth).abs() < 4.0 * error, "{found} for {truth} ± {error}");
        };
        within(totals.keys, 20_000.0, "keys");
        within(totals.footprint_bytes.unwrap(), 10_000.0 * (100.0 + 4096.0), "footprint_bytes");
        assert_eq!((totals.requests, totals.clients), (20_000, Some(7)));
    }

    #[test]
    fn a_footprint_that_cannot_be_sampled_is_null_with_its_reason() {
        let mut summary = TraceSummary::with_known_max(4);
        let read = |offset, size| Record::block(TraceOperation::Read, 0, offset, 512, size);
        summary.add(&(0..9).map(|block| read(block << 21, 512)).collect::<Vec<_>>());
        summary.add(&[read(0, u64::MAX)]);
        let totals = summary.totals();
        assert!(totals.footprint_bytes.is_none() && totals.footprint_reason.unwrap().contains("1 TiB"));
    }
}
