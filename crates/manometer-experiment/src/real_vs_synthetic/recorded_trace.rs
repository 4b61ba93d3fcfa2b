//! The trace in memory: the key of each request, and the sizes of each key.

use std::collections::HashMap;

use manometer_trace::key::IdHasher;
use manometer_trace::{Record, TraceError, TraceOperation, open};
use manometer_workload::replay::key_bytes;

use super::error::RealVsSyntheticError;
use crate::file::RealVsSynthetic;

/// The maximum number of requests, which are held in memory with 8 bytes each.
pub const REQUESTS_MAX: u64 = 1 << 28;

/// A key and its sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) id: u64,
    /// The length of the key as sent.
    pub(super) key_bytes: u32,
    /// The largest value size of the key in the trace.
    pub(super) value_bytes: u64,
}

/// A request: the index of its key, and its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyRequest {
    pub(super) key: u32,
    pub(super) operation: TraceOperation,
}

/// The trace in memory.
#[derive(Debug)]
pub(super) struct RecordedTrace {
    /// In the order of their first requests.
    pub(super) keys: Vec<Key>,
    pub(super) requests: Vec<KeyRequest>,
    /// The time of each request, where all have one.
    pub(super) times_ns: Option<Vec<u64>>,
    /// The requests for keys whose values have several sizes in the trace, of which the largest counts.
    pub(super) resized: u64,
    /// Damage of the trace.
    pub(super) damage: Vec<String>,
}

/// A key while the trace is read: its value size may not be known yet.
#[derive(Debug, Clone, Copy)]
struct PartialKey {
    id: u64,
    key_bytes: u32,
    value_bytes: Option<u64>,
    is_resized: bool,
}

#[derive(Debug, Default)]
struct TraceBuilder {
    places: HashMap<u64, u32, IdHasher>,
    keys: Vec<PartialKey>,
    requests: Vec<KeyRequest>,
    times_ns: Vec<u64>,
    scans: u64,
}

impl TraceBuilder {
    fn add(&mut self, record: &Record) {
        let next = self.keys.len() as u32;
        let place = *self.places.entry(record.key).or_insert(next);
        if place == next {
            self.keys.push(PartialKey {
                id: record.key,
                key_bytes: key_bytes(record),
                value_bytes: None,
                is_resized: false,
            });
        }
        let key = &mut self.keys[place as usize];
        key.key_bytes = key.key_bytes.max(key_bytes(record));
        key.is_resized |= key.value_bytes.zip(record.value_size).is_some_and(|(before, now)| before != now);
        key.value_bytes = key.value_bytes.max(record.value_size);
        self.times_ns.extend(record.time_ns);
        self.scans += u64::from(record.operation == TraceOperation::Scan);
        self.requests.push(KeyRequest { key: place, operation: record.operation });
    }

    /// The requests for keys whose values have several sizes.
    fn resized(&self) -> u64 {
        self.requests.iter().filter(|request| self.keys[request.key as usize].is_resized).count() as u64
    }
}

impl RecordedTrace {
    /// Reads the trace of `settings`.
    pub(super) fn read(settings: &RealVsSynthetic) -> Result<Self, RealVsSyntheticError> {
        let path = &settings.trace;
        let options = settings.trace_file().options().map_err(RealVsSyntheticError::trace(path))?;
        let mut reader = open(path, &options).map_err(RealVsSyntheticError::trace(path))?.reader;
        // One more than the maximum shows that there are more.
        let limit = settings.requests.unwrap_or(u64::MAX).min(REQUESTS_MAX + 1);
        let (mut builder, mut batch, mut damage) = (TraceBuilder::default(), Vec::new(), Vec::new());
        while (builder.requests.len() as u64) < limit {
            match reader.read(&mut batch) {
                Ok(0) => break,
                Ok(_) => {
                    let left = usize::try_from(limit - builder.requests.len() as u64).unwrap_or(usize::MAX);
                    batch.iter().take(left).for_each(|record| builder.add(record));
                }
                Err(error @ TraceError::Damaged { .. }) => {
                    damage.push(format!("{error}; the {} requests before it are used", builder.requests.len()));
                    break;
                }
                Err(error) => return Err(RealVsSyntheticError::trace(path)(error)),
            }
        }
        let times_ns = std::mem::take(&mut builder.times_ns);
        let resized = if settings.value_size.is_some() { 0 } else { builder.resized() };
        let (keys, requests) =
            finish(builder, settings.value_size).map_err(|reason| RealVsSyntheticError::unsuitable(path, reason))?;
        let times_ns = (times_ns.len() == requests.len()).then_some(times_ns);
        Ok(Self { keys, requests, times_ns, resized, damage })
    }

