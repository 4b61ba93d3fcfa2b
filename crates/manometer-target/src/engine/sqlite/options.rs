//! SQLite's options, and the durability of a put with them.

use std::path::Path;
use std::time::Duration;

use manometer_measure::units::ByteSize;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Error as SqliteError, OpenFlags};
use serde_json::{Value, json};

use super::ENGINE;
use crate::engine::options::{RawOptions, word};
use crate::engine::{EngineError, EngineOption, EngineOptions};

/// Its options, in the order of the manual.
pub(super) const OPTIONS: &[EngineOption] = &[
    EngineOption {
        name: "journal_mode",
        values: "`wal`, `delete`, `truncate`, `persist`, `memory`, `off`",
        default: "`wal`",
    },
    EngineOption { name: "synchronous", values: "`off`, `normal`, `full`, `extra`", default: "`full`" },
    EngineOption { name: "cache_size", values: "bytes for each connection, 1 KiB and up", default: "2000 KiB" },
    EngineOption { name: "page_size", values: "power of two, 512 B to 64 KiB", default: "4 KiB" },
    EngineOption { name: "mmap_size", values: "bytes", default: "0" },
    EngineOption {
        name: "busy_timeout",
        values: "milliseconds that a writer waits for another",
        default: "60000 (SQLite's own is 0)",
    },
    EngineOption { name: "wal_autocheckpoint", values: "pages", default: "1000" },
];

/// SQLite's default is not to wait: two concurrent writers would end the run.
const BUSY_TIMEOUT_MS: u64 = 60_000;

/// The durability in WAL mode with SQLite's defaults.
pub(super) const WAL_FULL: &str = "one transaction per put, write-ahead log synced: a put survives the host";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    Wal,
    /// A rollback journal in a file, whether the file is deleted, truncated or kept after a commit.
    Rollback(&'static str),
    Memory,
    Off,
}

