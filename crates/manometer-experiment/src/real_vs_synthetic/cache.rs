//! An engine as a cache: its options for a size, and the memory that all keys take in it.

use std::ops::ControlFlow;
use std::path::Path;

use manometer_measure::MonotonicClock;
use manometer_target::engine::{self, Engine, OpenRequest, Options, SortedRecords};
use manometer_workload::replay::write_key;
use serde_json::{Map, Value, json};

use super::error::RealVsSyntheticError;
use super::recorded::Key;

const MIB: u64 = 1 << 20;
/// Less memory memcached refuses with items of up to 1 MiB.
const MEMCACHED_MIN: u64 = 2 * MIB;
/// What memcached may need beyond the bytes of keys and values, in times of these.
const MEMCACHED_ROOM: u64 = 4;

/// The memory of an engine without any key and with all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footprint {
    pub(super) empty_bytes: u64,
    pub(super) full_bytes: u64,
}

impl Footprint {
    /// What all keys take.
    pub(super) fn keys_bytes(self) -> u64 {
        self.full_bytes.saturating_sub(self.empty_bytes)
    }

    /// The memory that `engine` is to be given so that the share `cache` of the keys has room; in whole MiB, as that
    /// is how memcached is told.
    pub(super) fn memory_bytes(self, engine: &str, cache: f64) -> u64 {
        let bytes = self.empty_bytes + (self.keys_bytes() as f64 * cache).round() as u64;
        match engine {
            "memcached" => bytes.next_multiple_of(MIB).max(MEMCACHED_MIN),
            _ => bytes,
        }
    }
}

/// The options of a server of our own with so much memory, which evicts what was used longest ago.
pub(super) fn options(engine: &str, memory_bytes: u64) -> Map<String, Value> {
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

/// The column of the engine's state that is the memory it was told a limit of.
fn column(engine: &str) -> &'static str {
    if engine == "memcached" { "total_malloced" } else { "used_memory" }
}

/// Measures what `keys` take in `engine` while `connections` are open, and tells its version as well.
pub(super) fn measure(
    engine: &str,
    keys: &[Key],
    connections: u32,
    directory: &Path,
) -> Result<(Footprint, String), RealVsSyntheticError> {
    let info = engine::find(engine)?;
    let bytes: u64 = keys.iter().map(|key| u64::from(key.key_bytes) + key.value_bytes).sum();
    // 0 is no limit to Redis.
    let room = if engine == "memcached" { (MEMCACHED_ROOM * bytes).next_multiple_of(MIB) + 1024 * MIB } else { 0 };
    let options = Options::Table(self::options(engine, room));
    let server = (info.open)(&OpenRequest { directory, options: &options, value_bytes: 0 })?;
    let mut sessions: Vec<_> = (0..connections).map(|_| server.session()).collect();
    for session in &mut sessions {
        session.get(b"-")?;
    }
    let empty_bytes = memory(&*server, engine)?;
    let mut records = Records { keys: sorted(keys).into_iter(), key: Vec::new(), value: Vec::new() };
    server.load_sorted(&mut records)?;
    let full_bytes = memory(&*server, engine)?;
    let version = server.facts().get("engine_version").and_then(Value::as_str).map(str::to_owned);
    Ok((Footprint { empty_bytes, full_bytes }, version.unwrap_or_else(|| (info.version)())))
}

fn memory(server: &dyn Engine, engine: &str) -> Result<u64, RealVsSyntheticError> {
    let row = server.state().sample(&MonotonicClock);
    server.check()?;
    let bytes = row.get(column(engine)).map(|bytes| *bytes as u64);
    bytes.ok_or_else(|| RealVsSyntheticError::Untold { engine: engine.to_owned() })
}

fn sorted(keys: &[Key]) -> Vec<Key> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable_by_key(|key| (key.key_bytes, key.id));
    sorted
}

struct Records {
    keys: std::vec::IntoIter<Key>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl SortedRecords for Records {
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
    fn memory_is_a_share_of_what_keys_take() {
        let footprint = Footprint { empty_bytes: 1_000_000, full_bytes: 41_000_000 };
        assert_eq!(footprint.memory_bytes("redis", 0.1), 5_000_000);
        assert_eq!(footprint.memory_bytes("redis", 1.0), 41_000_000);
        assert_eq!(footprint.memory_bytes("memcached", 0.1), 5 * MIB);
        assert_eq!(Footprint { empty_bytes: 0, full_bytes: 10 }.memory_bytes("memcached", 0.1), MEMCACHED_MIN);
    }

    #[test]
    fn engines_take_their_options() {
        for engine in crate::file::real_vs_synthetic::ENGINES {
            let Ok(info) = engine::find(engine) else { continue };
            (info.check)(&Options::Table(options(engine, 64 * MIB))).unwrap();
        }
    }
}
