//! fjall's options: those of the process, and those that a database keeps from its creation.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{CompressionType, Database, KeyspaceCreateOptions, KvSeparationOptions, PersistMode};
use manometer_measure::directory::create_file;
use manometer_measure::units::ByteSize;
use serde_json::{Value, json};

use super::ENGINE;
use crate::engine::options::{RawOptions, word};
use crate::engine::{EngineError, EngineOption, EngineOptions};

/// The file in which Manometer records the keyspace's options: fjall keeps them but does not report them.
const KEPT: &str = "keyspace.json";

/// Its options, in the order of the manual.
pub(super) const OPTIONS: &[EngineOption] = &[
    EngineOption {
        name: "journal_persist",
        values: "`none`, `buffer`, `sync-data`, `sync-all`: durability of a put when it returns",
        default: "`buffer`",
    },
    EngineOption { name: "cache_size", values: "bytes", default: "32 MiB" },
    EngineOption { name: "max_memtable_size", values: "1 KiB and up", default: "64 MiB" },
    EngineOption { name: "data_block_size", values: "1 KiB to 1 MiB", default: "4 KiB" },
    EngineOption {
        name: "data_block_compression",
        values: "`none`, `lz4`",
        default: "lz4 but for the two upper levels",
    },
    EngineOption { name: "kv_separation", values: "`true`, `false`", default: "`false`" },
    EngineOption { name: "expect_point_read_hits", values: "`true`, `false`", default: "`false`" },
    EngineOption { name: "journal_compression", values: "`none`, `lz4`, of large values", default: "`lz4`" },
    EngineOption { name: "max_journaling_size", values: "64 MiB and up", default: "512 MiB" },
    EngineOption { name: "max_cached_files", values: "10 and up", default: "900" },
    EngineOption { name: "worker_threads", values: "1 and up", default: "as many as processors, 4 at most" },
];

const COMPRESSIONS: [(&str, CompressionType); 2] = [("none", CompressionType::None), ("lz4", CompressionType::Lz4)];

/// How far a put is persisted before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PersistLevel {
    None,
    Buffer,
    SyncData,
    SyncAll,
}

const PERSIST_LEVELS: [(&str, PersistLevel); 4] = [
    ("none", PersistLevel::None),
    ("buffer", PersistLevel::Buffer),
    ("sync-data", PersistLevel::SyncData),
    ("sync-all", PersistLevel::SyncAll),
];

/// The durability with fjall's defaults.
pub(super) const BUFFER: &str = "journal without sync: a put survives the process, not the host";

impl PersistLevel {
    pub(super) fn durability(self) -> &'static str {
        match self {
            Self::None => "journal in the process's own buffer: the last puts survive neither the process nor the host",
            Self::Buffer => BUFFER,
            Self::SyncData => "journal synced with `fdatasync`: a put survives the host",
            Self::SyncAll => "journal synced with `fsync`: a put survives the host",
        }
    }

    /// What remains to be done after fjall has written to its journal.
    pub(super) fn after_write(self) -> Option<PersistMode> {
        match self {
            Self::None | Self::Buffer => None,
            Self::SyncData => Some(PersistMode::SyncData),
            Self::SyncAll => Some(PersistMode::SyncAll),
        }
    }
}

/// The options in force; unset ones have fjall's defaults.
#[derive(Debug)]
pub(super) struct Config {
    cache_size: Option<u64>,
    journal_compression: Option<CompressionType>,
    max_cached_files: Option<usize>,
    max_journaling_size: Option<u64>,
    worker_threads: Option<usize>,
    pub(super) persist: PersistLevel,
    keyspace: KeyspaceConfig,
}

/// Options that a database keeps from its creation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct KeyspaceConfig {
    compression: Option<CompressionType>,
    block_size: Option<u32>,
    expect_point_read_hits: bool,
    kv_separation: bool,
    max_memtable_size: Option<u64>,
    manual_journal_persist: bool,
}

impl Config {
    pub(super) fn read(options: &EngineOptions) -> Result<Self, EngineError> {
        let given = RawOptions::read(ENGINE, OPTIONS, options)?;
        let persist = given.choice("journal_persist", &PERSIST_LEVELS)?.unwrap_or(PersistLevel::Buffer);
        let whole = |number: Option<u64>| number.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        Ok(Self {
            cache_size: given.bytes("cache_size", (0, 1 << 50))?,
            journal_compression: given.choice("journal_compression", &COMPRESSIONS)?,
            max_cached_files: whole(given.number("max_cached_files", (10, 1 << 30))?),
            max_journaling_size: given.bytes("max_journaling_size", (64 << 20, 1 << 50))?,
            worker_threads: whole(given.number("worker_threads", (1, 1024))?),
            persist,
            keyspace: KeyspaceConfig::read(&given, persist)?,
        })
    }

