//! A `kv` workload, checked and complete: nothing in it is unsaid any more.

use std::collections::BTreeMap;

use manometer_target::engine::value::HEADED_BYTES;
use manometer_target::engine::{self, EngineInfo, Options};
use serde_json::{Value, json};

use super::client::{OPERATIONS, operations_of};
use super::error::KvError;
use super::keys::KEY_BYTES_MAX;
use super::properties::Properties;
use super::settings::{EngineOptions, KeyDistribution, KvSettings, LoadMethod};

/// The most threads a workload may have.
const THREADS_MAX: u32 = 1024;
/// The largest value in bytes.
const VALUE_BYTES_MAX: u64 = 64 << 20;

/// How often each operation, as shares that add up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Reads of a record.
    pub read: f64,
    /// Writes of a record, or of one of its fields.
    pub update: f64,
    /// Reads of a record followed by its update, as one operation.
    pub read_modify_write: f64,
}

impl Mix {
    /// The operations that it holds.
    pub fn operations(self) -> Vec<&'static str> {
        operations_of(self).map(|operation| OPERATIONS[operation]).collect()
    }
}

/// What an update writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// A fresh record, without looking at the old one.
    Record,
    /// One fresh field: the record is read, changed and written, as YCSB's RocksDB binding does.
    Field,
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
    /// Records in the database.
    pub records: u64,
    /// Which of them are asked for.
    pub distribution: KeyDistribution,
    /// How often each operation.
    pub mix: Mix,
    /// What an update writes.
    pub update: Update,
    /// Fields of a record.
    pub field_count: u32,
    /// Bytes of a field.
    pub field_length: u32,
    /// Threads that send requests.
    pub threads: u32,
    /// Whether each thread stays on one processor.
    pub pin: bool,
    /// How the records come into the database.
    pub load: LoadMethod,
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
        let mut properties = Properties::of_workload(&settings.workload)?;
        for (name, value) in &settings.properties {
            properties.set("properties".to_owned(), name, value)?;
        }
        let (mix, assumed) = mix(&properties, &settings.workload)?;
        let field = "a number of at least 1";
        let plan = Self {
            engine,
            options,
            workload: settings.workload.clone(),
            records: settings.records.or(properties.value("recordcount", field)?).unwrap_or(1000),
            distribution: distribution(settings, &properties)?,
            mix,
            update: update(&properties)?,
            field_count: settings.field_count.or(properties.value("fieldcount", field)?).unwrap_or(10),
            field_length: settings.field_length.or(properties.value("fieldlength", field)?).unwrap_or(100),
            threads: threads(settings, &properties)?,
            pin: settings.pin,
            load: settings.load,
            notes: properties.notes.into_iter().chain(assumed).collect(),
        };
        plan.check()?;
        Ok(plan)
    }

    /// Bytes of each value.
    pub fn value_bytes(&self) -> usize {
        self.field_count as usize * self.field_length as usize
    }

    /// Bytes that loading gives to the engine.
    pub fn load_bytes(&self) -> u64 {
        self.records.saturating_mul((self.value_bytes() + KEY_BYTES_MAX) as u64)
    }

    fn check(&self) -> Result<(), KvError> {
        let bad = |name, got: u64, wanted| Err(KvError::BadSetting { name, got: got.to_string(), wanted });
        if self.records == 0 || self.records > 1 << 53 {
            return bad("records", self.records, "write a number from 1 to 2^53");
        }
        if self.threads == 0 || self.threads > THREADS_MAX {
            return bad("threads", self.threads.into(), "write a number from 1 to 1024");
        }
        let bytes = u64::from(self.field_count) * u64::from(self.field_length);
        if bytes < HEADED_BYTES as u64 || bytes > VALUE_BYTES_MAX {
            let wanted = "the header by which a lost value shows needs 32 bytes, and 64 MiB are the most";
            return bad("field_count × field_length", bytes, wanted);
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

fn mix(properties: &Properties, workload: &str) -> Result<(Mix, Option<String>), KvError> {
    let share = |name, unless_said| -> Result<f64, KvError> {
        let wanted = "write a share from 0 to 1";
        let value = properties.value::<f64>(name, wanted)?.unwrap_or(unless_said);
        if value.is_finite() && value >= 0.0 {
            return Ok(value);
        }
        Err(KvError::BadSetting { name, got: value.to_string(), wanted })
    };
    if share("insertproportion", 0.0)? > 0.0 {
        return Err(KvError::Grows(workload.to_owned()));
    }
    if share("scanproportion", 0.0)? > 0.0 {
        return Err(KvError::Scans(workload.to_owned()));
    }
    let mix = Mix {
        read: share("readproportion", 0.95)?,
        update: share("updateproportion", 0.05)?,
        read_modify_write: share("readmodifywriteproportion", 0.0)?,
    };
    let sum = mix.read + mix.update + mix.read_modify_write;
    if sum <= 0.0 {
        return Err(KvError::BadSetting {
            name: "readproportion, updateproportion, readmodifywriteproportion",
            got: sum.to_string(),
            wanted: "at least one must be above 0",
        });
    }
    let assumed = ((sum - 1.0).abs() > 1e-9)
        .then(|| format!("the proportions add up to {sum}; they were divided by that, as YCSB does"));
    let mix = Mix { read: mix.read / sum, update: mix.update / sum, read_modify_write: mix.read_modify_write / sum };
    Ok((mix, assumed))
}

fn distribution(settings: &KvSettings, properties: &Properties) -> Result<KeyDistribution, KvError> {
    if let Some(distribution) = settings.distribution {
        return Ok(distribution);
    }
    let names = BTreeMap::from([
        ("uniform", KeyDistribution::Uniform),
        ("zipfian", KeyDistribution::Zipfian),
        ("ycsb-zipfian", KeyDistribution::YcsbZipfian),
        ("latest", KeyDistribution::Latest),
    ]);
    // YCSB's own default is uniform.
    let name = properties.text("requestdistribution").unwrap_or("uniform");
    names.get(name).copied().ok_or_else(|| KvError::BadSetting {
        name: "requestdistribution",
        got: name.to_owned(),
        wanted: "write uniform, zipfian, ycsb-zipfian or latest; the others are not supported yet",
    })
}

fn update(properties: &Properties) -> Result<Update, KvError> {
    Ok(match properties.value::<bool>("writeallfields", "write true or false")? {
        Some(true) => Update::Record,
        // YCSB's own default: an update replaces one field.
        _ => Update::Field,
    })
}

fn threads(settings: &KvSettings, properties: &Properties) -> Result<u32, KvError> {
    let said = properties.value("threadcount", "a number of threads")?;
    Ok(if settings.threads == 1 { said.unwrap_or(1) } else { settings.threads })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
