//! A file of its own kind: a trace and synthetic loads of its keys on the same caches.

use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_trace::TraceForm;
use manometer_workload::replay::TraceFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{follow, known_keys};
use super::problem::{Complaint, ExperimentError};
use super::tree::{self, Node, Sources};

/// What such a file says at its top: `kind = "real-vs-synthetic"`.
pub const KIND: &str = "real-vs-synthetic";
/// The engines that can be a cache of a size that is given to a server of our own.
pub const ENGINES: [&str; 2] = ["redis", "memcached"];
/// The most slots, and so nodes, of a Redis Cluster.
const NODES_MAX: u32 = 16_384;
/// The most repeats.
const REPEATS_MAX: u32 = 1000;
/// The most threads of a replay.
const THREADS_MAX: u32 = 4096;
/// The largest class of slabs that has chunks of one size: half of memcached's usual longest item.
const CHUNK_BYTES_MAX: u64 = 512 << 10;
/// The smallest class.
const CHUNK_BYTES_MIN: u64 = 96;
/// Less memory memcached refuses with items of up to 1 MiB.
const SLAB_MEMORY_MIN: u64 = 2 << 20;

/// A trace against synthetic loads of its keys, on caches of several sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealVsSynthetic {
    /// `real-vs-synthetic`.
    pub kind: String,
    /// What it shows, for people.
    pub name: String,
    /// Where the servers and the loads lie while they are needed.
    pub directory: PathBuf,
    /// The trace, relative to this file.
    pub trace: PathBuf,
    /// How it is read.
    #[serde(flatten)]
    pub form: TraceForm,
    /// How many requests of the trace, from its begin; all of them unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Bytes of each value; as the trace says unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_size: Option<u32>,
    /// The caches: `redis`, `memcached`, or both.
    #[serde(default = "engines")]
    pub engines: Vec<String>,
    /// Their memory, as shares of what all keys take there.
    #[serde(default = "caches")]
    pub caches: Vec<f64>,
    /// How often each load is replayed on each cache.
    #[serde(default = "repeats")]
    pub repeats: u32,
    /// Threads that send requests.
    #[serde(default = "threads")]
    pub threads: u32,
    /// Nodes of the cluster whose hot spots are told.
    #[serde(default = "nodes")]
    pub nodes: u32,
    /// Where all randomness comes from.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Values spread over memcached's slabs against values of one size; left out unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slabs: Option<SlabTable>,
}

/// Values spread over memcached's slabs against values of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlabTable {
    /// The memory of memcached, in whole MiB.
    pub memory: ByteSize,
    /// The largest class of slabs that values are spread over.
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
    /// Whether the file at `path`, or what it extends, is one of this kind.
    pub fn is_one(path: &Path) -> bool {
        let root = tree::load(&mut Sources::default(), path, &[]);
        root.is_ok_and(|root| root.get("kind").is_some_and(|kind| kind.to_json() == KIND))
    }

    /// Reads the file at `path` with the `--set` changes `sets`, and checks the whole.
    ///
    /// # Errors
    /// Every problem found, each with its file, line and what would be right.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, ExperimentError> {
        let mut sources = Sources::default();
        let root = tree::load(&mut sources, path, sets).map_err(|problems| sources.error(problems))?;
        read(&root, &sources).map_err(|problems| sources.error(problems))
    }

    /// The trace and how it is read.
    pub fn file(&self) -> TraceFile {
        TraceFile { trace: self.trace.clone(), form: self.form.clone() }
    }

    /// The file as it was run, without what `--set` and `extends` left behind.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }
}

fn read(root: &Node, sources: &Sources) -> Result<RealVsSynthetic, Vec<Complaint>> {
    let mut complaints = known_keys::<RealVsSynthetic>(root);
    if let Some(slabs) = root.get("slabs") {
        complaints.extend(known_keys::<SlabTable>(slabs));
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let mut settings: RealVsSynthetic = serde_path_to_error::deserialize(root.to_json()).map_err(|error| {
        let at = follow(root, error.path());
        let place = Some(&at.origin).filter(|_| error.path().iter().len() > 0).unwrap_or(&root.origin);
        vec![Complaint::new(format!("`{}`: {}", error.path(), error.inner()), Some(place.clone()))]
    })?;
    let wrong = check(&settings);
    if !wrong.is_empty() {
        let complaint = |(key, message): (&str, String)| {
            let at = key.split('.').try_fold(root, Node::get);
            Complaint::new(format!("`{key}`: {message}"), at.map(|node| node.origin.clone()))
        };
        return Err(wrong.into_iter().map(complaint).collect());
    }
    if let Some(trace) = root.get("trace") {
        settings.trace = sources.folder(&trace.origin).join(&settings.trace);
    }
    Ok(settings)
}

/// What is wrong, by key, and what would be right.
fn check(settings: &RealVsSynthetic) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    if settings.kind != KIND {
        wrong.push(("kind", format!("got {}; write `{KIND}`", settings.kind)));
    }
    let unknown = settings.engines.iter().find(|engine| !ENGINES.contains(&engine.as_str()));
    if let Some(engine) = unknown {
        wrong
            .push(("engines", format!("{engine} is no cache of a size that can be set; write `redis` or `memcached`")));
    }
    if has_twice(&settings.engines) || settings.engines.is_empty() {
        wrong.push(("engines", "write `redis`, `memcached` or both, each once".to_owned()));
    }
    let caches = &settings.caches;
    if caches.is_empty()
        || !caches.iter().all(|cache| *cache > 0.0 && *cache <= 1.0)
        || !caches.is_sorted_by(|a, b| a < b)
    {
        wrong.push(("caches", "write shares above 0 and up to 1, the smallest first, each once".to_owned()));
    }
    let ranges = [
        ("repeats", settings.repeats, REPEATS_MAX),
        ("threads", settings.threads, THREADS_MAX),
        ("nodes", settings.nodes, NODES_MAX),
    ];
    for (key, value, most) in ranges {
        if !(1..=most).contains(&value) {
            wrong.push((key, format!("got {value}; write a number from 1 to {most}")));
        }
    }
    if settings.requests == Some(0) {
        wrong.push(("requests", "got 0; write how many requests of the trace are taken".to_owned()));
    }
    wrong.extend(settings.slabs.iter().flat_map(|slabs| check_slabs(settings, slabs)));
    wrong
}