    pub(super) fn open(&self, directory: &Path) -> fjall::Result<Database> {
        let mut builder = Database::builder(directory);
        if let Some(bytes) = self.cache_size {
            builder = builder.cache_size(bytes);
        }
        if let Some(compression) = self.journal_compression {
            builder = builder.journal_compression(compression);
        }
        if let Some(files) = self.max_cached_files {
            builder = builder.max_cached_files(Some(files));
        }
        if let Some(bytes) = self.max_journaling_size {
            builder = builder.max_journaling_size(bytes);
        }
        if let Some(threads) = self.worker_threads {
            builder = builder.worker_threads(threads);
        }
        builder.open()
    }

    pub(super) fn keyspace(&self) -> KeyspaceCreateOptions {
        self.keyspace.build()
    }

    /// Records the options that the database will keep.
    pub(super) fn keep(&self, directory: &Path) -> Result<(), EngineError> {
        let path = directory.join(KEPT);
        let text = self.keyspace.in_force().to_string();
        let written = create_file(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|reason| EngineError::NotWritable { path, reason })
    }

    /// Checks that the database was created with these options; others would be reported but not be in force.
    pub(super) fn check_kept(&self, directory: &Path) -> Result<(), EngineError> {
        let path = directory.join(KEPT);
        let text =
            fs::read_to_string(&path).map_err(|reason| EngineError::NotReadable { path: path.clone(), reason })?;
        let (kept, wanted) = (serde_json::from_str(&text).unwrap_or(Value::Null), self.keyspace.in_force());
        let Value::Object(wanted) = wanted else { return Ok(()) };
        match wanted.into_iter().find(|(name, wanted)| kept.get(name) != Some(wanted)) {
            None => Ok(()),
            Some((name, wanted)) => Err(EngineError::InvalidOption {
                engine: ENGINE,
                place: "options".to_owned(),
                value: wanted.to_string(),
                reason: format!(
                    "the database was created with {}; create a new one, or restore the option",
                    kept.get(&name).unwrap_or(&Value::Null)
                ),
                name,
            }),
        }
    }

    /// The options in force, for the recording.
    pub(super) fn in_force(&self, cache_bytes: u64) -> Value {
        let mut options = json!({
            "cache_size": ByteSize(cache_bytes),
            "journal_compression": word(&COMPRESSIONS, self.journal_compression.unwrap_or(CompressionType::Lz4)),
            "journal_persist": word(&PERSIST_LEVELS, self.persist),
            "max_cached_files": self.max_cached_files,
            "max_journaling_size": ByteSize(self.max_journaling_size.unwrap_or(512 << 20)),
            "worker_threads": self.worker_threads,
        });
        if let (Value::Object(options), Value::Object(keyspace)) = (&mut options, self.keyspace.in_force()) {
            options.extend(keyspace);
            options.retain(|_, value| !value.is_null());
        }
        options
    }
}

impl KeyspaceConfig {
    fn read(given: &RawOptions, persist: PersistLevel) -> Result<Self, EngineError> {
        let block_size = given.bytes("data_block_size", (1 << 10, 1 << 20))?;
        Ok(Self {
            compression: given.choice("data_block_compression", &COMPRESSIONS)?,
            block_size: block_size.and_then(|bytes| u32::try_from(bytes).ok()),
            expect_point_read_hits: given.flag("expect_point_read_hits")?.unwrap_or(false),
            kv_separation: given.flag("kv_separation")?.unwrap_or(false),
            max_memtable_size: given.bytes("max_memtable_size", (1 << 10, 1 << 40))?,
            manual_journal_persist: persist == PersistLevel::None,
        })
    }

    fn build(self) -> KeyspaceCreateOptions {
        let mut options = KeyspaceCreateOptions::default()
            .expect_point_read_hits(self.expect_point_read_hits)
            .with_kv_separation(self.kv_separation.then(KvSeparationOptions::default))
            .manual_journal_persist(self.manual_journal_persist);
        if let Some(compression) = self.compression {
            options = options.data_block_compression_policy(CompressionPolicy::all(compression));
        }
        if let Some(bytes) = self.block_size {
            options = options.data_block_size_policy(BlockSizePolicy::all(bytes));
        }
        if let Some(bytes) = self.max_memtable_size {
            options = options.max_memtable_size(bytes);
        }
        options
    }

    fn in_force(self) -> Value {
        // fjall's default leaves the two upper levels uncompressed.
        let compression = self.compression.map_or("none,none,lz4", |compression| word(&COMPRESSIONS, compression));
        json!({
            "data_block_compression": compression,
            "data_block_size": ByteSize(u64::from(self.block_size.unwrap_or(4 << 10))),
            "expect_point_read_hits": self.expect_point_read_hits,
            "kv_separation": self.kv_separation,
            "manual_journal_persist": self.manual_journal_persist,
            "max_memtable_size": ByteSize(self.max_memtable_size.unwrap_or(64 << 20)),
        })
    }
}
