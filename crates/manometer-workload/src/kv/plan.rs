//! A `kv` workload, checked and complete.

use manometer_measure::operation::is_background;
use manometer_measure::regular_file;
use manometer_target::engine::{self, Capability, EngineInfo, EngineOptions};
use serde_json::{Value, json};

use super::db_bench::{BackgroundRequests, DbBench};
use super::distribution::PopularityDistribution;
use super::error::KvError;
use super::keys::KeyForm;
use super::operation_mix::OperationMix;
use super::pace::PacePlan;
use super::population::RecordRange;
use super::request::KvOperation;
use super::settings::{KvSettings, LoadMethod};
use super::values::{POOLS_WANTED, VALUE_BYTES_MAX, ValueForm, too_many_pools};
use crate::settings_file::MOST_FILE_BYTES;

/// The largest number of threads.
const THREADS_MAX: u32 = 1024;
/// The largest pipeline, in requests.
const PIPELINE_MAX: u32 = 4096;
/// The largest number of records: above it a double cannot count one by one.
const RECORDS_MAX: u64 = 1 << 53;

/// What an update writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateMode {
    /// A fresh record, without looking at the old one.
    Record,
    /// One fresh field: the record is read, changed and written, as YCSB's RocksDB binding does.
    Field,
}

/// Whether requested records exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// All exist: a missing one was lost.
    Present,
    /// Some exist.
    Maybe,
    /// None exists: finding one is an error.
    Absent,
}

/// The data and the requests of a workload, on any engine.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSpec {
    /// Records that requests use.
    pub records: u64,
    /// The number of the first that is loaded.
    pub first: u64,
    /// How many of them are loaded before the first request.
    pub loaded: u64,
    /// The number of the first that is inserted.
    pub next: u64,
    /// How their numbers become keys.
    pub keys: KeyForm,
    /// How their values are formed.
    pub values: ValueForm,
    /// Which records the requests use.
    pub distribution: PopularityDistribution,
    /// Which operations, and how often.
    pub mix: OperationMix,
    /// Whether requested records exist.
    pub expect: Presence,
    /// What an update writes.
    pub update: UpdateMode,
    /// Fields of a record.
    pub fields: u32,
}

impl WorkloadSpec {
    /// The operations that it may send.
    pub fn operations(&self) -> Vec<KvOperation> {
        match &self.mix {
            OperationMix::Ycsb(mix) => mix.operations(),
            OperationMix::DbBench(bench) => bench.operations(),
        }
    }

    /// How requested records are drawn, for people: by the name in settings, where it has one.
    pub(super) fn describe_distribution(&self) -> String {
        match &self.mix {
            OperationMix::Ycsb(_) => json!(self.distribution.kind()).as_str().unwrap_or_default().to_owned(),
            OperationMix::DbBench(bench) => bench.describe_distribution(self.records),
        }
    }

    /// The form of the keys in requests.
    pub fn request_keys(&self) -> KeyForm {
        self.db_bench().and_then(|bench| bench.request_keys).unwrap_or(self.keys)
    }

    /// The requests of the background thread.
    pub fn background(&self) -> Option<&BackgroundRequests> {
        self.db_bench()?.background.as_ref()
    }

    /// The requests of one pass, of all threads together; nothing where there are no passes.
    pub fn round(&self) -> Option<u64> {
        self.db_bench()?.round
    }

    /// Whether an insert adds a record that other requests may use.
    pub(super) fn grows(&self) -> bool {
        matches!(self.mix, OperationMix::Ycsb(_))
    }

    pub(super) fn db_bench(&self) -> Option<&DbBench> {
        match &self.mix {
            OperationMix::DbBench(bench) => Some(bench),
            OperationMix::Ycsb(_) => None,
        }
    }

    /// Which records are loaded, and which are inserted.
    pub fn record_range(&self) -> RecordRange {
        RecordRange { first: self.first, loaded: self.loaded, next: self.next }
    }

