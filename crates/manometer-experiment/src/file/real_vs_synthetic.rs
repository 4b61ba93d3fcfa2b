//! The experiment file of kind `real-vs-synthetic`: a trace and synthetic loads of its keys on the same caches.

use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_trace::TraceForm;
use manometer_workload::replay::TraceFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{deserialize, unknown_keys};
use super::problem::{CheckError, ExperimentError};
use super::source::Sources;
use super::tree::{self, Node};

/// The value of the key `kind` in such a file.
pub const KIND: &str = "real-vs-synthetic";
/// The engines whose server can be started with a given cache size.
pub const ENGINES: [&str; 2] = ["redis", "memcached"];
/// The number of slots, and so the maximum number of nodes, of a Redis Cluster.
const NODES_MAX: u32 = 16_384;
/// The servers of a Redis Cluster that is started on this host.
const CLUSTER_NODES: std::ops::RangeInclusive<u32> = 3..=100;
/// The maximum number of repeats.
const REPEATS_MAX: u32 = 1000;
/// The maximum number of threads of a replay.
const THREADS_MAX: u32 = 4096;
/// The largest slab class with chunks of one size: half of memcached's default maximum item size.
const CHUNK_BYTES_MAX: u64 = 512 << 10;
/// The smallest slab class.
const CHUNK_BYTES_MIN: u64 = 96;
/// The minimum memory of memcached with items of up to 1 MiB.
const SLAB_MEMORY_MIN: u64 = 2 << 20;

/// A comparison of a trace with synthetic loads of its keys, on caches of several sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealVsSynthetic {
    /// `real-vs-synthetic`.
    pub kind: String,
    /// Name of the comparison, shown in reports.
    pub name: String,
    /// Folder for the servers' files and the loads, used during the comparison.
    pub directory: PathBuf,
    /// Path of the trace, relative to this file.
    pub trace: PathBuf,
    /// Format of the trace.
    #[serde(flatten)]
    pub form: TraceForm,
    /// Number of requests, from the beginning of the trace. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Size of each value in bytes. Default: the sizes in the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_size: Option<u32>,
    /// Caching engines on which loads are replayed: `redis`, `memcached`, both, or none for the simulation alone.
    #[serde(default = "engines")]
    pub engines: Vec<String>,
    /// Cache sizes, as shares of the memory that all keys take, in engines and in the simulation.
    #[serde(default = "caches")]
    pub caches: Vec<f64>,
    /// Number of replays of each load on each cache.
    #[serde(default = "repeats")]
    pub repeats: u32,
    /// Number of threads that send requests.
    #[serde(default = "threads")]
    pub threads: u32,
    /// Number of cluster nodes for the analysis of hot spots.
    #[serde(default = "nodes")]
    pub nodes: u32,
    /// Seed of all randomness.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Comparison of values spread over memcached's slab classes with values of one size. Default: left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slabs: Option<SlabTable>,
    /// Measurement of hot spots on a Redis Cluster of `nodes` servers. Default: hot spots are only computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterTable>,
    /// Comparison of the throughput of the trace's replay with that of a stationary load of YCSB. Default: left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ThroughputTable>,
}

/// Comparison of the throughput of the trace's replay with that of a stationary load of YCSB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputTable {
    /// The engine: `redis` or `memcached`.
    #[serde(default = "throughput_engine")]
    pub engine: String,
    /// Numbers of threads that send requests, each a comparison.
    #[serde(default = "throughput_threads")]
    pub threads: Vec<u32>,
}

fn throughput_engine() -> String {
    ENGINES[0].to_owned()
}

fn throughput_threads() -> Vec<u32> {
    vec![1, 10, 20]
}

/// Measurement of hot spots on a Redis Cluster that is started on this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterTable {
    /// The speed of the arrivals relative to the recorded ones: 10 divides all times by ten.
    #[serde(default = "speed")]
    pub speed: f64,
}

fn speed() -> f64 {
    1.0
}

/// Comparison of values spread over memcached's slab classes with values of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlabTable {
    /// Memory of memcached, in whole MiB.
    pub memory: ByteSize,
    /// The largest slab class that values are spread over.
    #[serde(default = "chunk_max")]
    pub chunk_max: ByteSize,
}

fn engines() -> Vec<String> {
    ENGINES.map(str::to_owned).into()
}

fn caches() -> Vec<f64> {
    (1..=10).map(|tenths| f64::from(tenths) / 10.0).collect()
}

fn repeats() -> u32 {
    5
}

fn threads() -> u32 {
    16
}

fn nodes() -> u32 {
    10
}

fn seed() -> u64 {
    1
}

fn chunk_max() -> ByteSize {
    ByteSize(16 << 10)
}

impl RealVsSynthetic {
    /// Whether the file at `path`, or one that it extends, is of this kind.
    pub fn has_kind(path: &Path) -> bool {
        let root = tree::load(&mut Sources::default(), path, &[], &mut Vec::new());
        root.is_some_and(|root| root.get("kind").is_some_and(|kind| kind.to_json() == KIND))
    }

