//! Counts since the last sample.

use std::sync::{Mutex, MutexGuard, PoisonError};

use manometer_measure::LatencyHistogram;

use super::FileOperation;
use crate::sample::{OperationSample, SampleCounts};

/// The state column that counts steps for which no file was available.
pub(crate) const SKIPPED: &str = "skipped";

/// Threads that share a shard; more shards take more memory, fewer make threads wait.
const THREADS_PER_SHARD: u32 = 4;
const MAX_SHARDS: u32 = 16;

/// The counts of one operation.
#[derive(Debug, Default)]
struct OperationCounts {
    requests: u64,
    bytes: u64,
    missing: u64,
    latency: Option<LatencyHistogram>,
}

impl OperationCounts {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.missing += other.missing;
        match (&mut self.latency, other.latency) {
            (Some(own), Some(other)) => own.add(&other),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
    }
}

/// The counts of the threads of one shard.
#[derive(Debug, Default)]
struct Shard {
    done: [OperationCounts; FileOperation::ALL.len()],
    skipped: u64,
}

/// The counts of all threads, read on the tick.
#[derive(Debug)]
pub(crate) struct FileCounts {
    shards: Vec<Mutex<Shard>>,
    /// Whether steps can be skipped.
    skips: bool,
}

impl FileCounts {
    /// Counts of up to `threads` threads; with `skips`, of skipped steps too.
    pub(crate) fn new(threads: u32, skips: bool) -> Self {
        let shards = threads.div_ceil(THREADS_PER_SHARD).clamp(1, MAX_SHARDS);
        Self { shards: (0..shards).map(|_| Mutex::default()).collect(), skips }
    }

    /// Counts an operation of the thread `index`.
    pub(crate) fn count(&self, index: u32, operation: FileOperation, bytes: u64, latency_ns: u64) {
        let mut shard = self.shard(index);
        let done = &mut shard.done[operation as usize];
        done.requests += 1;
        done.bytes += bytes;
        done.latency.get_or_insert_default().record(latency_ns);
    }

    /// Counts a missing file.
    pub(crate) fn miss(&self, index: u32, operation: FileOperation) {
        self.shard(index).done[operation as usize].missing += 1;
    }

    /// Counts a step for which no file was available.
    pub(crate) fn skip(&self, index: u32) {
        self.shard(index).skipped += 1;
    }

    fn shard(&self, index: u32) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[index as usize % self.shards.len()];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts of `operations` since the last call.
    pub(crate) fn take_counts(&self, operations: &[FileOperation]) -> SampleCounts {
        let mut shard = self.take();
        let sampled = |operation: &FileOperation| {
            let done = std::mem::take(&mut shard.done[*operation as usize]);
            let sample = OperationSample {
                requests: done.requests,
                bytes: done.bytes,
                retries: 0,
                missing: done.missing,
                latency: done.latency.map(|latency| latency.to_base64()).unwrap_or_default(),
                response: String::new(),
            };
            (operation.name().to_owned(), sample)
        };
        let operations = operations.iter().map(sampled).collect();
        let skipped = self.skips.then(|| (SKIPPED.to_owned(), shard.skipped as f64));
        SampleCounts { operations, state: skipped.into_iter().collect(), dropped: 0 }
    }

    fn take(&self) -> Shard {
        let mut all = Shard::default();
        for shard in &self.shards {
            let taken = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            all.done.iter_mut().zip(taken.done).for_each(|(own, other)| own.add(other));
            all.skipped += taken.skipped;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_count_and_nothing_counts_twice() {
        let all = FileCounts::new(200, true);
        for index in 0..200 {
            all.count(index, FileOperation::Read, 2048, 1000);
            all.count(index, FileOperation::Append, 1, 1_000_000);
            all.miss(index, FileOperation::Read);
            all.skip(index);
        }
        let operations = [FileOperation::Read, FileOperation::Append];
        let counts = all.take_counts(&operations);
        assert_eq!(counts.state[SKIPPED], 200.0);
        let read = &counts.operations["read"];
        assert_eq!((read.requests, read.bytes, read.missing), (200, 200 * 2048, 200));
        let latency = LatencyHistogram::from_base64(&counts.operations["append"].latency).unwrap();
        assert_eq!(latency.len(), 200);
        assert!(latency.quantile_ns(0.5).unwrap().abs_diff(1_000_000) < 1000);
        let after = all.take_counts(&operations);
        assert_eq!(after.operations["read"].requests, 0);
        assert!(after.operations["read"].latency.is_empty());
        assert!(FileCounts::new(1, false).take_counts(&operations).state.is_empty());
    }
}
