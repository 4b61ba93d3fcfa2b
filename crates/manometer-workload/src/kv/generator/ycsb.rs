//! The requests of YCSB's core workloads.

use rand_xoshiro::rand_core::Rng as _;

use super::RequestGenerator;
use crate::kv::distribution::{IntegerDistribution, KeyChooser, KeySpace, PopularityDistribution, Random};
use crate::kv::operation_mix::{OPERATIONS, YcsbMix};
use crate::kv::plan::KvPlan;
use crate::kv::population::Population;
use crate::kv::request::{KvOperation, KvRequest};

/// The requests of one thread of a core workload.
pub(super) struct YcsbGenerator<'a> {
    /// A draw of 63 bits below the first of these is a read, below the second an update, and so on.
    below: [u64; OPERATIONS.len() - 1],
    records: KeyChooser,
    scan_lengths: IntegerDistribution,
    population: &'a Population,
    ahead: bool,
}

impl<'a> YcsbGenerator<'a> {
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
            KeySpace { records: plan.spec.loaded, expected: plan.expected_records(), thread, threads: plan.threads };
        let records = KeyChooser::new(plan.spec.distribution, space, seed);
        let ahead =
            mix.share(KvOperation::Insert) == 0.0 && plan.spec.distribution != PopularityDistribution::Sequential;
        Self { below, records, scan_lengths: mix.scan_lengths, population, ahead }
    }

    /// Uses 63 bits, so that a share of 1 is exact.
    #[inline]
    fn operation(&self, random: &mut Random) -> KvOperation {
        let at = random.next_u64() >> 1;
        OPERATIONS[self.below.iter().filter(|bound| at >= **bound).count()]
    }
}

impl RequestGenerator for YcsbGenerator<'_> {
    #[inline]
    fn next(&mut self, random: &mut Random) -> KvRequest {
        match self.operation(random) {
            KvOperation::Insert => KvRequest::of(KvOperation::Insert, self.population.claim()),
            KvOperation::Scan => {
                let record = self.record(random);
                KvRequest { length: self.scan_lengths.draw(random) as u32, ..KvRequest::of(KvOperation::Scan, record) }
            }
            operation => KvRequest::of(operation, self.record(random)),
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