    /// Why its data change while it runs (requirement WR1); `None` if they do not.
    pub fn unstable(&self) -> Option<&'static str> {
        if let Some(bench) = self.db_bench() {
            return bench.unstable;
        }
        let operations = self.operations();
        match [KvOperation::Insert, KvOperation::Delete].map(|kind| operations.contains(&kind)) {
            [true, true] => Some("it inserts and deletes records"),
            [true, false] => Some("it inserts records"),
            [false, true] => Some("it deletes records"),
            [false, false] => None,
        }
    }

    /// The form of keys and values and the first record; part of a database's marker.
    pub(super) fn form(&self) -> String {
        let mut form = self.keys.name();
        if self.first > 0 {
            form += &format!(" from record {}", self.first);
        }
        if let Some(lengths) = self.values.lengths.name() {
            form += &format!(", {lengths}");
        }
        if self.values.compressible_to < 1.0 {
            form += &format!(", compressible to {}", self.values.compressible_to);
        }
        form
    }
}

/// Length and rate of a run by YCSB's properties.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunProperties {
    /// Requests per second of all threads together, above 0.
    pub target: Option<f64>,
    /// Seconds, above 0.
    pub max_execution_s: Option<u64>,
    /// Requests of all threads together, above 0.
    pub operation_count: Option<u64>,
}

/// A `kv` workload, checked and complete.
#[derive(Debug, Clone)]
pub struct KvPlan {
    /// The engine under load.
    pub engine: &'static EngineInfo,
    /// The engine's options.
    pub options: EngineOptions,
    /// The workload's name.
    pub workload: String,
    /// The data and the requests.
    pub spec: WorkloadSpec,
    /// Threads that send requests.
    pub threads: u32,
    /// How many requests each thread sends before it waits for their answers.
    pub pipeline: u32,
    /// When requests are sent.
    pub pace: PacePlan,
    /// Whether each thread stays on one processor.
    pub pin: bool,
    /// How the records come into the database.
    pub load: LoadMethod,
    /// The number of requests after which the workload ends, if limited.
    pub operations: Option<u64>,
    /// Length and rate of the run by YCSB's properties; the caller applies them.
    pub run_properties: RunProperties,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The operation that most requests of `settings` are; nothing for invalid ones.
pub fn main_operation(settings: &KvSettings) -> Option<&'static str> {
    let plan = KvPlan::new(settings).ok()?;
    let operations = plan.spec.operations().into_iter();
    let share = |operation: &KvOperation| match &plan.spec.mix {
        OperationMix::Ycsb(mix) => mix.share(*operation),
        // The benchmarks name their main operation first.
        OperationMix::DbBench(_) => 0.0,
    };
    // Of equal shares the first.
    operations.rev().max_by(|one, other| share(one).total_cmp(&share(other))).map(KvOperation::name)
}

impl KvPlan {
    /// Whether values compress.
    pub fn is_compressible(&self) -> bool {
        self.spec.values.compressible_to < 1.0
    }

    /// The longest value in bytes.
    pub fn value_bytes(&self) -> usize {
        self.spec.values.lengths.max()
    }

    /// Bytes of a record on average, its key included.
    pub fn record_bytes(&self) -> f64 {
        self.spec.values.lengths.mean() + self.spec.keys.max_bytes() as f64
    }

    /// Bytes that loading gives to the engine, on average.
    pub fn load_bytes(&self) -> u64 {
        (self.spec.loaded as f64 * self.record_bytes()) as u64
    }

    /// The threads that send requests, that in the background included, which comes last.
    pub(super) fn all_threads(&self) -> u32 {
        self.threads + u32::from(self.spec.background().is_some())
    }

    /// The background requests of thread `thread`, if it is the background thread.
    pub(super) fn background_of(&self, thread: u32) -> Option<&BackgroundRequests> {
        self.spec.background().filter(|_| thread >= self.threads)
    }

    /// Bytes that a fill writes in one pass, on average; 0 for other workloads.
    pub fn fill_bytes(&self) -> u64 {
        let inserts = self.spec.operations().contains(&KvOperation::Insert);
        let record = self.spec.values.lengths.mean() + self.spec.keys.max_bytes() as f64;
        self.spec.round().filter(|_| inserts).map_or(0, |round| (round as f64 * record) as u64)
    }

    /// How many requests thread `thread` sends before it ends; no limit for the background thread.
    pub(super) fn operations_of(&self, thread: u32) -> u64 {
        if self.background_of(thread).is_some() {
            return u64::MAX;
        }
        let threads = u64::from(self.threads);
        self.operations.map_or(u64::MAX, |all| all / threads + u64::from(u64::from(thread) < all % threads))
    }

