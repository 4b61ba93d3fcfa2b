//! rlsm's options, and the durability of a put with them.

use std::time::Duration;

use manometer_measure::units::ByteSize;
use rlsm::{Compression, Flush, Maintenance, Read, Sync};
use serde_json::{Map, Value, json};

use super::ENGINE;
use crate::engine::options::{RawOptions, word};
use crate::engine::{EngineError, EngineOption, EngineOptions};

/// The option for the size of the memtable.
pub(super) const MEMTABLE: &str = "memtable_bytes";

/// Its options, in the order of the manual.
pub(super) const OPTIONS: &[EngineOption] = &[
    EngineOption { name: "memtable_bytes", values: "64 KiB and up", default: "64 MiB" },
    EngineOption { name: "range_bytes", values: "64 KiB and up", default: "two memtables" },
    EngineOption { name: "split_ratio", values: "1 to 100", default: "1.2" },
    EngineOption { name: "stale_ratio", values: "0.1 to 100", default: "0.4" },
    EngineOption { name: "compaction_bytes", values: "64 KiB and up", default: "two memtables" },
    EngineOption { name: "cache_bytes", values: "bytes", default: "128 MiB" },
    EngineOption { name: "block_bytes", values: "512 B to 256 KiB", default: "4 KiB" },
    EngineOption { name: "flush", values: "`index`, `copy`", default: "`index`" },
    EngineOption {
        name: "level0_compression",
        values: "`none`, `lz4`, `zstd`; another than `none` with `flush = \"copy\"` only",
        default: "`none`",
    },
    EngineOption { name: "level1_compression", values: "`none`, `lz4`, `zstd`", default: "`lz4`" },
    EngineOption { name: "sync", values: "`always` or `true`, `interval`, `never` or `false`", default: "`always`" },
    EngineOption {
        name: "sync_interval_ms",
        values: "1 to 3,600,000; with `sync = \"interval\"` only",
        default: "100",
    },
    EngineOption {
        name: "maintenance",
        values: "`background`, `inline` (the writing thread flushes and compacts)",
        default: "`background`",
    },
    EngineOption {
        name: "read",
        values: "`pread`, `recycle`: how blocks are read that are not in the block cache, through the page cache or through \
                 [memory of its own](recycle.md)",
        default: "`pread`",
    },
    EngineOption {
        name: "read_memory_bytes",
        values: "64 KiB and up; with `read = \"recycle\"` only",
        default: "64 MiB",
    },
    EngineOption {
        name: "feel_pressure",
        values: "`true`, `false`: whether it yields to [noisy neighbours](rlsm.md#noisy-neighbours)",
        default: "`false`",
    },
];

const COMPRESSIONS: [(&str, Compression); 3] =
    [("none", Compression::None), ("lz4", Compression::Lz4), ("zstd", Compression::Zstd)];

const FLUSHES: [(&str, Flush); 2] = [("index", Flush::Index), ("copy", Flush::Copy)];

const MAINTENANCES: [(&str, Maintenance); 2] =
    [("background", Maintenance::Background), ("inline", Maintenance::Inline)];

/// rlsm's defaults for a new database, which it does not report.
const MEMTABLE_BYTES: u64 = 64 << 20;
const CACHE_BYTES: u64 = 128 << 20;
const BLOCK_BYTES: u64 = 4 << 10;
const SPLIT_RATIO: f64 = 1.2;
const STALE_RATIO: f64 = 0.4;
const FEEL_PRESSURE: bool = false;
const READ_MEMORY_BYTES: u64 = 64 << 20;

/// The durability with rlsm's defaults.
pub(super) const ALWAYS: &str = "write-ahead log synced with `fdatasync`: a put survives the host";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncMode {
    Always,
    Interval,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    Pread,
    Recycle,
}

const READ_MODES: [(&str, ReadMode); 2] = [("pread", ReadMode::Pread), ("recycle", ReadMode::Recycle)];

const SYNC_MODES: [(&str, SyncMode); 3] =
    [("always", SyncMode::Always), ("interval", SyncMode::Interval), ("never", SyncMode::Never)];

/// Default interval of log syncs with `sync = "interval"`, in milliseconds.
const INTERVAL_MS: u64 = 100;

/// The options in force.
#[derive(Debug)]
pub(super) struct Config {
    memtable_bytes: u64,
    range_bytes: u64,
    split_ratio: f64,
    stale_ratio: f64,
    cache_bytes: u64,
    block_bytes: u32,
    flush: Flush,
    level0_compression: Compression,
    level1_compression: Compression,
    compaction_bytes: u64,
    sync: SyncMode,
    sync_interval_ms: Option<u64>,
    maintenance: Maintenance,
    read: Read,
    feel_pressure: bool,
}

