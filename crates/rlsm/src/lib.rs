//! `rlsm`: a log-structured key-value engine that appends by key range instead of rewriting.
//!
//! Writes gather in a hash table in memory, are flushed in hash order to Level 0, and from there are *appended* to the
//! key ranges of Level 1: what a range holds already is not read and not written again. Only when a range grows too
//! large, too old or too scattered is it rebalanced.
//!
//! After N. Y. Song's doctoral thesis (Seoul National University, 2018), sections 2.3.3 and 3.3.

#![deny(unsafe_code)]

mod allocator;
mod background;
mod backup;
mod clock;
mod codec;
mod compact;
mod core;
mod database;
mod entry;
mod error;
mod flush;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod group;
mod hash;
mod iterate;
mod keep;
mod layout;
mod levels;
mod log;
mod memory;
mod merge;
mod names;
mod open;
mod options;
mod pace;
pub mod plan;
mod prefix;
mod pressure;
mod publication;
mod read;
mod repair;
mod run;
mod stats;
pub mod storage;
mod verify;
mod write;

pub use database::Database;
pub use entry::{Kind, RangeDelete, Sequence};
pub use error::{Error, Result};
pub use iterate::{Iter, Pair};
pub use layout::{Layout, RangeInfo, RunInfo};
pub use memory::{Batch, Snapshot};
pub use open::Recovery;
pub use options::{Flush, Maintenance, Options, Sync};
pub use repair::{Repair, repair, repair_on};
pub use run::{Compression, Value};
pub use stats::Stats;
pub use verify::{Problem, Verification, verify, verify_on};

/// The examples of the manual.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rlsm.md")]
struct Manual;
