//! The parameters of a `kv` workload.

use std::collections::BTreeMap;

use manometer_measure::Span;
use manometer_target::engine::EngineOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pace::RateForm;

/// A workload of YCSB or db_bench on a key-value engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KvSettings {
    /// The engine's name; `manometer engines` lists them.
    pub engine: String,
    /// The engine's options: its own options file, or a table of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<EngineOptions>,
    /// `ycsb-a` to `ycsb-f`, the path of a YCSB properties file, or a benchmark of db_bench such as
    /// `readwhilewriting`.
    pub workload: String,
    /// YCSB properties files, or core workloads by name, that are read after `workload`, in order: what a later
    /// one says goes before what an earlier one says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties_files: Vec<String>,
    /// Records in the database; the properties file's `recordcount` unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Threads that send requests; the properties file's `threadcount`, or 1, unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Which keys are asked for; the workload's own unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<KeyDistribution>,
    /// How steeply popularity falls, for the distributions `zipfian` and `latest`; YCSB's 0.99 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// Fields of a record; YCSB's 10 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_count: Option<u32>,
    /// Random bytes in each field; YCSB's 100 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_length: Option<u32>,
    /// Bytes of each key of a db_bench workload; 16 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_size: Option<u32>,
    /// Bytes of each value: of a db_bench workload, 100 unless said; of a YCSB workload all its fields together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_size: Option<u32>,
    /// After how many requests, of all threads together, the workload ends of itself; never unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// How many requests each thread sends before it waits for their answers: reads, and writes of whole
    /// records.
    pub pipeline: u32,
    /// Makes the loop open: requests per second, whether or not the engine keeps up. A number; steps such as
    /// `0s: 1000, 10m: 5000`; a ramp such as `1000..5000 in 10m`; `sine mean=5000 amplitude=2000 period=60s`;
    /// or `csv:rates.csv#ops`. A closed loop unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateForm>,
    /// How the requests of an open loop follow one another.
    pub arrivals: ArrivalKind,
    /// How many requests of an open loop may wait, 10,000 unless said; those that find no place are dropped
    /// and counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// In a closed loop, how long each thread waits after an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Span>,
    /// How often reads come among all requests; the workload's own proportion unless said. Proportions are
    /// divided by their sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_proportion: Option<f64>,
    /// How often updates come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_proportion: Option<f64>,
    /// How often inserts come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert_proportion: Option<f64>,
    /// How often scans come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_proportion: Option<f64>,
    /// How often read-modify-writes come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_modify_write_proportion: Option<f64>,
    /// Changes on a timetable that begins with the first `go`: `"10m: read_proportion = 0.5; 20m: rate = 5000"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Whether each thread stays on one processor.
    pub pin: bool,
    /// How the records come into the database.
    pub load: LoadMethod,
    /// Parameters of a db_bench workload, such as `seek_nexts = "10"`, or YCSB properties that go before those
    /// of the files, such as `readproportion = "0.9"`. What is set above goes before both.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

impl KvSettings {
    /// The proportions that are said, by the names of YCSB's properties.
    pub(super) fn proportions(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let said = [
            ("readproportion", self.read_proportion),
            ("updateproportion", self.update_proportion),
            ("insertproportion", self.insert_proportion),
            ("scanproportion", self.scan_proportion),
            ("readmodifywriteproportion", self.read_modify_write_proportion),
        ];
        said.into_iter().filter_map(|(name, share)| Some((name, share?)))
    }

    /// The servers that are not ours, where the options lead to some.
    pub fn servers(&self) -> Option<ExternalServers> {
        ExternalServers::of(self.options.as_ref()?)
    }
}

impl Default for KvSettings {
    fn default() -> Self {
        Self {
            engine: "rocksdb".to_owned(),
            options: None,
            workload: "ycsb-b".to_owned(),
            properties_files: Vec::new(),
            records: None,
            threads: None,
            distribution: None,
            exponent: None,
            field_count: None,
            field_length: None,
            key_size: None,
            value_size: None,
            operations: None,
            pipeline: 1,
            rate: None,
            arrivals: ArrivalKind::default(),
            queue: None,
            think: None,
            read_proportion: None,
            update_proportion: None,
            insert_proportion: None,
            scan_proportion: None,
            read_modify_write_proportion: None,
            script: None,
            pin: false,
            load: LoadMethod::default(),
            properties: BTreeMap::new(),
        }
    }
}

/// Servers that are not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalServers {
    /// Each as host and port, as given.
    pub addresses: Vec<String>,
    /// Whether they are some of a cluster's, which has others.
    pub cluster: bool,
    /// Whether they may be emptied.
    pub flush: bool,
}

impl ExternalServers {
    /// Those that `options` lead to, where they lead to some.
    pub fn of(options: &EngineOptions) -> Option<Self> {
        let EngineOptions::Table(options) = options else { return None };
        let addresses = options.get("address")?.as_str()?.split(',');
        let is_set = |name| options.get(name).is_some_and(|flag| *flag == true || *flag == "true");
        Some(Self {
            addresses: addresses.map(|address| address.trim().to_owned()).collect(),
            cluster: is_set("cluster"),
            flush: is_set("flush"),
        })
    }
}

/// Which keys are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyDistribution {
    /// Every key alike.
    Uniform,
    /// Exact Zipf over the real number of records, ranks scattered over the key space.
    Zipfian,
    /// YCSB's scrambled zipfian, bit for bit: drawn over 10^10 items and then folded onto the records,
    /// which takes most of their share from the most popular keys.
    YcsbZipfian,
    /// The records inserted last most often: exact Zipf over their age.
    Latest,
    /// A hot set gets its own share of the requests (`hotspotdatafraction`, `hotspotopnfraction`).
    Hotspot,
    /// The records inserted last most often, each older one by the same factor less
    /// (`exponential.percentile`, `exponential.frac`).
    Exponential,
    /// One record after the other.
    Sequential,
}

/// How the requests of an open loop follow one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalKind {
    /// Evenly, as with YCSB's `target`.
    #[default]
    Constant,
    /// Independent of one another, as those of many people: a Poisson process.
    Poisson,
}

/// How the records come into the database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadMethod {
    /// Sorted, in tables written beside the database and taken in whole: fast, and settled at once.
    #[default]
    Bulk,
    /// Put by put in the order of the record numbers, as YCSB loads.
    Puts,
}
