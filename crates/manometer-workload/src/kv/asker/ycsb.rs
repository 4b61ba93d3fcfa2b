//! YCSB's core workloads.

use rand_xoshiro::rand_core::Rng as _;

use super::Asker;
use crate::kv::distribution::{Between, Popularity, Random, Records, Space};
use crate::kv::plan::KvPlan;
use crate::kv::population::Population;
use crate::kv::request::{Operation, Request};

/// The operations of a core workload, in the order of [`YcsbMix::shares`].
const OPERATIONS: [Operation; 5] =
    [Operation::Read, Operation::Update, Operation::Insert, Operation::Scan, Operation::ReadModifyWrite];

/// How often each operation, as shares that add up to 1, and how long a scan is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YcsbMix {
    /// Reads, updates, inserts, scans, read-modify-writes.
    pub shares: [f64; OPERATIONS.len()],
    /// Records of a scan.
    pub scan_lengths: Between,
}

impl YcsbMix {
    /// The operations that it holds.
    pub fn operations(&self) -> Vec<Operation> {
        OPERATIONS.into_iter().zip(self.shares).filter(|(_, share)| *share > 0.0).map(|(kind, _)| kind).collect()
    }

    /// The share of `operation`.
    pub fn share(&self, operation: Operation) -> f64 {
        OPERATIONS.into_iter().zip(self.shares).find(|(kind, _)| *kind == operation).map_or(0.0, |(_, share)| share)
    }
}

/// A thread of a core workload.
pub(super) struct Ycsb<'a> {
    /// A draw of 63 bits below the first of these is a read, below the second an update, and so on.
    below: [u64; OPERATIONS.len() - 1],
    records: Records,
    scan_lengths: Between,
    population: &'a Population,
    ahead: bool,
}

impl<'a> Ycsb<'a> {
    pub(super) fn new(mix: &YcsbMix, plan: &KvPlan, seed: u64, thread: u32, population: &'a Population) -> Self {
        let scale = (1_u64 << 63) as f64;
        let mut sum = 0.0;
        let mut below = [0; OPERATIONS.len() - 1];
        for (bound, share) in below.iter_mut().zip(mix.shares) {
            sum += share;
            *bound = (sum * scale) as u64;
        }
        // Rounding in the sum must not give anything to operations that have no share.
        let last = mix.shares.iter().rposition(|share| *share > 0.0).unwrap_or(0);
        below.iter_mut().skip(last).for_each(|bound| *bound = 1 << 63);
        let space =
            Space { records: plan.work.loaded, expected: plan.expected_records(), thread, threads: plan.threads };
        let records = Records::new(plan.work.distribution, space, seed);
        let ahead = mix.share(Operation::Insert) == 0.0 && plan.work.distribution != Popularity::Sequential;
        Self { below, records, scan_lengths: mix.scan_lengths, population, ahead }
    }

    /// Uses 63 bits, so that a share of 1 is all there is.
    #[inline]
    fn operation(&self, random: &mut Random) -> Operation {
        let at = random.next_u64() >> 1;
        OPERATIONS[self.below.iter().filter(|bound| at >= **bound).count()]
    }
}

impl Asker for Ycsb<'_> {
    #[inline]
    fn next(&mut self, random: &mut Random) -> Request {
        match self.operation(random) {
            Operation::Insert => Request::of(Operation::Insert, self.population.claim()),
            Operation::Scan => {
                let record = self.record(random);
                Request { length: self.scan_lengths.draw(random) as u32, ..Request::of(Operation::Scan, record) }
            }
            operation => Request::of(operation, self.record(random)),
        }
    }

    #[inline]
    fn ahead(&self) -> bool {
        self.ahead
    }

    #[inline]
    fn record(&mut self, random: &mut Random) -> u64 {
        self.population.record(self.records.draw(self.population.count(), random))
    }
}
