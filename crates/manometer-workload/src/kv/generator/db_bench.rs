//! The requests of db_bench's benchmarks.

use rand_xoshiro::rand_core::Rng as _;

use super::RequestGenerator;
use crate::kv::db_bench::{BackgroundRequests, DbBench, MixGraph, RecordDistribution, RequestPattern};
use crate::kv::distribution::{Random, Uniform};
use crate::kv::plan::KvPlan;
use crate::kv::request::{KvOperation, KvRequest};

/// The generator of thread `thread` of `plan`, whose workload is `bench`.
pub(super) fn generator<'a>(bench: &'a DbBench, plan: &KvPlan, thread: u32) -> Box<dyn RequestGenerator + 'a> {
    let records = plan.spec.records;
    match &bench.mix {
        RequestPattern::Sequence(operation) => {
            Box::new(SequentialGenerator::new(*operation, records, thread, plan.threads))
        }
        RequestPattern::Random { operation, numbers, length, stride, backward } => Box::new(RandomGenerator {
            request: KvRequest { length: *length, backward: *backward, ..KvRequest::of(*operation, 0) },
            numbers: RecordChooser::new(*numbers),
            stride: *stride,
            last_start: records - stride * u64::from(*length - 1),
        }),
        RequestPattern::Iteration { backward } => Box::new(IterationGenerator {
            request: KvRequest { backward: *backward, ..KvRequest::of(KvOperation::Next, 0) },
        }),
        RequestPattern::ReadsThenWrites { reads, writes } => Box::new(ReadsThenWritesGenerator {
            reads: *reads,
            all: reads + writes,
            at: 0,
            numbers: Uniform::new(records),
        }),
        RequestPattern::ReadsAndMerges { merges_percent, below } => Box::new(ReadsAndMergesGenerator {
            merges_percent: u64::from(*merges_percent),
            numbers: Uniform::new(*below),
        }),
        RequestPattern::Mix(mix) => Box::new(MixGraphGenerator { mix, draws: Uniform::new(mix.records) }),
    }
}

/// Every n-th record in order, repeatedly.
struct SequentialGenerator {
    operation: KvOperation,
    first: u64,
    next: u64,
    step: u64,
    end: u64,
}

impl SequentialGenerator {
    fn new(operation: KvOperation, records: u64, thread: u32, threads: u32) -> Self {
        // Threads beyond the number of records repeat the requests of others.
        let first = u64::from(thread) % records;
        Self { operation, first, next: first, step: u64::from(threads), end: records }
    }
}

impl RequestGenerator for SequentialGenerator {
    #[inline]
    fn next(&mut self, random: &mut Random) -> KvRequest {
        KvRequest::of(self.operation, self.record(random))
    }

    #[inline]
    fn record(&mut self, _: &mut Random) -> u64 {
        let record = self.next;
        let next = record + self.step;
        self.next = if next < self.end { next } else { self.first };
        record
    }
}

/// Draws record numbers.
enum RecordChooser {
    Uniform(Uniform),
    Exponential { records: u64, range: f64 },
}

impl RecordChooser {
    fn new(numbers: RecordDistribution) -> Self {
        match numbers {
            RecordDistribution::Below(end) => Self::Uniform(Uniform::new(end)),
            RecordDistribution::Exponential { records, range } => Self::Exponential { records, range },
        }
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform(uniform) => uniform.draw(random),
            Self::Exponential { records, range } => exponential(random.next_u64(), *records, *range),
        }
    }
}

/// The record that db_bench's readers request at `draw`: `records` · exp(-r), scattered by a prime.
#[inline]
fn exponential(draw: u64, records: u64, range: f64) -> u64 {
    const PRIME: u64 = 0x5BD1_E995;
    const ONE: u64 = 1 << 62;
    let rank = (-((draw % ONE) as f64 / ONE as f64) * range).exp() * records as f64;
    (rank as u64).wrapping_mul(PRIME) % records
}

/// One operation on records that are drawn.
struct RandomGenerator {
    request: KvRequest,
    numbers: RecordChooser,
    /// How far the records of one multi-read lie apart, where they are not drawn.
    stride: u64,
    /// Where the first of them may lie at most.
    last_start: u64,
}

impl RequestGenerator for RandomGenerator {
    #[inline]
    fn next(&mut self, random: &mut Random) -> KvRequest {
        self.request.record = self.numbers.draw(random);
        if self.stride > 0 && self.request.record >= self.last_start {
            self.request.record = self.last_start - self.stride;
        }
        self.request
    }

