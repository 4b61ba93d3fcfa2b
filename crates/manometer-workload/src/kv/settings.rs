//! The parameters of a `kv` workload.

use std::collections::BTreeMap;

use manometer_measure::Span;
use manometer_target::engine::EngineOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rate::RateForm;

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
    /// YCSB properties files, or core workloads by name, that are read after `workload`; a later one overrides an
    /// earlier one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties_files: Vec<String>,
    /// Records in the database; default: the properties file's `recordcount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Threads that send requests; default: the properties file's `threadcount`, or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Which keys the requests use; default: the workload's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<KeyDistribution>,
    /// How steeply popularity falls, for the distributions `zipfian` and `latest`; default 0.99, as in YCSB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// Fields of a record; default 10, as in YCSB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_count: Option<u32>,
    /// Random bytes in each field; default 100, as in YCSB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_length: Option<u32>,
    /// Bytes of each key of a db_bench workload; default 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_size: Option<u32>,
    /// Bytes of each value; default 100 for a db_bench workload. For a YCSB workload: all fields together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_size: Option<u32>,
    /// The number of requests, of all threads together, after which the workload ends; default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// How many requests each thread sends before it waits for their answers: reads, and writes of whole records.
    pub pipeline: u32,
    /// Makes the loop open: requests per second, whether or not the engine keeps up. A number; steps such as
    /// `0s: 1000, 10m: 5000`; a ramp such as `1000..5000 in 10m`; `sine mean=5000 amplitude=2000 period=60s`;
    /// or `csv:rates.csv#ops`. Default: a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateForm>,
    /// How the requests of an open loop follow one another.
    pub arrivals: ArrivalKind,
    /// How many requests of an open loop may wait, default 10,000; a request that finds the queue full is dropped and
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// In a closed loop, how long each thread waits after an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Span>,
    /// The proportion of reads; default: the workload's own. Proportions are divided by their sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_proportion: Option<f64>,
    /// The proportion of updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_proportion: Option<f64>,
    /// The proportion of inserts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert_proportion: Option<f64>,
    /// The proportion of scans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_proportion: Option<f64>,
    /// The proportion of read-modify-writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_modify_write_proportion: Option<f64>,
    /// A timetable of changes that starts with the first `go`: `"10m: read_proportion = 0.5; 20m: rate = 5000"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Whether each thread is pinned to one processor.
    pub pin: bool,
    /// How the records are loaded.
    pub load: LoadMethod,
    /// Parameters of a db_bench workload, such as `seek_nexts = "10"`, or YCSB properties that override those of the
    /// files, such as `readproportion = "0.9"`. The other settings override both.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

impl KvSettings {
    /// The proportions that are set, by the names of YCSB's properties.
    pub(super) fn proportions(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let proportions = [
            ("readproportion", self.read_proportion),
            ("updateproportion", self.update_proportion),
            ("insertproportion", self.insert_proportion),
            ("scanproportion", self.scan_proportion),
            ("readmodifywriteproportion", self.read_modify_write_proportion),
        ];
        proportions.into_iter().filter_map(|(name, share)| Some((name, share?)))
    }

    /// The external servers that the options name, if any.
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

/// Servers that Manometer did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalServers {
    /// Each as host and port, as given.
    pub addresses: Vec<String>,
    /// Whether they belong to a cluster, which may have others.
    pub cluster: bool,
    /// Whether they may be emptied.
    pub flush: bool,
}

impl ExternalServers {
    /// The servers that `options` name, if any.
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

/// Which keys the requests use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyDistribution {
    /// Every key with the same probability.
    Uniform,
    /// Exact Zipf over the real number of records, ranks scattered over the key space.
    Zipfian,
    /// YCSB's scrambled zipfian, bit for bit: drawn over 10^10 items and then folded onto the records, so that the most
    /// popular keys lose most of their share.
    YcsbZipfian,
    /// The newest records most often: exact Zipf over their age.
    Latest,
    /// A hot set gets its own share of the requests (`hotspotdatafraction`, `hotspotopnfraction`).
    Hotspot,
    /// The newest records most often, each older one less by the same factor
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
    /// Independent of one another, as those of many users: a Poisson process.
    Poisson,
}

/// How the records are loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadMethod {
    /// As sorted tables that the engine ingests: fast, and settled at once.
    #[default]
    Bulk,
    /// By puts in the order of the record numbers, as YCSB loads.
    Puts,
}
