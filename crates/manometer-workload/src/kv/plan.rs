//! A `kv` workload, checked and complete: nothing in it is unsaid any more.

use manometer_target::engine::{self, EngineInfo, Options};
use serde_json::{Value, json};

use super::asker::YcsbMix;
use super::error::KvError;
use super::keys::KeyForm;
use super::request::Operation;
use super::settings::{EngineOptions, KeyDistribution, KvSettings, LoadMethod};
use super::values::ValueForm;
use super::ycsb;

/// The most threads a workload may have.
const THREADS_MAX: u32 = 1024;
/// The most requests that are sent together.
const PIPELINE_MAX: u32 = 4096;
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
}

/// What the threads ask, by family of workloads.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// YCSB's core workloads.
    Ycsb(YcsbMix),
}

/// What a workload asks for, whoever answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Records that requests are about.
    pub records: u64,
    /// How many of them are loaded before the first request.
    pub loaded: u64,
    /// How their numbers become keys.
    pub keys: KeyForm,
    /// How their values are formed.
    pub values: ValueForm,
    /// Which records are asked for.
    pub distribution: KeyDistribution,
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
        }
    }
}

/// A `kv` workload, checked and complete.
#[derive(Debug, Clone)]
pub struct KvPlan {
    /// Who answers.
    pub engine: &'static EngineInfo,
    /// The engine's options.
    pub options: Options,
    /// The workload's name.
    pub workload: String,
    /// What is asked.
    pub work: Work,
    /// Threads that send requests.
    pub threads: u32,
    /// How many requests each thread sends before it waits for their answers.
    pub pipeline: u32,
    /// Whether each thread stays on one processor.
    pub pin: bool,
    /// How the records come into the database.
    pub load: LoadMethod,
    /// After how many requests the workload ends of itself; never unless said.
    pub operations: Option<u64>,
    /// What the person should know about what was asked for.
    pub notes: Vec<String>,
}

impl KvPlan {
    /// Resolves and checks `settings`; touches nothing but the files they name.
    ///
    /// # Errors
    /// What is wrong with them, and what would be right.
    pub fn new(settings: &KvSettings) -> Result<Self, KvError> {
        let engine = engine::find(&settings.engine)?;
        let options = match &settings.options {
            None => Options::Defaults,
            Some(EngineOptions::File(path)) => Options::File(path.clone()),
            Some(EngineOptions::Table(table)) => Options::Table(table.clone()),
        };
        (engine.check)(&options)?;
        let Resolved { work, threads, notes } = ycsb::resolve(settings)?;
        let plan = Self {
            engine,
            options,
            workload: settings.workload.clone(),
            work,
            threads,
            pipeline: settings.pipeline,
            pin: settings.pin,
            load: settings.load,
            operations: settings.operations,
            notes,
        };
        plan.check()?;
        Ok(plan)
    }

    /// The longest value in bytes.
    pub fn value_bytes(&self) -> usize {
        self.work.values.lengths.max()
    }

    /// Bytes that loading gives to the engine, on average.
    pub fn load_bytes(&self) -> u64 {
        let record = self.work.values.lengths.mean() + self.work.keys.max_bytes() as f64;
        (self.work.loaded as f64 * record) as u64
    }

    /// How many requests thread `thread` sends before it ends.
    pub(super) fn operations_of(&self, thread: u32) -> u64 {
        let threads = u64::from(self.threads);
        self.operations.map_or(u64::MAX, |all| all / threads + u64::from(u64::from(thread) < all % threads))
    }

    fn check(&self) -> Result<(), KvError> {
        let bad = |name, got: u64, wanted| Err(KvError::BadSetting { name, got: got.to_string(), wanted });
        if self.work.records == 0 || self.work.records > 1 << 53 {
            return bad("records", self.work.records, "write a number from 1 to 2^53");
        }
        if self.threads == 0 || self.threads > THREADS_MAX {
            return bad("threads", self.threads.into(), "write a number from 1 to 1024");
        }
        if self.pipeline == 0 || self.pipeline > PIPELINE_MAX {
            return bad("pipeline", self.pipeline.into(), "write a number from 1 to 4096");
        }
        let together = |operation| match operation {
            Operation::Read | Operation::Insert => true,
            Operation::Update => self.work.update == Update::Record,
            _ => false,
        };
        if self.pipeline > 1 && !self.work.operations().into_iter().all(together) {
            let wanted = "only reads, inserts and updates of whole records can be sent together: write 1";
            return bad("pipeline", self.pipeline.into(), wanted);
        }
        let bytes = self.work.values.lengths.max() as u64;
        if bytes > VALUE_BYTES_MAX {
            return bad("field_count × field_length", bytes, "values have 64 MiB at most");
        }
        Ok(())
    }

    /// What the database's marker remembers of the options.
    pub(super) fn options_told(&self) -> Value {
        match &self.options {
            Options::Defaults => Value::Null,
            Options::File(path) => match std::fs::read_to_string(path) {
                Ok(text) => json!({ "file": text }),
                Err(_) => json!({ "file": path }),
            },
            Options::Table(table) => json!(table),
        }
    }
}

/// What a family of workloads makes of the settings.
pub(super) struct Resolved {
    pub(super) work: Work,
    pub(super) threads: u32,
    pub(super) notes: Vec<String>,
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
