//! A `kv` workload, checked and complete: nothing in it is unsaid any more.

use std::f64::consts::TAU;

use manometer_measure::operation::is_background;
use manometer_target::engine::{self, Ability, EngineInfo, EngineOptions};
use serde_json::{Value, json};

use super::asker::YcsbMix;
use super::change::read_script;
use super::db_bench::{self, Background, DbBench, SineRate};
use super::distribution::Popularity;
use super::error::KvError;
use super::keys::KeyForm;
use super::lengths::Lengths;
use super::pace::{Curve, PacePlan};
use super::population::Part;
use super::request::Operation;
use super::settings::{KvSettings, LoadMethod};
use super::values::{POOLS_WANTED, ValueForm, too_many_pools};
use super::ycsb;

/// The most threads a workload may have.
const THREADS_MAX: u32 = 1024;
/// The most requests that are sent together.
const PIPELINE_MAX: u32 = 4096;
/// The most records: what a double still counts one by one.
const RECORDS_MAX: u64 = 1 << 53;
/// The largest value in bytes.
const VALUE_BYTES_MAX: u64 = 64 << 20;

/// What an update writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// A fresh record, without looking at the old one.
    Record,
    /// One fresh field: the record is read, changed and written, as YCSB's RocksDB binding does.
    Field,
}

/// Whether the records that are asked for are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// All of them: one that is missing has been lost.
    Present,
    /// Some of them.
    Maybe,
    /// None of them: one that is found is wrong.
    Absent,
}

/// What the threads ask, by family of workloads.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// YCSB's core workloads.
    Ycsb(YcsbMix),
    /// db_bench's benchmarks.
    DbBench(Box<DbBench>),
}

/// What a workload asks for, whoever answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Records that requests are about.
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
    /// Which records are asked for.
    pub distribution: Popularity,
    /// Which operations, in which order.
    pub asks: Asks,
    /// Whether the records that are asked for are there.
    pub expect: Expect,
    /// What an update writes.
    pub update: Update,
    /// Fields of a record.
    pub fields: u32,
}

impl Work {
    /// The operations that it may ask for.
    pub fn operations(&self) -> Vec<Operation> {
        match &self.asks {
            Asks::Ycsb(mix) => mix.operations(),
            Asks::DbBench(bench) => bench.operations(),
        }
    }

    /// How the records that are asked for are drawn, for people: by the name that settings have for it, where
    /// they have one.
    pub(super) fn distribution_told(&self) -> String {
        match &self.asks {
            Asks::Ycsb(_) => json!(self.distribution.kind()).as_str().unwrap_or_default().to_owned(),
            Asks::DbBench(bench) => bench.distribution_told(self.records),
        }
    }

    /// The form of the keys that are asked for.
    pub fn keys_asked_for(&self) -> KeyForm {
        self.db_bench().and_then(|bench| bench.other_keys).unwrap_or(self.keys)
    }

    /// What one more thread asks, beside the workload's own.
    pub fn background(&self) -> Option<&Background> {
        self.db_bench()?.background.as_ref()
    }

    /// After how many requests, of all threads together, it has done what it is for; nothing for one that
    /// may go on for ever.
    pub fn round(&self) -> Option<u64> {
        self.db_bench()?.round
    }

    /// Whether an insert adds a record that others may ask for once it is there.
    pub(super) fn grows(&self) -> bool {
        matches!(self.asks, Asks::Ycsb(_))
    }

    fn db_bench(&self) -> Option<&DbBench> {
        match &self.asks {
            Asks::DbBench(bench) => Some(bench),
            Asks::Ycsb(_) => None,
        }
    }

    /// Which records are loaded, and which are inserted.
    pub fn part(&self) -> Part {
        Part { first: self.first, loaded: self.loaded, next: self.next }
    }

    /// Why what it is about does not stay the same while it runs (requirement WR1); nothing where it does.
    pub fn unstable(&self) -> Option<&'static str> {
        if let Some(bench) = self.db_bench() {
            return bench.unstable;
        }
        let operations = self.operations();
        match [Operation::Insert, Operation::Delete].map(|kind| operations.contains(&kind)) {
            [true, true] => Some("it inserts and deletes records"),
            [true, false] => Some("it inserts records"),
            [false, true] => Some("it deletes records"),
            [false, false] => None,
        }
    }

    /// How keys and values are formed, and which of them are there; part of a database's marker.
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

