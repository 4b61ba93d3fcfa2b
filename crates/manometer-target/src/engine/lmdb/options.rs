//! LMDB's options, and the durability of a put with them.

use std::path::Path;

use heed::{Env, EnvFlags};
use manometer_measure::units::ByteSize;
use serde_json::{Value, json};

use super::ENGINE;
use crate::engine::options::{RawOptions, word};
use crate::engine::{EngineError, EngineOption, EngineOptions};

/// Its options, in the order of the manual.
pub(super) const OPTIONS: &[EngineOption] = &[
    EngineOption {
        name: "map_size",
        values: "1 MiB and up",
        default: "as large as the file system, 8 TiB at most; the file grows as it is filled",
    },
    EngineOption { name: "sync", values: "`full`, `no-meta-sync`, `no-sync`", default: "`full`" },
    EngineOption { name: "max_readers", values: "threads that may read at once", default: "1024 (LMDB's own is 126)" },
    EngineOption { name: "write_map", values: "`true`, `false`", default: "`false`" },
    EngineOption { name: "no_read_ahead", values: "`true`, `false`", default: "`false`" },
    EngineOption { name: "no_mem_init", values: "`true`, `false`", default: "`false`" },
];

/// The largest default map size, in bytes: some file systems support no larger file.
const MAP_BYTES_MAX: u64 = 8 << 40;

/// LMDB's default of 126 readers would refuse the threads of a large run.
const READERS: u64 = 1024;

/// The durability with LMDB's defaults.
pub(super) const FULL: &str = "one transaction per put, data and meta page synced: a put survives the host";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncMode {
    All,
    Data,
    Nothing,
}

const SYNC_MODES: [(&str, SyncMode); 3] =
    [("full", SyncMode::All), ("no-meta-sync", SyncMode::Data), ("no-sync", SyncMode::Nothing)];

impl SyncMode {
    fn flags(self) -> EnvFlags {
        match self {
            Self::All => EnvFlags::empty(),
            Self::Data => EnvFlags::NO_META_SYNC,
            Self::Nothing => EnvFlags::NO_SYNC,
        }
    }

    pub(super) fn durability(self) -> &'static str {
        match self {
            Self::All => FULL,
            Self::Data => {
                "one transaction per put, data synced, the meta page not: a put survives the process; a crash of \
                 the host may undo the last ones"
            }
            Self::Nothing => {
                "one transaction per put, nothing synced: a put survives the process; a crash of the host may \
                 ruin the database"
            }
        }
    }
}

/// The options in force.
#[derive(Debug)]
pub(super) struct Config {
    /// The size of the file system if unset.
    map_size: Option<u64>,
    pub(super) max_readers: u32,
    pub(super) sync: SyncMode,
    write_map: bool,
    no_read_ahead: bool,
    no_mem_init: bool,
}

impl Config {
    pub(super) fn read(options: &EngineOptions) -> Result<Self, EngineError> {
        let given = RawOptions::read(ENGINE, OPTIONS, options)?;
        let readers = given.number("max_readers", (1, 1 << 20))?.unwrap_or(READERS);
        Ok(Self {
            map_size: given.bytes("map_size", (1 << 20, 64 << 40))?,
            max_readers: u32::try_from(readers).map_err(|error| given.refuse("max_readers", error))?,
            sync: given.choice("sync", &SYNC_MODES)?.unwrap_or(SyncMode::All),
            write_map: given.flag("write_map")?.unwrap_or(false),
            no_read_ahead: given.flag("no_read_ahead")?.unwrap_or(false),
            no_mem_init: given.flag("no_mem_init")?.unwrap_or(false),
        })
    }

    pub(super) fn flags(&self) -> EnvFlags {
        let optional = [
            (self.write_map, EnvFlags::WRITE_MAP),
            (self.no_read_ahead, EnvFlags::NO_READ_AHEAD),
            (self.no_mem_init, EnvFlags::NO_MEM_INIT),
        ];
        let wanted = optional.into_iter().filter(|(wanted, _)| *wanted).map(|(_, flag)| flag);
        wanted.fold(self.sync.flags(), |flags, flag| flags | flag)
    }

    /// The size of the map in bytes: as set, or so large that the device fills up before the map.
    pub(super) fn map_bytes(&self, directory: &Path) -> Result<usize, EngineError> {
        let bytes = match self.map_size {
            Some(bytes) => bytes,
            None => file_system_bytes(directory)?.min(MAP_BYTES_MAX),
        };
        let page = rustix::param::page_size() as u64;
        let whole = bytes.div_ceil(page).saturating_mul(page);
        usize::try_from(whole)
            .map_err(|_| EngineError::Unsupported { engine: ENGINE, what: "map so much on this host" })
    }

    /// The options in force, for the recording.
    pub(super) fn in_force(&self, env: &Env) -> Value {
        json!({
            "map_size": ByteSize(env.info().map_size as u64),
            "max_readers": env.max_readers(),
            "sync": word(&SYNC_MODES, self.sync),
            "write_map": self.write_map,
            "no_read_ahead": self.no_read_ahead,
            "no_mem_init": self.no_mem_init,
        })
    }
}

fn file_system_bytes(directory: &Path) -> Result<u64, EngineError> {
    let status = rustix::fs::statvfs(directory);
    let status =
        status.map_err(|errno| EngineError::NotReadable { path: directory.to_owned(), reason: errno.into() })?;
    Ok(status.f_blocks.saturating_mul(status.f_frsize))
}