fn check_slabs(settings: &RealVsSynthetic, slabs: &SlabTable) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    if !settings.engines.iter().any(|engine| engine == "memcached") {
        wrong.push(("slabs", "only memcached has slabs: add it to `engines`, or leave this out".to_owned()));
    }
    if slabs.memory.0 < SLAB_MEMORY_MIN || !slabs.memory.0.is_multiple_of(1 << 20) {
        wrong.push(("slabs.memory", format!("got {}; write whole MiB, 2MiB or more", slabs.memory)));
    }
    if !(CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&slabs.chunk_max.0) {
        wrong.push(("slabs.chunk_max", format!("got {}; write a size from 96 B to 512KiB", slabs.chunk_max)));
    }
    wrong
}

fn has_twice(names: &[String]) -> bool {
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
        assert!(RealVsSynthetic::is_one(&path) || !text.starts_with("kind"));
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let loaded = RealVsSynthetic::load(&path, &sets).map_err(|error| error.to_string())?;
        assert_eq!(loaded.trace, dir.path().join("t.csv"), "a path is relative to its file");
        Ok(loaded)
    }

    #[test]
    fn what_is_left_out_is_as_in_the_seed() {
        let settings = load(GOOD, &[]).unwrap();
        assert_eq!(settings.engines, ENGINES);
        assert_eq!((settings.caches.len(), settings.caches[0], settings.caches[9]), (10, 0.1, 1.0));
        assert_eq!((settings.repeats, settings.nodes), (5, 10));
        assert_eq!(settings.slabs.as_ref().unwrap().chunk_max, ByteSize(16 << 10));
        let set = load(GOOD, &["repeats=2", "caches=[0.5]", "slabs.memory=2MiB"]).unwrap();
        assert_eq!((set.repeats, set.caches, set.slabs.unwrap().memory), (2, vec![0.5], ByteSize(2 << 20)));
    }

    #[test]
    fn the_file_as_run_reads_back() {
        let settings = load(GOOD, &["requests=10"]).unwrap();
        let again: RealVsSynthetic = toml::from_str(&settings.to_toml()).unwrap();
        assert_eq!(again, settings);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_would_be_right() {
        for (set, says) in [
            ("engines=[\"rocksdb\"]", "rocksdb is no cache of a size that can be set"),
            ("engines=[]", "each once"),
            ("engines=[\"redis\"]", "only memcached has slabs"),
            ("caches=[1.0, 0.5]", "the smallest first"),
            ("caches=[0]", "shares above 0"),
            ("caches=[1.5]", "up to 1"),
            ("repeats=0", "a number from 1 to 1000"),
            ("threads=0", "a number from 1"),
            ("nodes=20000", "a number from 1 to 16384"),
            ("requests=0", "how many requests"),
            ("slabs.memory=100kB", "whole MiB"),
            ("slabs.chunk_max=1MiB", "from 96 B to 512KiB"),
            ("slabs.size=1", "`size` is no key here"),
            ("cache=1", "`cache` is no key here"),
            ("repeats=many", "`repeats`"),
            ("kind=other", "write `real-vs-synthetic`"),
        ] {
            let error = load(GOOD, &[set]).unwrap_err();
            assert!(error.contains(says), "{set}: {error}");
        }
        let error = load(&GOOD.replace("name = \"a test\"\n", ""), &[]).unwrap_err();
        assert!(error.contains("missing field `name`"), "{error}");
        assert!(load(&GOOD.replace("trace = \"t.csv\"", "trace = 5"), &[]).unwrap_err().contains("e.toml:4"));
    }
}