const JOURNALS: [(&str, Journal); 6] = [
    ("wal", Journal::Wal),
    ("delete", Journal::Rollback("delete")),
    ("truncate", Journal::Rollback("truncate")),
    ("persist", Journal::Rollback("persist")),
    ("memory", Journal::Memory),
    ("off", Journal::Off),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Synchronous {
    Off,
    Normal,
    Full,
    Extra,
}

const SYNCHRONOUS: [(&str, Synchronous); 4] = [
    ("off", Synchronous::Off),
    ("normal", Synchronous::Normal),
    ("full", Synchronous::Full),
    ("extra", Synchronous::Extra),
];

/// The options as given; unset ones have SQLite's defaults.
#[derive(Debug)]
pub(super) struct Config {
    busy_timeout: Duration,
    cache_size: Option<u64>,
    journal_mode: Journal,
    mmap_size: Option<u64>,
    page_size: Option<u64>,
    synchronous: Synchronous,
    wal_autocheckpoint: Option<u64>,
}

impl Config {
    pub(super) fn read(options: &EngineOptions) -> Result<Self, EngineError> {
        let given = RawOptions::read(ENGINE, OPTIONS, options)?;
        let page_size = given.bytes("page_size", (512, 65_536))?;
        if page_size.is_some_and(|bytes| !bytes.is_power_of_two()) {
            return Err(given.refuse("page_size", "expected a power of two"));
        }
        let busy_timeout_ms = given.number("busy_timeout", (0, 3_600_000))?.unwrap_or(BUSY_TIMEOUT_MS);
        Ok(Self {
            busy_timeout: Duration::from_millis(busy_timeout_ms),
            cache_size: given.bytes("cache_size", (1 << 10, 1 << 40))?,
            journal_mode: given.choice("journal_mode", &JOURNALS)?.unwrap_or(Journal::Wal),
            mmap_size: given.bytes("mmap_size", (0, 1 << 50))?,
            page_size,
            synchronous: given.choice("synchronous", &SYNCHRONOUS)?.unwrap_or(Synchronous::Full),
            wal_autocheckpoint: given.number("wal_autocheckpoint", (0, 1 << 30))?,
        })
    }

    pub(super) fn durability(&self) -> &'static str {
        use Synchronous::{Extra, Full, Normal, Off};
        match (self.journal_mode, self.synchronous) {
            (_, Off) => {
                "one transaction per put, never synced: a put survives the process; a crash of the host may \
                         ruin the database"
            }
            (Journal::Wal, Normal) => {
                "one transaction per put, write-ahead log synced at checkpoints: a put \
                                       survives the process; a crash of the host undoes the last ones"
            }
            (Journal::Wal, Full | Extra) => WAL_FULL,
            (Journal::Rollback(_), Normal) => {
                "one transaction per put, database synced, rollback journal synced \
                                               once: a put survives the host, which on some file systems may ruin \
                                               the database"
            }
            (Journal::Rollback(_), Full) => {
                "one transaction per put, database and rollback journal synced: a put \
                                             survives the host once the journal's removal has reached the device"
            }
            (Journal::Rollback(_), Extra) => {
                "one transaction per put, database, rollback journal and its directory \
                                              synced: a put survives the host"
            }
            (Journal::Memory | Journal::Off, _) => {
                "one transaction per put, database synced, no journal on the \
                                                    device: a crash amid a put may ruin the database"
            }
        }
    }

    /// Opens a connection; `journal_mode` and `page_size` belong to the file and are set when it is created.
    pub(super) fn connect(&self, file: &Path) -> Result<Connection, SqliteError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(self.busy_timeout)?;
        connection.pragma_update(None, "synchronous", word(&SYNCHRONOUS, self.synchronous))?;
        let wished = [
            // A positive `cache_size` counts pages, a negative one KiB.
            ("cache_size", self.cache_size.map(|bytes| -signed(bytes >> 10))),
            ("mmap_size", self.mmap_size.map(signed)),
            ("wal_autocheckpoint", self.wal_autocheckpoint.map(signed)),
        ];
        for (name, value) in wished {
            if let Some(value) = value {
                set(&connection, name, value)?;
            }
        }
        Ok(connection)
    }

    /// Opens the database; creates it if it does not exist.
    pub(super) fn make(&self, file: &Path) -> Result<Connection, SqliteError> {
        let connection = self.connect(file)?;
        if let Some(bytes) = self.page_size {
            set(&connection, "page_size", signed(bytes))?;
        }
        set(&connection, "journal_mode", word(&JOURNALS, self.journal_mode))?;
        Ok(connection)
    }

    /// The options in force, for the recording.
    pub(super) fn in_force(&self, connection: &Connection) -> Value {
        let page_bytes: Option<i64> = pragma(connection, "page_size");
        let cache: Option<i64> = pragma(connection, "cache_size");
        let cache_bytes = cache.zip(page_bytes).map(|(cache, page)| match cache {
            kibibytes @ ..0 => kibibytes.unsigned_abs() << 10,
            pages => pages.unsigned_abs() * page.unsigned_abs(),
        });
        json!({
            "busy_timeout": pragma::<i64>(connection, "busy_timeout"),
            "cache_size": cache_bytes.map(ByteSize),
            "journal_mode": pragma::<String>(connection, "journal_mode"),
            "mmap_size": pragma::<i64>(connection, "mmap_size").map(|bytes| ByteSize(bytes.unsigned_abs())),
            "page_size": page_bytes.map(|bytes| ByteSize(bytes.unsigned_abs())),
            "synchronous": word(&SYNCHRONOUS, self.synchronous),
            "wal_autocheckpoint": pragma::<i64>(connection, "wal_autocheckpoint"),
        })
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Sets a pragma, whether or not it returns its new value.
fn set(connection: &Connection, name: &str, value: impl rusqlite::ToSql) -> Result<(), SqliteError> {
    connection.pragma(None, name, value, |_| Ok(()))
}

/// The value of a pragma, if it has one.
pub(super) fn pragma<T: FromSql>(connection: &Connection, name: &str) -> Option<T> {
    connection.pragma_query_value(None, name, |row| row.get(0)).ok()
}