/// How long a run takes and how fast it goes, as YCSB's properties say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SaidByProperties {
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
    /// Who answers.
    pub engine: &'static EngineInfo,
    /// The engine's options.
    pub options: EngineOptions,
    /// The workload's name.
    pub workload: String,
    /// What is asked.
    pub work: Work,
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
    /// After how many requests the workload ends of itself; never unless said.
    pub operations: Option<u64>,
    /// What YCSB's properties say of the run's length and speed; it is for the caller to heed it.
    pub properties_say: SaidByProperties,
    /// What the person should know about what was asked for.
    pub notes: Vec<String>,
}

impl KvPlan {
    /// Whether values are so formed that an engine which compresses writes less than it is given.
    pub fn is_compressible(&self) -> bool {
        self.work.values.compressible_to < 1.0
    }

    /// Resolves and checks `settings`; touches nothing but the files they name.
    ///
    /// # Errors
    /// What is wrong with them, and what would be right.
    pub fn new(settings: &KvSettings) -> Result<Self, KvError> {
        let engine = engine::find(&settings.engine)?;
        let options = settings.options.clone().unwrap_or_default();
        (engine.check_options)(&options)?;
        let Resolved { work, threads, said, notes } = resolve(settings)?;
        let pace = pace(settings, said.target, work.db_bench().and_then(|bench| bench.sine))?;
        let operations = settings.operations.or(work.db_bench().and_then(|bench| bench.requests));
        let plan = Self {
            engine,
            options,
            workload: [std::slice::from_ref(&settings.workload), &settings.properties_files].concat().join(" + "),
            work,
            threads,
            pipeline: settings.pipeline,
            pace,
            pin: settings.pin,
            load: settings.load,
            operations,
            properties_say: said,
            notes,
        };
        plan.check()?;
        read_script(settings)?;
        Ok(plan)
    }

    /// The longest value in bytes.
    pub fn value_bytes(&self) -> usize {
        self.work.values.lengths.max()
    }

    /// Bytes of a record on average, its key included.
    pub fn record_bytes(&self) -> f64 {
        self.work.values.lengths.mean() + self.work.keys.max_bytes() as f64
    }

    /// Bytes that loading gives to the engine, on average.
    pub fn load_bytes(&self) -> u64 {
        (self.work.loaded as f64 * self.record_bytes()) as u64
    }

    /// The threads that send requests, that in the background included, which comes last.
    pub(super) fn all_threads(&self) -> u32 {
        self.threads + u32::from(self.work.background().is_some())
    }

    /// What thread `thread` asks where that is no part of the workload.
    pub(super) fn background_of(&self, thread: u32) -> Option<&Background> {
        self.work.background().filter(|_| thread >= self.threads)
    }

    /// Bytes that a fill gives to the engine until it is done, on average; 0 for what is no fill.
    pub fn fill_bytes(&self) -> u64 {
        let inserts = self.work.operations().contains(&Operation::Insert);
        let record = self.work.values.lengths.mean() + self.work.keys.max_bytes() as f64;
        self.work.round().filter(|_| inserts).map_or(0, |round| (round as f64 * record) as u64)
    }

    /// How many requests thread `thread` sends before it ends; the background goes on for as long as others do.
    pub(super) fn operations_of(&self, thread: u32) -> u64 {
        if self.background_of(thread).is_some() {
            return u64::MAX;
        }
        let threads = u64::from(self.threads);
        self.operations.map_or(u64::MAX, |all| all / threads + u64::from(u64::from(thread) < all % threads))
    }

    /// How many records are expected at the end, as YCSB reckons: twice the inserts of the operations that
    /// were asked for. Where nobody said how many those are, none but those of the start.
    pub(super) fn expected_records(&self) -> u64 {
        let Asks::Ycsb(mix) = &self.work.asks else { return self.work.loaded };
        let operations = self.operations.or(self.properties_say.operation_count).unwrap_or(0);
        let inserts = operations as f64 * mix.share(Operation::Insert) * 2.0;
        self.work.loaded.saturating_add(inserts as u64).min(RECORDS_MAX)
    }

