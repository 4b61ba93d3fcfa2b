//! Block requests: shares of reads and writes, sizes, seeks and sequential runs.

use std::collections::HashMap;

use serde::Serialize;

use super::histogram::{Distribution, Histogram};
use crate::record::{Record, TraceOperation};

/// The most devices whose seeks are tracked.
const DEVICES_MAX: usize = 1 << 16;
/// The most different sizes that are counted exactly.
const SIZES_MAX: usize = 1 << 16;
/// The number of most common sizes reported.
const COMMON_SIZES: usize = 8;

/// The load on block devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockDeviceLoad {
    /// The number of devices.
    pub devices: usize,
    /// Reads.
    pub read: RequestKind,
    /// Writes.
    pub write: RequestKind,
    /// Discards.
    pub discard: RequestKind,
    /// The most common sizes.
    pub common_sizes: Vec<CommonSize>,
    /// Distance in bytes from the start of a request to that of the request before it on its device.
    pub seek_bytes: Option<Distribution>,
    /// The share of the seeks that go backwards.
    pub backward_share: Option<f64>,
    /// The share of the requests that start where the request before them on their device ended.
    pub sequential_share: Option<f64>,
}

/// The requests of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestKind {
    /// The number of requests.
    pub requests: u64,
    /// Their share of all requests.
    pub requests_share: f64,
    /// Bytes.
    pub bytes: f64,
    /// Their share of all bytes.
    pub bytes_share: Option<f64>,
    /// Request sizes in bytes.
    pub size_bytes: Option<Distribution>,
    /// The share that start where the request before them on their device ended, of any kind.
    pub sequential_share: Option<f64>,
}

/// A common request size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CommonSize {
    /// Request size in bytes.
    pub bytes: u64,
    /// The share of the requests with this size.
    pub requests_share: f64,
}

/// Accumulates the requests of a trace.
#[derive(Debug, Default)]
pub struct BlockDeviceCounter {
    kinds: [KindCounter; 3],
    sizes: HashMap<u64, u64>,
    /// The start and end of the last request of each device.
    last: HashMap<u32, (u64, u64)>,
    seeks: Histogram,
    backward: u64,
}

#[derive(Debug, Default)]
struct KindCounter {
    sizes: Histogram,
    followed: u64,
    sequential: u64,
}

impl BlockDeviceCounter {
    /// Counts a request if it is a block request with an offset and a size.
    pub fn add(&mut self, record: &Record) {
        let kind = match record.operation {
            TraceOperation::Read => 0,
            TraceOperation::Write => 1,
            TraceOperation::Discard => 2,
            _ => return,
        };
        let (Some(begin), Some(size)) = (record.offset, record.value_size) else { return };
        let kind = &mut self.kinds[kind];
        kind.sizes.add(size, 1.0);
        if self.sizes.len() < SIZES_MAX || self.sizes.contains_key(&size) {
            *self.sizes.entry(size).or_default() += 1;
        }
        if self.last.len() == DEVICES_MAX && !self.last.contains_key(&record.device) {
            return;
        }
        if let Some((last_begin, last_end)) = self.last.insert(record.device, (begin, begin.saturating_add(size))) {
            kind.followed += 1;
            kind.sequential += u64::from(begin == last_end);
            self.seeks.add(begin.abs_diff(last_begin), 1.0);
            self.backward += u64::from(begin < last_begin);
        }
    }

    /// The load so far; `None` without block requests.
    pub fn finish(&self) -> Option<BlockDeviceLoad> {
        let requests: f64 = self.kinds.iter().map(|kind| kind.sizes.weight()).sum();
        let bytes: f64 = self.kinds.iter().map(KindCounter::bytes).sum();
        if requests == 0.0 {
            return None;
        }
        let [read, write, discard] = self.kinds.each_ref().map(|kind| kind.finish(requests, bytes));
        let followed: u64 = self.kinds.iter().map(|kind| kind.followed).sum();
        let sequential: u64 = self.kinds.iter().map(|kind| kind.sequential).sum();
        Some(BlockDeviceLoad {
            devices: self.last.len(),
            read,
            write,
            discard,
            common_sizes: self.common_sizes(requests),
            seek_bytes: self.seeks.distribution(1.0),
            backward_share: share(self.backward, followed),
            sequential_share: share(sequential, followed),
        })
    }

    fn common_sizes(&self, requests: f64) -> Vec<CommonSize> {
        let mut sizes: Vec<(u64, u64)> = self.sizes.iter().map(|(bytes, count)| (*bytes, *count)).collect();
        sizes.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        let common = |(bytes, count): (u64, u64)| CommonSize { bytes, requests_share: count as f64 / requests };
        sizes.into_iter().take(COMMON_SIZES).map(common).collect()
    }
}

impl KindCounter {
    fn bytes(&self) -> f64 {
        self.sizes.mean().unwrap_or(0.0) * self.sizes.weight()
    }

    fn finish(&self, requests: f64, bytes: f64) -> RequestKind {
        RequestKind {
            requests: self.sizes.weight() as u64,
            requests_share: self.sizes.weight() / requests,
            bytes: self.bytes(),
            bytes_share: (bytes > 0.0).then(|| self.bytes() / bytes),
            size_bytes: self.sizes.distribution(1.0),
            sequential_share: share(self.sequential, self.followed),
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_seeks_and_sequences_are_counted() {
        let mut counter = BlockDeviceCounter::default();
        for (operation, device, offset, size) in [
            (TraceOperation::Write, 0, 0, 4096),
            (TraceOperation::Write, 0, 4096, 4096),
            (TraceOperation::Read, 0, 1 << 20, 8192),
            (TraceOperation::Read, 1, 1 << 30, 8192),
            (TraceOperation::Read, 0, 0, 8192),
            (TraceOperation::Discard, 0, 8192, 0),
        ] {
            counter.add(&Record::block(operation, device, offset, 512, size));
        }
        counter.add(&Record::new(TraceOperation::Get, 1));
        let device = counter.finish().unwrap();
        assert_eq!((device.devices, device.read.requests, device.write.requests), (2, 3, 2));
        assert_eq!((device.read.requests_share, device.read.bytes_share), (0.5, Some(0.75)));
        assert_eq!(device.common_sizes[0], CommonSize { bytes: 8192, requests_share: 0.5 });
        // Seeks of 4,096, 2^20 − 4,096, 2^20 and 8,192 bytes.
        assert_eq!(device.seek_bytes.unwrap().mean, (2.0 * f64::from(1 << 20) + 8192.0) / 4.0);
        assert_eq!((device.backward_share, device.sequential_share), (Some(0.25), Some(0.5)));
        assert_eq!((device.read.sequential_share, device.write.sequential_share), (Some(0.0), Some(1.0)));
        assert_eq!(device.discard.sequential_share, Some(1.0));
    }

    #[test]
    fn keys_are_no_devices() {
        let mut counter = BlockDeviceCounter::default();
        counter.add(&Record { offset: Some(1), value_size: Some(1), ..Record::new(TraceOperation::Get, 1) });
        assert_eq!(counter.finish(), None);
    }
}