    /// Reads the file at `path`, applies the `--set` changes `sets`, and checks the whole.
    ///
    /// # Errors
    /// All problems, each with its file, its line and what would be right.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, ExperimentError> {
        let (mut sources, mut errors) = (Sources::default(), Vec::new());
        let root = tree::load(&mut sources, path, sets, &mut errors);
        let settings = root.and_then(|root| read(&root, &sources, &mut errors));
        settings.filter(|_| errors.is_empty()).ok_or_else(|| ExperimentError::new(errors, &sources))
    }

    /// The trace and its format.
    pub fn trace_file(&self) -> TraceFile {
        TraceFile { trace: self.trace.clone(), form: self.form.clone() }
    }

    /// The resolved file as TOML, `extends` and `--set` applied.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }
}

fn read(root: &Node, sources: &Sources, errors: &mut Vec<CheckError>) -> Option<RealVsSynthetic> {
    let mut unknown = unknown_keys::<RealVsSynthetic>(root);
    unknown.extend(root.get("slabs").into_iter().flat_map(unknown_keys::<SlabTable>));
    unknown.extend(root.get("throughput").into_iter().flat_map(unknown_keys::<ThroughputTable>));
    unknown.extend(root.get("cluster").into_iter().flat_map(unknown_keys::<ClusterTable>));
    let is_whole = unknown.is_empty();
    errors.extend(unknown);
    let mut settings: RealVsSynthetic =
        deserialize(root, "", is_whole).map_err(|invalid| errors.extend(invalid)).ok()?;
    let error = |(key, message): (&str, String)| {
        let at = key.split('.').try_fold(root, Node::get);
        CheckError::new(format!("`{key}`: {message}"), at.map(|node| node.origin.clone()))
    };
    errors.extend(check(&settings).into_iter().map(error));
    if let Some(trace) = root.get("trace") {
        settings.trace = sources.folder(&trace.origin).join(&settings.trace);
    }
    Some(settings)
}

/// The invalid settings, each with its key and what would be right.
fn check(settings: &RealVsSynthetic) -> Vec<(&'static str, String)> {
    let mut invalid = Vec::new();
    if settings.kind != KIND {
        invalid.push(("kind", format!("got {}; write `{KIND}`", settings.kind)));
    }
    let unknown = settings.engines.iter().find(|engine| !ENGINES.contains(&engine.as_str()));
    if let Some(engine) = unknown {
        invalid.push(("engines", format!("the cache size of {engine} cannot be set; write `redis` or `memcached`")));
    }
    if has_duplicates(&settings.engines) {
        invalid.push(("engines", "write each engine once".to_owned()));
    }
    let caches = &settings.caches;
    if caches.is_empty()
        || !caches.iter().all(|cache| *cache > 0.0 && *cache <= 1.0)
        || !caches.is_sorted_by(|a, b| a < b)
    {
        invalid.push(("caches", "write shares above 0 and up to 1, each once, in rising order".to_owned()));
    }
    let ranges = [
        ("repeats", settings.repeats, REPEATS_MAX),
        ("threads", settings.threads, THREADS_MAX),
        ("nodes", settings.nodes, NODES_MAX),
    ];
    for (key, value, most) in ranges {
        if !(1..=most).contains(&value) {
            invalid.push((key, format!("got {value}; write a number from 1 to {most}")));
        }
    }
    if settings.requests == Some(0) {
        invalid.push(("requests", "got 0; write the number of requests to take from the trace".to_owned()));
    }
    invalid.extend(settings.slabs.iter().flat_map(|slabs| check_slabs(settings, slabs)));
    invalid.extend(settings.throughput.iter().flat_map(check_throughput));
    invalid.extend(settings.cluster.iter().flat_map(|cluster| check_cluster(settings, cluster)));
    invalid
}

fn check_slabs(settings: &RealVsSynthetic, slabs: &SlabTable) -> Vec<(&'static str, String)> {
    let mut invalid = Vec::new();
    if !settings.engines.iter().any(|engine| engine == "memcached") {
        invalid.push(("slabs", "only memcached has slabs: add it to `engines`, or remove this table".to_owned()));
    }
    if slabs.memory.0 < SLAB_MEMORY_MIN || !slabs.memory.0.is_multiple_of(1 << 20) {
        invalid.push(("slabs.memory", format!("got {}; write a number of whole MiB, 2MiB or more", slabs.memory)));
    }
    if !(CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&slabs.chunk_max.0) {
        invalid.push(("slabs.chunk_max", format!("got {}; write a size from 96 B to 512KiB", slabs.chunk_max)));
    }
    invalid
}