    #[inline]
    fn record(&mut self, random: &mut Random) -> u64 {
        if self.stride == 0 {
            return self.numbers.draw(random);
        }
        self.request.record += self.stride;
        self.request.record
    }
}

/// An iteration over all records.
struct IterationGenerator {
    request: KvRequest,
}

impl RequestGenerator for IterationGenerator {
    #[inline]
    fn next(&mut self, _: &mut Random) -> KvRequest {
        self.request
    }

    fn record(&mut self, _: &mut Random) -> u64 {
        self.request.record
    }
}

/// Reads and then updates, repeatedly.
struct ReadsThenWritesGenerator {
    reads: u32,
    all: u32,
    at: u32,
    numbers: Uniform,
}

impl RequestGenerator for ReadsThenWritesGenerator {
    #[inline]
    fn next(&mut self, random: &mut Random) -> KvRequest {
        let operation = if self.at < self.reads { KvOperation::Read } else { KvOperation::Update };
        self.at = if self.at + 1 < self.all { self.at + 1 } else { 0 };
        KvRequest::of(operation, self.numbers.draw(random))
    }

    fn record(&mut self, random: &mut Random) -> u64 {
        self.numbers.draw(random)
    }
}

/// Merges or reads.
struct ReadsAndMergesGenerator {
    merges_percent: u64,
    numbers: Uniform,
}

impl RequestGenerator for ReadsAndMergesGenerator {
    #[inline]
    fn next(&mut self, random: &mut Random) -> KvRequest {
        let record = self.numbers.draw(random);
        let merges = Uniform::new(100).draw(random) < self.merges_percent;
        KvRequest::of(if merges { KvOperation::Merge } else { KvOperation::Read }, record)
    }

    fn record(&mut self, random: &mut Random) -> u64 {
        self.numbers.draw(random)
    }
}

/// mixgraph.
struct MixGraphGenerator<'a> {
    mix: &'a MixGraph,
    draws: Uniform,
}

impl RequestGenerator for MixGraphGenerator<'_> {
    #[inline]
    fn next(&mut self, random: &mut Random) -> KvRequest {
        self.mix.request(self.draws.draw(random))
    }

    fn record(&mut self, random: &mut Random) -> u64 {
        self.next(random).record
    }
}

/// The requests of a background thread.
pub(super) struct BackgroundGenerator {
    operation: KvOperation,
    numbers: Uniform,
}

impl BackgroundGenerator {
    /// The requests of `background`.
    pub(super) fn new(background: &BackgroundRequests) -> Self {
        Self { operation: background.operation, numbers: Uniform::new(background.below) }
    }
}

impl RequestGenerator for BackgroundGenerator {
    #[inline]
    fn next(&mut self, random: &mut Random) -> KvRequest {
        KvRequest::of(self.operation, self.numbers.draw(random))
    }

    fn record(&mut self, random: &mut Random) -> u64 {
        self.numbers.draw(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::distribution::stream;

    /// From an independent computation of db_bench's formula.
    #[test]
    fn skewed_readers_fall_on_db_benchs_records() {
        let draws = [0, 1 << 60, 1 << 61, 3 << 60, (1 << 63) + (1 << 58)];
        assert_eq!(draws.map(|draw| exponential(draw, 1_000_000, 15.0)), [0, 928_609, 362_781, 285_201, 10_585]);
    }

    #[test]
    fn threads_share_a_sequence_and_go_round() {
        let mut random = stream(1, 0);
        let mut records = |thread| -> Vec<u64> {
            let mut sequence = SequentialGenerator::new(KvOperation::Insert, 5, thread, 2);
            (0..6).map(|_| sequence.next(&mut random).record).collect()
        };
        assert_eq!((records(0), records(1)), (vec![0, 2, 4, 0, 2, 4], vec![1, 3, 1, 3, 1, 3]));
        assert_eq!(SequentialGenerator::new(KvOperation::Insert, 5, 7, 8).next(&mut random).record, 2);
    }

    #[test]
    fn strided_reads_stay_within_the_records() {
        let mut random = stream(3, 0);
        let mut drawn = RandomGenerator {
            request: KvRequest { length: 4, ..KvRequest::of(KvOperation::MultiRead, 0) },
            numbers: RecordChooser::new(RecordDistribution::Below(100)),
            stride: 20,
            last_start: 40,
        };
        for _ in 0..1000 {
            let first = drawn.next(&mut random).record;
            let rest: Vec<u64> = (0..3).map(|_| drawn.record(&mut random)).collect();
            assert_eq!(rest, [first + 20, first + 40, first + 60]);
            assert!(rest[2] < 100);
        }
    }
}