    /// The number of requests of each key, descending.
    pub(super) fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.keys.len()];
        self.requests.iter().for_each(|request| counts[request.key as usize] += 1);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        counts
    }

    /// The bytes of all keys and values.
    pub(super) fn footprint_bytes(&self) -> u64 {
        self.keys.iter().map(|key| key.bytes()).sum()
    }

    /// The mean size of a value over all keys.
    pub(super) fn value_bytes_mean(&self) -> u64 {
        let sum: u64 = self.keys.iter().map(|key| key.value_bytes).sum();
        (sum as f64 / self.keys.len().max(1) as f64).round() as u64
    }

    /// Whether requests have different operations.
    pub(super) fn operations_differ(&self) -> bool {
        self.requests.windows(2).any(|pair| pair[0].operation != pair[1].operation)
    }

    /// Whether values have different sizes.
    pub(super) fn sizes_differ(&self) -> bool {
        self.keys.windows(2).any(|pair| pair[0].value_bytes != pair[1].value_bytes)
    }
}

impl Key {
    /// The size of the key and its value, which is at least 1: an empty object takes a byte of a simulated cache.
    pub(super) fn bytes(&self) -> u64 {
        (u64::from(self.key_bytes) + self.value_bytes).max(1)
    }
}

impl KeyRequest {
    /// Whether it reads a value.
    pub(super) fn reads(self) -> bool {
        matches!(self.operation, TraceOperation::Get | TraceOperation::Read)
    }

    /// Whether it removes a key.
    pub(super) fn removes(self) -> bool {
        matches!(self.operation, TraceOperation::Delete | TraceOperation::Discard)
    }
}

fn finish(builder: TraceBuilder, value_size: Option<u32>) -> Result<(Vec<Key>, Vec<KeyRequest>), String> {
    let TraceBuilder { keys, requests, scans, .. } = builder;
    if requests.is_empty() {
        return Err("it contains no requests".to_owned());
    }
    if requests.len() as u64 > REQUESTS_MAX {
        return Err(format!(
            "it contains more than {REQUESTS_MAX} requests, too many for the memory: limit their number with `requests`"
        ));
    }
    if scans > 0 {
        return Err(format!("{scans} of its requests are scans, which caches do not support: choose another trace"));
    }
    if keys.len() == 1 {
        return Err(format!(
            "its {} requests are for one key, so that every load of it is the same: choose a trace with more keys",
            requests.len()
        ));
    }
    if !requests.iter().any(|request| request.reads()) {
        return Err("none of its requests is a read, so that there is no miss ratio: choose another trace".to_owned());
    }
    let unsized_keys = keys.iter().filter(|key| key.value_bytes.is_none()).count();
    if value_size.is_none() && unsized_keys > 0 {
        return Err(format!(
            "it has no value size for {unsized_keys} of its {} keys: set the size of values with `value_size`",
            keys.len()
        ));
    }
    let key = |partial: PartialKey| Key {
        id: partial.id,
        key_bytes: partial.key_bytes,
        value_bytes: value_size.map_or(partial.value_bytes.unwrap_or(0), u64::from),
    };
    Ok((keys.into_iter().map(key).collect(), requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(records: &[Record], value_size: Option<u32>) -> Result<(Vec<Key>, Vec<KeyRequest>), String> {
        let mut builder = TraceBuilder::default();
        records.iter().for_each(|record| builder.add(record));
        finish(builder, value_size)
    }

    fn get(key: u64, value_size: Option<u64>) -> Record {
        Record { value_size, ..Record::new(TraceOperation::Get, key) }
    }

    #[test]
    fn keys_are_numbered_by_first_request_and_have_their_largest_value() {
        let put = Record { key_size: Some(20), ..Record::new(TraceOperation::Put, 9) };
        let (keys, requests) = read(&[get(9, Some(5)), get(7, Some(3)), put, get(9, Some(80))], None).unwrap();
        assert_eq!(keys[0], Key { id: 9, key_bytes: 20, value_bytes: 80 });
        assert_eq!(requests.iter().map(|request| request.key).collect::<Vec<_>>(), [0, 1, 0, 0]);
        assert_eq!(requests[2].operation, TraceOperation::Put);
        let (keys, _) = read(&[get(9, None), get(8, None)], Some(100)).unwrap();
        assert_eq!(keys[0].value_bytes, 100);
    }

    #[test]
    fn unsuitable_traces_are_rejected_with_a_reason() {
        let scan = Record::new(TraceOperation::Scan, 1);
        let put = |key| Record { value_size: Some(1), ..Record::new(TraceOperation::Put, key) };
        for (records, expected) in [
            (&[][..], "contains no requests"),
            (&[get(1, None), get(2, Some(1))], "no value size for 1 of its 2 keys"),
            (&[get(1, Some(1))], "its 1 requests are for one key"),
            (&[get(1, Some(1)), get(1, Some(1))], "its 2 requests are for one key"),
            (&[put(1), put(2)], "none of its requests is a read"),
            (&[scan], "1 of its requests are scans"),
        ] {
            let error = read(records, None).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
