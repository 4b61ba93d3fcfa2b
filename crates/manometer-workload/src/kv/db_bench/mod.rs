//! db_bench's benchmarks as workloads for every engine: one line each in [`BENCHMARKS`]. `docs/db_bench.md` lists the
//! differences from db_bench.

mod length_distribution;
mod mersenne;
mod mixgraph;
mod pareto;
#[cfg(test)]
#[path = "db_bench_tests.rs"]
mod tests;
mod throttle;

use super::keys::KeyForm;
use super::request::KvOperation;

pub use length_distribution::LengthDistribution;
pub(super) use mixgraph::below;
pub use mixgraph::{KeyRanges, MixGraph, MixGraphKeys, PowerLaw, SineRate};
pub use pareto::Pareto;
pub(super) use throttle::Throttle;

/// A benchmark, before any parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Benchmark {
    /// Its name, db_bench's own.
    pub name: &'static str,
    /// Its requests.
    pub kind: Kind,
    /// The operation of its background thread.
    pub background: Option<KvOperation>,
    /// The database at its start.
    pub initial_state: InitialContent,
    /// When it ends by itself.
    pub end_condition: EndCondition,
}

/// The content of a database at the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialContent {
    /// Nothing.
    Empty,
    /// Every record.
    Loaded,
}

/// When a benchmark ends by itself, without a limit of time or requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCondition {
    /// After as many requests as there are records.
    Round,
    /// Never.
    Never,
}

/// Patterns of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Every record in the order of the keys, repeatedly.
    Sequence(KvOperation),
    /// Any record.
    Random(KvOperation),
    /// Any record, drawn by db_bench's readers: optionally skewed.
    Draw(KvOperation),
    /// Any record of a small hot set.
    Hot,
    /// Keys that do not exist.
    Missing,
    /// An iteration over all records, in either direction.
    Iteration {
        /// Towards lower keys.
        backward: bool,
    },
    /// Reads, then writes, repeatedly.
    ReadsThenWrites,
    /// Merges and reads at random.
    ReadsAndMerges,
    /// mixgraph.
    Mix,
}

use EndCondition::{Never, Round};
use InitialContent::{Empty, Loaded};
use KvOperation::{
    BackgroundMerge, BackgroundScan, BackgroundUpdate, Delete, Insert, Merge, MultiRead, Read, ReadModifyWrite, Scan,
    Update,
};

/// All benchmarks.
pub const BENCHMARKS: &[Benchmark] = &[
    row("fillseq", Kind::Sequence(Insert), None, Empty, Round),
    row("fillrandom", Kind::Random(Insert), None, Empty, Round),
    row("overwrite", Kind::Random(Update), None, Loaded, Never),
    row("updaterandom", Kind::Random(ReadModifyWrite), None, Loaded, Never),
    row("readseq", Kind::Iteration { backward: false }, None, Loaded, Never),
    row("readreverse", Kind::Iteration { backward: true }, None, Loaded, Never),
    row("readrandom", Kind::Draw(Read), None, Loaded, Never),
    row("readmissing", Kind::Missing, None, Loaded, Never),
    row("readhot", Kind::Hot, None, Loaded, Never),
    row("multireadrandom", Kind::Draw(MultiRead), None, Loaded, Never),
    row("seekrandom", Kind::Random(Scan), None, Loaded, Never),
    row("readwhilewriting", Kind::Draw(Read), Some(BackgroundUpdate), Loaded, Never),
    row("readwhilemerging", Kind::Draw(Read), Some(BackgroundMerge), Loaded, Never),
    row("readwhilescanning", Kind::Draw(Read), Some(BackgroundScan), Loaded, Never),
    row("readrandomwriterandom", Kind::ReadsThenWrites, None, Loaded, Never),
    row("readrandommergerandom", Kind::ReadsAndMerges, None, Loaded, Never),
    row("mergerandom", Kind::Random(Merge), None, Loaded, Never),
    row("deleteseq", Kind::Sequence(Delete), None, Loaded, Round),
    row("deleterandom", Kind::Random(Delete), None, Loaded, Never),
    row("mixgraph", Kind::Mix, None, Loaded, Never),
];

const fn row(
    name: &'static str,
    kind: Kind,
    background: Option<KvOperation>,
    initial_state: InitialContent,
    end_condition: EndCondition,
) -> Benchmark {
    Benchmark { name, kind, background, initial_state, end_condition }
}

/// The benchmark called `name`.
pub(super) fn find(name: &str) -> Option<&'static Benchmark> {
    BENCHMARKS.iter().find(|benchmark| benchmark.name == name)
}