    /// How many records are expected at the end, as in YCSB: those at the start plus twice the inserts among the requested
    /// operations, if their number is known.
    pub(super) fn expected_records(&self) -> u64 {
        let OperationMix::Ycsb(mix) = &self.spec.mix else { return self.spec.loaded };
        let operations = self.operations.or(self.run_properties.operation_count).unwrap_or(0);
        let inserts = operations as f64 * mix.share(KvOperation::Insert) * 2.0;
        self.spec.loaded.saturating_add(inserts as u64).min(RECORDS_MAX)
    }

    pub(super) fn check(&self) -> Result<(), KvError> {
        let bad = |name, got: u64, wanted| Err(KvError::BadSetting { name, got: got.to_string(), wanted });
        if self.spec.records == 0 || self.spec.records > RECORDS_MAX {
            return bad("records", self.spec.records, "write a number from 1 to 2^53");
        }
        if self.threads == 0 || self.threads > THREADS_MAX {
            return bad("threads", self.threads.into(), "write a number from 1 to 1024");
        }
        if self.pipeline == 0 || self.pipeline > PIPELINE_MAX {
            return bad("pipeline", self.pipeline.into(), "write a number from 1 to 4096");
        }
        if self.pipeline > 1 && self.pace != PacePlan::Closed {
            let wanted = "a pipeline needs a closed loop without think time: write 1, or remove rate and think";
            return bad("pipeline", self.pipeline.into(), wanted);
        }
        if self.pace != PacePlan::Closed && self.spec.operations().contains(&KvOperation::Next) {
            let wanted = "an iteration over all records runs at the engine's speed: leave rate and think out";
            return Err(KvError::BadSetting { name: "rate, think", got: self.pace.name().to_owned(), wanted });
        }
        let together = |operation| match operation {
            KvOperation::Read | KvOperation::Insert => true,
            KvOperation::Update => self.spec.update == UpdateMode::Record,
            other => is_background(other.name()),
        };
        if self.pipeline > 1 && !self.spec.operations().into_iter().all(together) {
            let wanted = "only reads, inserts and updates of whole records can be pipelined: write 1";
            return bad("pipeline", self.pipeline.into(), wanted);
        }
        let bytes = self.spec.values.lengths.max() as u64;
        if bytes > VALUE_BYTES_MAX {
            return bad("value_size", bytes, "values have 64 MiB at most");
        }
        if let Some(got) = too_many_pools(self.all_threads(), self.value_bytes()) {
            return Err(KvError::BadSetting { name: "threads", got, wanted: POOLS_WANTED });
        }
        check_order(&self.spec, &self.workload, self.engine, engine::ENGINES)
    }
}

/// The options as a database's manifest records them: null for the defaults.
pub(crate) fn manifest_options(options: &EngineOptions) -> Value {
    match options {
        EngineOptions::Table(table) if table.is_empty() => Value::Null,
        EngineOptions::File(path) => match regular_file::read_text(path, MOST_FILE_BYTES) {
            Ok(text) => json!({ "file": text }),
            Err(_) => json!({ "file": path }),
        },
        EngineOptions::Table(table) => json!(table),
    }
}

/// Refuses scans on an engine without order; names those of `engines` that have one.
fn check_order(
    spec: &WorkloadSpec,
    workload: &str,
    engine: &EngineInfo,
    engines: &[EngineInfo],
) -> Result<(), KvError> {
    let operations = spec.operations();
    let scans = [KvOperation::Scan, KvOperation::Next, KvOperation::BackgroundScan]
        .iter()
        .any(|kind| operations.contains(kind));
    let can = |engine: &EngineInfo| engine.capabilities.contains(&Capability::Scan);
    if !scans || can(engine) {
        return Ok(());
    }
    let able: Vec<&str> = engines.iter().filter(|engine| can(engine)).map(|engine| engine.name).collect();
    Err(KvError::CannotScan { workload: workload.to_owned(), engine: engine.name, able: able.join(", ") })
}

/// The settings, resolved by a family of workloads.
pub(super) struct ResolvedSettings {
    pub(super) spec: WorkloadSpec,
    pub(super) threads: u32,
    pub(super) run_properties: RunProperties,
    pub(super) notes: Vec<String>,
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
