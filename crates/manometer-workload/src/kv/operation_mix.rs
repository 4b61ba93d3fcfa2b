//! The operations of a workload and how often each occurs.

use super::db_bench::DbBench;
use super::distribution::IntegerDistribution;
use super::request::KvOperation;

/// The requests of the threads, by family of workloads.
#[derive(Debug, Clone, PartialEq)]
pub enum OperationMix {
    /// YCSB's core workloads.
    Ycsb(YcsbMix),
    /// db_bench's benchmarks.
    DbBench(Box<DbBench>),
}

/// The operations of a core workload, in the order of [`YcsbMix::shares`].
pub(super) const OPERATIONS: [KvOperation; 5] =
    [KvOperation::Read, KvOperation::Update, KvOperation::Insert, KvOperation::Scan, KvOperation::ReadModifyWrite];

/// The share of each operation, 1 in all, and the lengths of scans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YcsbMix {
    /// Reads, updates, inserts, scans, read-modify-writes.
    pub shares: [f64; OPERATIONS.len()],
    /// Records of a scan.
    pub scan_lengths: IntegerDistribution,
}

impl YcsbMix {
    /// The operations that it holds.
    pub fn operations(&self) -> Vec<KvOperation> {
        OPERATIONS.into_iter().zip(self.shares).filter(|(_, share)| *share > 0.0).map(|(kind, _)| kind).collect()
    }

    /// The share of `operation`.
    pub fn share(&self, operation: KvOperation) -> f64 {
        OPERATIONS.into_iter().zip(self.shares).find(|(kind, _)| *kind == operation).map_or(0.0, |(_, share)| share)
    }
}
