//! `rlsm` is an embeddable, ordered key-value store for fast storage: a *ranged* log-structured merge tree.
//!
//! Like other LSM trees it writes to a write-ahead log (WAL) and a memtable, and flushes full memtables as immutable runs
//! to Level 0. Unlike them it does not rewrite Level 1 when runs leave Level 0: it *appends* them to the key ranges of
//! Level 1. A range is rewritten only once it is too large, has too many runs or too many superseded versions. That
//! lowers write amplification, at the price of several runs per range; a maplet per range, a filter that maps a key's
//! hash to the runs that may have it, keeps most look-ups at one block read.
//!
//! # First use
//!
//! ```
//! use rlsm::{Batch, Database, Options, Sync};
//!
//! # fn main() -> rlsm::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("fruit");
//! let database = Options::new().memtable_bytes(32 << 20).sync(Sync::Always).open(&path)?;
//! database.put(b"apple", b"green")?;
//! assert_eq!(database.get(b"apple")?.as_deref(), Some(&b"green"[..]));
//!
//! // A batch is applied as a whole, even across a crash.
//! let mut batch = Batch::new();
//! batch.put(b"pear", b"yellow")?;
//! batch.delete(b"apple")?;
//! database.write(batch)?;
//!
//! // A snapshot keeps seeing the state in which it was taken.
//! let snapshot = database.snapshot();
//! database.delete_range(b"a", b"z")?;
//! assert!(database.get(b"pear")?.is_none());
//! assert!(database.get_at(b"pear", &snapshot)?.is_some());
//!
//! // Iterators go over a range of keys, in order, in either direction.
//! for pair in database.range_at(&b"a"[..]..&b"q"[..], &snapshot)? {
//!     let (key, value) = pair?;
//!     assert_eq!((&*key, &*value), (&b"pear"[..], &b"yellow"[..]));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Where to go
//!
//! - [`Options`] has all settings, [`Sync`] what is durable when.
//! - [`Database`] has reads, writes, [snapshots](Database::snapshot), [iterators](Database::range),
//!   [statistics](Database::stats) and [backups](Database::backup).
//! - [`verify()`] reads a closed database and reports damage, [`repair()`] salvages a damaged one.
//! - [`storage`] is the interface to the file system, with a [simulated one](storage::simulated) for crash tests.
//! - [`plan`] has the compaction decisions as pure functions.
//! - The file format is in `docs/rlsm-format.md`.
//!
//! The design follows N. Y. Song, *Efficient Data Management Schemes for High-performance Storage Devices*, doctoral
//! thesis, Seoul National University, 2018, sections 2.3.3 and 3.3, cited here as Song 2018. It runs on Linux.

#![deny(unsafe_code)]

mod allocator;
mod backup;
mod clock;
mod codec;
mod compaction;
mod counters;
mod database;
mod engine;
mod entry;
mod error;
mod file_name;
mod flush;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod group_commit;
mod hash;
mod iterator;
mod key_prefix;
mod layout;
mod levels;
mod log;
mod maintenance;
mod memory;
mod merge;
mod open;
mod options;
pub mod plan;
mod pressure;
mod publication;
mod read;
mod repair;
mod retention;
mod run;
mod stats;
pub mod storage;
mod verify;
mod write_controller;
mod write_pipeline;

pub use database::Database;
pub use entry::SequenceNumber;
pub(crate) use entry::{EntryKind, RangeTombstone};
pub use error::{Error, Result};
pub use iterator::{Iter, KvPair};
pub use layout::{Layout, RangeInfo, RunInfo};
pub use memory::{Batch, Snapshot};
pub use open::RecoveryReport;
pub use options::{Flush, Maintenance, Options, Read, Sync};
pub use repair::{RepairReport, repair, repair_on};
pub use run::{Compression, Value};
pub use stats::Stats;
pub use verify::{Problem, VerifyReport, verify, verify_on};

/// Compiles the examples of the manual and the README.
#[cfg(doctest)]
#[doc = include_str!("../docs/rlsm.md")]
#[doc = include_str!("../README.md")]
struct Manual;