    fn check(&self) -> Result<(), KvError> {
        let bad = |name, got: u64, wanted| Err(KvError::BadSetting { name, got: got.to_string(), wanted });
        if self.work.records == 0 || self.work.records > RECORDS_MAX {
            return bad("records", self.work.records, "write a number from 1 to 2^53");
        }
        if self.threads == 0 || self.threads > THREADS_MAX {
            return bad("threads", self.threads.into(), "write a number from 1 to 1024");
        }
        if self.pipeline == 0 || self.pipeline > PIPELINE_MAX {
            return bad("pipeline", self.pipeline.into(), "write a number from 1 to 4096");
        }
        if self.pipeline > 1 && self.pace != PacePlan::Closed {
            let wanted =
                "requests are sent together in a closed loop without think time: write 1, or take the pace away";
            return bad("pipeline", self.pipeline.into(), wanted);
        }
        if self.pace != PacePlan::Closed && self.work.operations().contains(&Operation::Next) {
            let wanted = "a walk through all records goes as fast as the engine does: leave rate and think out";
            return Err(KvError::BadSetting { name: "rate, think", got: self.pace.name().to_owned(), wanted });
        }
        let together = |operation| match operation {
            Operation::Read | Operation::Insert => true,
            Operation::Update => self.work.update == Update::Record,
            other => is_background(other.name()),
        };
        if self.pipeline > 1 && !self.work.operations().into_iter().all(together) {
            let wanted = "only reads, inserts and updates of whole records can be sent together: write 1";
            return bad("pipeline", self.pipeline.into(), wanted);
        }
        let bytes = self.work.values.lengths.max() as u64;
        if bytes > VALUE_BYTES_MAX {
            return bad("value_size", bytes, "values have 64 MiB at most");
        }
        if let Some(got) = too_many_pools(self.all_threads(), self.value_bytes()) {
            return Err(KvError::BadSetting { name: "threads", got, wanted: POOLS_WANTED });
        }
        check_order(&self.work, &self.workload, self.engine, engine::ENGINES)
    }
}

/// The options as a database's manifest records them: null for the defaults.
pub(crate) fn manifest_options(options: &EngineOptions) -> Value {
    match options {
        EngineOptions::Table(table) if table.is_empty() => Value::Null,
        EngineOptions::File(path) => match std::fs::read_to_string(path) {
            Ok(text) => json!({ "file": text }),
            Err(_) => json!({ "file": path }),
        },
        EngineOptions::Table(table) => json!(table),
    }
}

/// Refuses scans on an engine without order; names those of `engines` that have one.
fn check_order(work: &Work, workload: &str, engine: &EngineInfo, engines: &[EngineInfo]) -> Result<(), KvError> {
    let operations = work.operations();
    let scans =
        [Operation::Scan, Operation::Next, Operation::BackgroundScan].iter().any(|kind| operations.contains(kind));
    let can = |engine: &EngineInfo| engine.abilities.contains(&Ability::Scan);
    if !scans || can(engine) {
        return Ok(());
    }
    let able: Vec<&str> = engines.iter().filter(|engine| can(engine)).map(|engine| engine.name).collect();
    Err(KvError::CannotScan { workload: workload.to_owned(), engine: engine.name, able: able.join(", ") })
}

/// The pace that `settings` ask for; where they leave it open, that of YCSB's `target` or of mixgraph's sine.
fn pace(settings: &KvSettings, target: Option<f64>, sine: Option<SineRate>) -> Result<PacePlan, KvError> {
    let curve = match (target, sine) {
        (_, Some(sine)) => Curve::sine(sine.d, sine.a, TAU / sine.b, sine.c / TAU),
        (Some(target), None) => Curve::constant(target),
        (None, None) => return PacePlan::new(settings),
    };
    if settings.rate.is_some() || settings.think.is_some() {
        return PacePlan::new(settings);
    }
    PacePlan::open(curve, settings)
}

/// What the family of the workload makes of `settings`.
fn resolve(settings: &KvSettings) -> Result<Resolved, KvError> {
    if let Some(benchmark) = db_bench::find(&settings.workload) {
        return db_bench::resolve(benchmark, settings);
    }
    let bad = |name, got: u32, wanted| Err(KvError::BadSetting { name, got: got.to_string(), wanted });
    if let Some(bytes) = settings.key_size {
        return bad("key_size", bytes, "a YCSB key is `user` and a number; only db_bench's workloads have a key size");
    }
    let mut resolved = ycsb::resolve(settings)?;
    if let Some(bytes) = settings.value_size {
        if settings.field_length.is_some() {
            return bad("value_size", bytes, "field_length says how long a record is as well; leave one out");
        }
        resolved.work.values.lengths = Lengths::Constant(bytes as usize);
    }
    Ok(resolved)
}

/// What a family of workloads makes of the settings.
pub(super) struct Resolved {
    pub(super) work: Work,
    pub(super) threads: u32,
    pub(super) said: SaidByProperties,
    pub(super) notes: Vec<String>,
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
