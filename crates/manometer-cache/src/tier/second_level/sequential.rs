//! Detects sequential requests of a task.

use std::collections::HashMap;

use super::settings::SequentialBypass;
use crate::tier::io::{FLUSHER, IoRequest};

/// The weight of a run in a task's moving mean is one over this.
const MEAN_WEIGHT: u64 = 8;

/// The last requests of each task.
#[derive(Debug, Default)]
pub struct SequentialDetector {
    tasks: HashMap<u32, TaskRun, rapidhash::fast::RandomState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct TaskRun {
    end: u64,
    /// Bytes and requests of the current run.
    run: u64,
    requests: u64,
    /// The mean run length in bytes.
    mean: u64,
}

impl SequentialDetector {
    /// Records a request. Returns whether its task is sequential.
    pub fn is_sequential(&mut self, io: &IoRequest, sequential: Option<&SequentialBypass>) -> bool {
        let Some(sequential) = sequential else { return false };
        if io.task == FLUSHER && sequential.write_back.is_some_and(|limit| io.bytes >= limit.0) {
            return true;
        }
        let task = self.tasks.entry(io.task).or_default();
        if task.end == io.offset {
            task.run += io.bytes;
            task.requests += 1;
        } else {
            task.mean = (task.mean * (MEAN_WEIGHT - 1) + task.run) / MEAN_WEIGHT;
            (task.run, task.requests) = (io.bytes, 1);
        }
        task.end = io.offset + io.bytes;
        let run = if sequential.task_mean { task.run.max(task.mean) } else { task.run };
        sequential.bytes.is_some_and(|limit| run >= limit.0)
            || sequential.requests.is_some_and(|limit| task.requests >= limit)
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::ByteSize;

    use super::*;

    const NONE: SequentialBypass =
        SequentialBypass { bytes: None, requests: None, write_back: None, task_mean: false, synchronous_writes: true };

    fn io_request(offset: u64, bytes: u64) -> IoRequest {
        IoRequest { offset, bytes, is_write: false, is_through: false, task: 1 }
    }

    #[test]
    fn a_run_is_sequential_from_the_threshold_on() {
        let by_bytes = SequentialBypass { bytes: Some(ByteSize(100)), ..NONE };
        let mut tasks = SequentialDetector::default();
        let found: Vec<bool> = [(0, 50), (50, 49), (99, 1), (200, 99)]
            .map(|(at, len)| tasks.is_sequential(&io_request(at, len), Some(&by_bytes)))
            .into();
        assert_eq!(found, [false, false, true, false]);
        let by_requests = SequentialBypass { requests: Some(3), ..NONE };
        let mut tasks = SequentialDetector::default();
        let found: Vec<bool> =
            (0..4).map(|at| tasks.is_sequential(&io_request(at * 5, 5), Some(&by_requests))).collect();
        assert_eq!(found, [false, false, true, true]);
        assert!(!tasks.is_sequential(&io_request(0, 1 << 40), None));
    }

    #[test]
    fn a_task_that_reads_long_runs_is_sequential_from_their_start() {
        let by_mean =
            SequentialBypass { bytes: Some(ByteSize(100)), write_back: Some(ByteSize(50)), task_mean: true, ..NONE };
        let mut tasks = SequentialDetector::default();
        for run in 1..30 {
            tasks.is_sequential(&io_request(run * 10_000, 1000), Some(&by_mean));
        }
        assert!(tasks.is_sequential(&io_request(5, 1), Some(&by_mean)));
        let flusher = IoRequest { task: FLUSHER, ..io_request(0, 50) };
        assert!(tasks.is_sequential(&flusher, Some(&by_mean)) && !tasks.is_sequential(&flusher, None));
    }
}