impl Config {
    pub(super) fn read(options: &EngineOptions) -> Result<Self, EngineError> {
        const BUFFER: (u64, u64) = (64 << 10, 1 << 39);
        let given = RawOptions::read(ENGINE, OPTIONS, options)?;
        let memtable_bytes = given.bytes(MEMTABLE, BUFFER)?.unwrap_or(MEMTABLE_BYTES);
        let block_bytes = given.bytes("block_bytes", (512, 256 << 10))?.unwrap_or(BLOCK_BYTES);
        let (sync, sync_interval_ms) = sync_mode(&given)?;
        let level0_compression = given.choice("level0_compression", &COMPRESSIONS)?.unwrap_or(Compression::None);
        let flush = given.choice("flush", &FLUSHES)?.unwrap_or(Flush::Index);
        if flush == Flush::Index && level0_compression != Compression::None {
            return Err(given.refuse("level0_compression", "it needs `flush = \"copy\"`: the log is not compressed"));
        }
        Ok(Self {
            flush,
            memtable_bytes,
            range_bytes: given.bytes("range_bytes", BUFFER)?.unwrap_or(2 * memtable_bytes),
            split_ratio: given.ratio("split_ratio", (1.0, 100.0))?.unwrap_or(SPLIT_RATIO),
            stale_ratio: given.ratio("stale_ratio", (0.1, 100.0))?.unwrap_or(STALE_RATIO),
            cache_bytes: given.bytes("cache_bytes", (0, 1 << 50))?.unwrap_or(CACHE_BYTES),
            block_bytes: u32::try_from(block_bytes).map_err(|error| given.refuse("block_bytes", error))?,
            level0_compression,
            level1_compression: given.choice("level1_compression", &COMPRESSIONS)?.unwrap_or(Compression::Lz4),
            compaction_bytes: given.bytes("compaction_bytes", BUFFER)?.unwrap_or(2 * memtable_bytes),
            sync,
            sync_interval_ms,
            maintenance: given.choice("maintenance", &MAINTENANCES)?.unwrap_or(Maintenance::Background),
            read: read_mode(&given)?,
            feel_pressure: given.flag("feel_pressure")?.unwrap_or(FEEL_PRESSURE),
        })
    }

    pub(super) fn options(&self) -> rlsm::Options {
        let sync = match self.sync {
            SyncMode::Always => Sync::Always,
            SyncMode::Interval => Sync::Interval(Duration::from_millis(self.sync_interval_ms.unwrap_or(INTERVAL_MS))),
            SyncMode::Never => Sync::Never,
        };
        rlsm::Options::new()
            .memtable_bytes(self.memtable_bytes)
            .range_bytes(self.range_bytes)
            .split_ratio(self.split_ratio)
            .stale_ratio(self.stale_ratio)
            .cache_bytes(self.cache_bytes)
            .block_bytes(self.block_bytes)
            .flush(self.flush)
            .level0_compression(self.level0_compression)
            .level1_compression(self.level1_compression)
            .compaction_bytes(self.compaction_bytes)
            .sync(sync)
            .maintenance(self.maintenance)
            .read(self.read)
            .feel_pressure(self.feel_pressure)
    }

    pub(super) fn durability(&self) -> &'static str {
        match self.sync {
            SyncMode::Always => ALWAYS,
            SyncMode::Interval => {
                "write-ahead log synced at intervals: a put survives the process, and the host once it is synced"
            }
            SyncMode::Never => "write-ahead log without sync: a put survives the process, not the host",
        }
    }

    /// The options in force, for the recording.
    pub(super) fn in_force(&self) -> Value {
        let mut options = Map::new();
        let mut set = |name: &str, value: Value| options.insert(name.to_owned(), value);
        set("block_bytes", json!(ByteSize(u64::from(self.block_bytes))));
        set("cache_bytes", json!(ByteSize(self.cache_bytes)));
        set("compaction_bytes", json!(ByteSize(self.compaction_bytes)));
        set("feel_pressure", self.feel_pressure.into());
        set("flush", word(&FLUSHES, self.flush).into());
        set("level0_compression", word(&COMPRESSIONS, self.level0_compression).into());
        set("level1_compression", word(&COMPRESSIONS, self.level1_compression).into());
        set("maintenance", word(&MAINTENANCES, self.maintenance).into());
        set(MEMTABLE, json!(ByteSize(self.memtable_bytes)));
        set("range_bytes", json!(ByteSize(self.range_bytes)));
        match self.read {
            Read::Pread => set("read", word(&READ_MODES, ReadMode::Pread).into()),
            Read::Recycle { memory_bytes } => {
                set("read", word(&READ_MODES, ReadMode::Recycle).into());
                set("read_memory_bytes", json!(ByteSize(memory_bytes)))
            }
        };
        set("split_ratio", self.split_ratio.into());
        set("stale_ratio", self.stale_ratio.into());
        set("sync", word(&SYNC_MODES, self.sync).into());
        if let Some(milliseconds) = self.sync_interval_ms {
            set("sync_interval_ms", milliseconds.into());
        }
        options.into()
    }
}

/// How blocks are read.
fn read_mode(given: &RawOptions) -> Result<Read, EngineError> {
    let mode = given.choice("read", &READ_MODES)?.unwrap_or(ReadMode::Pread);
    let memory_bytes = given.bytes("read_memory_bytes", (64 << 10, 1 << 43))?;
    match (mode, memory_bytes) {
        (ReadMode::Recycle, memory_bytes) => {
            Ok(Read::Recycle { memory_bytes: memory_bytes.unwrap_or(READ_MEMORY_BYTES) })
        }
        (ReadMode::Pread, None) => Ok(Read::Pread),
        (ReadMode::Pread, Some(_)) => Err(given.refuse("read_memory_bytes", "it applies with `read` = `recycle` only")),
    }
}

/// The sync mode, and its interval if it has one.
fn sync_mode(given: &RawOptions) -> Result<(SyncMode, Option<u64>), EngineError> {
    // RocksDB's spelling is accepted too, so that one experiment can run both.
    let sync = match given.flag("sync") {
        Ok(Some(true)) => SyncMode::Always,
        Ok(Some(false)) => SyncMode::Never,
        _ => given.choice("sync", &SYNC_MODES)?.unwrap_or(SyncMode::Always),
    };
    let interval_ms = given.number("sync_interval_ms", (1, 3_600_000))?;
    match (sync, interval_ms) {
        (SyncMode::Interval, interval_ms) => Ok((sync, Some(interval_ms.unwrap_or(INTERVAL_MS)))),
        (_, None) => Ok((sync, None)),
        (_, Some(_)) => Err(given.refuse("sync_interval_ms", "it applies with `sync` = `interval` only")),
    }
}