fn check_throughput(table: &ThroughputTable) -> Vec<(&'static str, String)> {
    let mut invalid = Vec::new();
    if !ENGINES.contains(&table.engine.as_str()) {
        invalid.push(("throughput.engine", format!("got {}; write `redis` or `memcached`", table.engine)));
    }
    let threads = &table.threads;
    let are_valid = threads.iter().all(|threads| (1..=THREADS_MAX).contains(threads));
    if threads.is_empty() || !are_valid || !threads.is_sorted_by(|one, other| one < other) {
        let message = format!("write numbers from 1 to {THREADS_MAX}, each once, in rising order");
        invalid.push(("throughput.threads", message));
    }
    invalid
}

fn check_cluster(settings: &RealVsSynthetic, cluster: &ClusterTable) -> Vec<(&'static str, String)> {
    let mut invalid = Vec::new();
    if !(cluster.speed > 0.0 && cluster.speed.is_finite()) {
        invalid.push(("cluster.speed", format!("got {}; write a number above 0", cluster.speed)));
    }
    if !CLUSTER_NODES.contains(&settings.nodes) {
        let message = format!("got {}; a cluster on this host has 3 to 100 servers", settings.nodes);
        invalid.push(("nodes", message));
    }
    invalid
}

fn has_duplicates(names: &[String]) -> bool {
    names.iter().enumerate().any(|(place, name)| names[..place].contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "kind = \"real-vs-synthetic\"\nname = \"a test\"\ndirectory = \"data\"\ntrace = \"t.csv\"\n\
                        [slabs]\nmemory = \"64MiB\"\n";

    fn load(text: &str, sets: &[&str]) -> Result<RealVsSynthetic, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        std::fs::write(&path, text).unwrap();
        assert!(RealVsSynthetic::has_kind(&path) || !text.starts_with("kind"));
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let loaded = RealVsSynthetic::load(&path, &sets).map_err(|error| error.to_string())?;
        assert_eq!(loaded.trace, dir.path().join("t.csv"), "a path is relative to its file");
        Ok(loaded)
    }

    #[test]
    fn defaults_are_those_of_the_paper() {
        let settings = load(GOOD, &[]).unwrap();
        assert_eq!(settings.engines, ENGINES);
        assert_eq!((settings.caches.len(), settings.caches[0], settings.caches[9]), (10, 0.1, 1.0));
        assert_eq!((settings.repeats, settings.nodes), (5, 10));
        assert_eq!(settings.slabs.as_ref().unwrap().chunk_max, ByteSize(16 << 10));
        let set = load(GOOD, &["repeats=2", "caches=[0.5]", "slabs.memory=2MiB"]).unwrap();
        assert_eq!((set.repeats, set.caches, set.slabs.unwrap().memory), (2, vec![0.5], ByteSize(2 << 20)));
    }

    #[test]
    fn the_resolved_file_reads_back() {
        let settings = load(GOOD, &["requests=10"]).unwrap();
        let again: RealVsSynthetic = toml::from_str(&settings.to_toml()).unwrap();
        assert_eq!(again, settings);
    }

    #[test]
    fn invalid_settings_are_rejected_with_their_line_and_a_remedy() {
        for (set, expected) in [
            ("engines=[\"rocksdb\"]", "cache size of rocksdb cannot be set"),
            ("engines=[\"redis\", \"redis\"]", "each engine once"),
            ("engines=[]", "only memcached has slabs"),
            ("engines=[\"redis\"]", "only memcached has slabs"),
            ("caches=[1.0, 0.5]", "in rising order"),
            ("caches=[0]", "shares above 0"),
            ("caches=[1.5]", "up to 1"),
            ("repeats=0", "a number from 1 to 1000"),
            ("threads=0", "a number from 1"),
            ("nodes=20000", "a number from 1 to 16384"),
            ("requests=0", "number of requests"),
            ("slabs.memory=100kB", "whole MiB"),
            ("slabs.chunk_max=1MiB", "from 96 B to 512KiB"),
            ("throughput.engine=rocksdb", "write `redis` or `memcached`"),
            ("throughput.threads=[10, 1]", "in rising order"),
            ("throughput.threads=[]", "numbers from 1 to 4096"),
            ("cluster.speed=0", "a number above 0"),
            ("cluster.speed=fast", "`cluster.speed`"),
            ("cluster.rate=1", "unknown key `rate`"),
            ("slabs.size=1", "unknown key `size`"),
            ("cache=1", "unknown key `cache`"),
            ("repeats=many", "`repeats`"),
            ("kind=other", "write `real-vs-synthetic`"),
        ] {
            let error = load(GOOD, &[set]).unwrap_err();
            assert!(error.contains(expected), "{set}: {error}");
        }
        let error = load(GOOD, &["nodes=2", "cluster.speed=10"]).unwrap_err();
        assert!(error.contains("3 to 100 servers"), "{error}");
        let error = load(&GOOD.replace("name = \"a test\"\n", ""), &[]).unwrap_err();
        assert!(error.contains("missing field `name`"), "{error}");
        assert!(load(&GOOD.replace("trace = \"t.csv\"", "trace = 5"), &[]).unwrap_err().contains("e.toml:4"));
    }
}
