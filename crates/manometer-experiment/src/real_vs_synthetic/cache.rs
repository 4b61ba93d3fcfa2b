//! An engine as a cache: its options for a cache size, and the memory that all keys take in it.

use std::ops::ControlFlow;
use std::path::Path;

use manometer_measure::MonotonicClock;
use manometer_target::engine::{self, Engine, EngineOptions, OpenRequest, SortedRecords};
use manometer_workload::replay::write_key;
use serde_json::{Map, Value, json};

use super::error::RealVsSyntheticError;
use super::recorded_trace::Key;

const MIB: u64 = 1 << 20;
/// The minimum memory of memcached with items of up to 1 MiB.
const MEMCACHED_MIN: u64 = 2 * MIB;
/// The memory that memcached may need, in multiples of the bytes of keys and values.
const MEMCACHED_OVERHEAD: u64 = 4;

/// The memory of an engine without keys and with all keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footprint {
    pub(super) empty_bytes: u64,
    pub(super) full_bytes: u64,
}

impl Footprint {
    /// The memory of all keys.
    pub(super) fn keys_bytes(self) -> u64 {
        self.full_bytes.saturating_sub(self.empty_bytes)
    }

    /// The memory limit of `engine` for a cache that holds the share `cache` of the keys; for memcached in whole MiB, the
    /// unit of its option.
    pub(super) fn memory_bytes(self, engine: &str, cache: f64) -> u64 {
        let bytes = self.empty_bytes + (self.keys_bytes() as f64 * cache).round() as u64;
        match engine {
            "memcached" => bytes.next_multiple_of(MIB).max(MEMCACHED_MIN),
            _ => bytes,
        }
    }
}

/// The options of a server with this memory limit and LRU eviction.
pub(super) fn cache_options(engine: &str, memory_bytes: u64) -> Map<String, Value> {
    let options = match engine {
        "memcached" => json!({"memory_mib": memory_bytes / MIB}),
        _ => json!({
            "maxmemory": memory_bytes,
            "maxmemory-policy": "allkeys-lru",
            "save": "",
            "rdbcompression": false,
        }),
    };
    match options {
        Value::Object(options) => options,
        _ => Map::new(),
    }
}

/// The column of the engine's state that the memory limit applies to.
fn memory_column(engine: &str) -> &'static str {
    if engine == "memcached" { "total_malloced" } else { "used_memory" }
}

/// Measures the memory of `keys` in `engine` with `connections` open. Also returns the engine's version.
pub(super) fn measure_footprint(
    engine: &str,
    keys: &[Key],
    connections: u32,
    directory: &Path,
) -> Result<(Footprint, String), RealVsSyntheticError> {
    let info = engine::find(engine)?;
    let bytes: u64 = keys.iter().map(|key| u64::from(key.key_bytes) + key.value_bytes).sum();
    // 0 means no limit to Redis.
    let limit_bytes =
        if engine == "memcached" { (MEMCACHED_OVERHEAD * bytes).next_multiple_of(MIB) + 1024 * MIB } else { 0 };
    let options = EngineOptions::Table(cache_options(engine, limit_bytes));
    let server = (info.open)(&OpenRequest { directory, options: &options, value_bytes: 0 })?;
    let mut sessions: Vec<_> = (0..connections).map(|_| server.session()).collect();
    for session in &mut sessions {
        session.get(b"-")?;
    }
    let empty_bytes = memory_bytes(&*server, engine)?;
    let mut records = KeyRecords { keys: sorted(keys).into_iter(), key: Vec::new(), value: Vec::new() };
    server.load_sorted(&mut records)?;
    let full_bytes = memory_bytes(&*server, engine)?;
    let version = server.facts().get("engine_version").and_then(Value::as_str).map(str::to_owned);
    Ok((Footprint { empty_bytes, full_bytes }, version.unwrap_or_else(|| (info.version)())))
}

fn memory_bytes(server: &dyn Engine, engine: &str) -> Result<u64, RealVsSyntheticError> {
    let row = server.state_sampler().sample(&MonotonicClock);
    server.check_background()?;
    let bytes = row.get(memory_column(engine)).map(|bytes| *bytes as u64);
    bytes.ok_or_else(|| RealVsSyntheticError::MemoryNotReported { engine: engine.to_owned() })
}

fn sorted(keys: &[Key]) -> Vec<Key> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable_by_key(|key| (key.key_bytes, key.id));
    sorted
}

struct KeyRecords {
    keys: std::vec::IntoIter<Key>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl SortedRecords for KeyRecords {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        let key = self.keys.next()?;
        write_key(key.id, key.key_bytes, &mut self.key);
        self.value.resize(key.value_bytes as usize, 0);
        Some((&self.key, &self.value))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_limit_is_a_share_of_the_keys() {
        let footprint = Footprint { empty_bytes: 1_000_000, full_bytes: 41_000_000 };
        assert_eq!(footprint.memory_bytes("redis", 0.1), 5_000_000);
        assert_eq!(footprint.memory_bytes("redis", 1.0), 41_000_000);
        assert_eq!(footprint.memory_bytes("memcached", 0.1), 5 * MIB);
        assert_eq!(Footprint { empty_bytes: 0, full_bytes: 10 }.memory_bytes("memcached", 0.1), MEMCACHED_MIN);
    }

    #[test]
    fn engines_accept_their_options() {
        for engine in crate::file::real_vs_synthetic::ENGINES {
            let Ok(info) = engine::find(engine) else { continue };
            (info.check_options)(&EngineOptions::Table(cache_options(engine, 64 * MIB))).unwrap();
        }
    }
}