/// A benchmark with all its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct DbBench {
    /// Which one.
    pub benchmark: &'static Benchmark,
    /// The requests of its threads.
    pub mix: RequestPattern,
    /// The requests of its background thread.
    pub background: Option<BackgroundRequests>,
    /// The form of the keys in requests, where it differs from that of the records.
    pub request_keys: Option<KeyForm>,
    /// The limit of requests, of all threads together.
    pub requests: Option<u64>,
    /// The requests of one pass, if there are passes.
    pub round: Option<u64>,
    /// Its request rate, if it has one; the caller applies it.
    pub sine: Option<SineRate>,
    /// Why its mix or the size of its database changes.
    pub unstable: Option<&'static str>,
}

/// The requests of the threads of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestPattern {
    /// Each of n threads every n-th record in the order of the keys, repeatedly.
    Sequence(KvOperation),
    /// One operation on records that are drawn.
    Random {
        /// The operation.
        operation: KvOperation,
        /// Which records.
        numbers: RecordDistribution,
        /// How many records a scan or a multi-read takes.
        length: u32,
        /// How far the records of a multi-read lie apart; drawn one by one when 0.
        stride: u64,
        /// Whether scans go towards lower keys.
        backward: bool,
    },
    /// An iteration over all records, in either direction.
    Iteration {
        /// Towards lower keys.
        backward: bool,
    },
    /// Reads and then writes, repeatedly.
    ReadsThenWrites {
        /// The number of reads.
        reads: u32,
        /// The number of writes after them.
        writes: u32,
    },
    /// Merges and reads at random.
    ReadsAndMerges {
        /// Merges among a hundred requests.
        merges_percent: u32,
        /// Of the records below this.
        below: u64,
    },
    /// mixgraph.
    Mix(MixGraph),
}

/// Which records are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecordDistribution {
    /// Uniform below this number.
    Below(u64),
    /// One of `records` · exp(-r), r uniform from 0 to `range`, scattered over all of them.
    Exponential {
        /// The records.
        records: u64,
        /// The larger, the more skewed.
        range: f64,
    },
}

/// The requests of the background thread of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundRequests {
    /// The operation.
    pub operation: KvOperation,
    /// On any of the records below this.
    pub below: u64,
    /// The most requests per second.
    pub per_second: Option<f64>,
}

impl DbBench {
    /// The operations that it may send.
    pub fn operations(&self) -> Vec<KvOperation> {
        let mut operations = match &self.mix {
            RequestPattern::Sequence(operation) | RequestPattern::Random { operation, .. } => vec![*operation],
            RequestPattern::Iteration { .. } => vec![KvOperation::Next],
            RequestPattern::ReadsThenWrites { reads, writes } => {
                used([(Read, u64::from(*reads)), (Update, u64::from(*writes))])
            }
            RequestPattern::ReadsAndMerges { merges_percent, .. } => {
                used([(Read, u64::from(100 - merges_percent)), (Merge, u64::from(*merges_percent))])
            }
            RequestPattern::Mix(mix) => {
                let [reads, writes, scans] = mix.below;
                used([(Read, reads), (Update, writes - reads), (Scan, scans - writes)])
            }
        };
        operations.extend(self.background.as_ref().map(|background| background.operation));
        operations
    }

    /// How its threads draw from `records` records, for people.
    pub(super) fn describe_distribution(&self, records: u64) -> String {
        let below = |below: u64| match below == records {
            true => "uniform".to_owned(),
            false => format!("uniform over the first {below} record numbers"),
        };
        match &self.mix {
            RequestPattern::Sequence(_) | RequestPattern::Iteration { .. } => "sequential".to_owned(),
            RequestPattern::Random { numbers: RecordDistribution::Below(limit), .. } => below(*limit),
            RequestPattern::Random { numbers: RecordDistribution::Exponential { range, .. }, .. } => {
                format!("read_random_exp_range {range}")
            }
            RequestPattern::ReadsThenWrites { .. }
            | RequestPattern::Mix(MixGraph { keys: MixGraphKeys::Random, .. }) => below(records),
            RequestPattern::ReadsAndMerges { below: limit, .. } => below(*limit),
            RequestPattern::Mix(MixGraph { keys: MixGraphKeys::PowerLaw(power), .. }) => format!("power law {power}"),
            RequestPattern::Mix(MixGraph { keys: MixGraphKeys::Ranges(_, power), .. }) => {
                format!("key ranges by a two-term exponential, within them a power law {power}")
            }
        }
    }
}

/// The operations with a count above 0.
fn used<const N: usize>(often: [(KvOperation, u64); N]) -> Vec<KvOperation> {
    often.into_iter().filter(|(_, times)| *times > 0).map(|(operation, _)| operation).collect()
}
