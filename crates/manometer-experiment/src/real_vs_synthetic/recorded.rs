//! The trace in memory: which key each request is for, and how large each key is.

use std::collections::HashMap;

use manometer_trace::character::zipf::{self, Zipf};
use manometer_trace::key::IdHasher;
use manometer_trace::{Operation, Record, TraceError, open};
use manometer_workload::replay::key_bytes;

use super::error::RealVsSyntheticError;
use crate::file::RealVsSynthetic;

/// The most requests that are taken: they are held in memory, 8 bytes each.
pub const REQUESTS_MAX: u64 = 1 << 28;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) id: u64,
    /// As long as its text is written.
    pub(super) key_bytes: u32,
    /// The largest value that the trace tells of it.
    pub(super) value_bytes: u64,
}

/// A request: its key as a place among the keys, and what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) key: u32,
    pub(super) operation: Operation,
}

/// The trace in memory.
#[derive(Debug)]
pub(super) struct Recorded {
    /// In the order in which they were first asked for.
    pub(super) keys: Vec<Key>,
    pub(super) requests: Vec<Request>,
    /// What the person should know.
    pub(super) notes: Vec<String>,
}

/// A key as it comes in: its size may not be known yet.
#[derive(Debug, Clone, Copy)]
struct Coming {
    id: u64,
    key_bytes: u32,
    value_bytes: Option<u64>,
}

#[derive(Debug, Default)]
struct Reading {
    places: HashMap<u64, u32, IdHasher>,
    keys: Vec<Coming>,
    requests: Vec<Request>,
    scans: u64,
}

impl Reading {
    fn add(&mut self, record: &Record) {
        let next = self.keys.len() as u32;
        let place = *self.places.entry(record.key).or_insert(next);
        if place == next {
            self.keys.push(Coming { id: record.key, key_bytes: key_bytes(record), value_bytes: None });
        }
        let key = &mut self.keys[place as usize];
        key.key_bytes = key.key_bytes.max(key_bytes(record));
        key.value_bytes = key.value_bytes.max(record.value_size);
        self.scans += u64::from(record.operation == Operation::Scan);
        self.requests.push(Request { key: place, operation: record.operation });
    }
}

impl Recorded {
    /// Reads the trace of `settings`.
    pub(super) fn read(settings: &RealVsSynthetic) -> Result<Self, RealVsSyntheticError> {
        let path = &settings.trace;
        let options = settings.file().options().map_err(RealVsSyntheticError::trace(path))?;
        let mut reader = open(path, &options).map_err(RealVsSyntheticError::trace(path))?.reader;
        // One more than there may be tells that there are more.
        let most = settings.requests.unwrap_or(u64::MAX).min(REQUESTS_MAX + 1);
        let (mut reading, mut batch, mut notes) = (Reading::default(), Vec::new(), Vec::new());
        while (reading.requests.len() as u64) < most {
            match reader.read(&mut batch) {
                Ok(0) => break,
                Ok(_) => {
                    let left = usize::try_from(most - reading.requests.len() as u64).unwrap_or(usize::MAX);
                    batch.iter().take(left).for_each(|record| reading.add(record));
                }
                Err(damage @ TraceError::Damaged { .. }) => {
                    notes.push(format!("{damage}; the {} requests before it are taken", reading.requests.len()));
                    break;
                }
                Err(error) => return Err(RealVsSyntheticError::trace(path)(error)),
            }
        }
        let (keys, requests) =
            finish(reading, settings.value_size).map_err(|why| RealVsSyntheticError::unfit(path, why))?;
        Ok(Self { keys, requests, notes })
    }

    /// Zipf's law as it fits the popularity of the keys.
    pub(super) fn zipf(&self) -> Option<Zipf> {
        let mut counts = vec![0_u64; self.keys.len()];
        self.requests.iter().for_each(|request| counts[request.key as usize] += 1);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        zipf::fit(&counts)
    }
}

fn finish(reading: Reading, value_size: Option<u32>) -> Result<(Vec<Key>, Vec<Request>), String> {
    let Reading { keys, requests, scans, .. } = reading;
    if requests.is_empty() {
        return Err("it holds no request".to_owned());
    }
    if requests.len() as u64 > REQUESTS_MAX {
        return Err(format!(
            "it holds more than {REQUESTS_MAX} requests, which are held in memory: say how many of them are taken, with \
             `requests`"
        ));
    }
    if scans > 0 {
        return Err(format!("{scans} of its requests scan, but caches keep no order of keys: choose another trace"));
    }
    let unsized_keys = keys.iter().filter(|key| key.value_bytes.is_none()).count();
    if value_size.is_none() && unsized_keys > 0 {
        return Err(format!(
            "of {unsized_keys} of its {} keys it tells no size: say how many bytes a value has, with `value_size`",
            keys.len()
        ));
    }
    let key = |coming: Coming| Key {
        id: coming.id,
        key_bytes: coming.key_bytes,
        value_bytes: value_size.map_or(coming.value_bytes.unwrap_or(0), u64::from),
    };
    Ok((keys.into_iter().map(key).collect(), requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(records: &[Record], value_size: Option<u32>) -> Result<(Vec<Key>, Vec<Request>), String> {
        let mut reading = Reading::default();
        records.iter().for_each(|record| reading.add(record));
        finish(reading, value_size)
    }

    fn get(key: u64, value_size: Option<u64>) -> Record {
        Record { value_size, ..Record::new(Operation::Get, key) }
    }

    #[test]
    fn keys_are_numbered_as_they_come_and_have_their_largest_value() {
        let put = Record { key_size: Some(20), ..Record::new(Operation::Put, 9) };
        let (keys, requests) = read(&[get(9, Some(5)), get(7, Some(3)), put, get(9, Some(80))], None).unwrap();
        assert_eq!(keys[0], Key { id: 9, key_bytes: 20, value_bytes: 80 });
        assert_eq!(requests.iter().map(|request| request.key).collect::<Vec<_>>(), [0, 1, 0, 0]);
        assert_eq!(requests[2].operation, Operation::Put);
        let (keys, _) = read(&[get(9, None)], Some(100)).unwrap();
        assert_eq!(keys[0].value_bytes, 100);
    }

    #[test]
    fn what_does_not_serve_is_refused_with_a_sentence() {
        let scan = Record::new(Operation::Scan, 1);
        for (records, says) in [
            (&[][..], "holds no request"),
            (&[get(1, None)], "of 1 of its 1 keys it tells no size"),
            (&[scan], "1 of its requests scan"),
        ] {
            let error = read(records, None).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
