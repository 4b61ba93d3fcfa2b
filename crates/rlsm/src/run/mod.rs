//! Runs and their files: writing, reading, finding, verifying. The format is in `docs/rlsm-format.md`.
//!
//! A data file holds *runs*: immutable sets of entries. A run is ordered by hash (then key, then newest first) or by
//! key (then newest first). It consists of blocks, in one or more pieces of the file, and a footer that is sufficient
//! to open it. Which runs exist, and which are newer, is the business of `levels`.

mod access;
mod block;
mod builder;
mod cache;
mod cursor;
mod entries;
mod fences;
mod file;
mod footer;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod handle;
mod hash_ordered;
mod hashes;
mod key_index;
mod key_ordered;
mod keys;
mod loaded_run;
mod log_index;
mod log_run;
mod lookup;
mod maplet;
mod output;
mod permutation;
mod reader;
mod salvage;
mod slots;
mod sorted_view;
mod value;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use block::Compression;
pub(crate) use builder::BLOCK_ENTRIES_MIN;
pub(crate) use cache::BlockCache;
pub(crate) use cursor::RunCursor;
pub(crate) use file::{DataFile, Extent, HEADER_BYTES, HEADER_BYTES_MAX};
pub(crate) use footer::find as find_footers;
pub(crate) use handle::Run;
pub(crate) use hashes::HashColumn;
pub(crate) use log_run::index_log;
pub(crate) use lookup::{BLOCK_READ_COST, LookupResult};
pub(crate) use maplet::Maplet;
pub use value::Value;
pub(crate) use writer::{DataFileOptions, DataFileWriter};

/// The size of reads when a whole run is read, in bytes.
pub(crate) const READ_AHEAD_BYTES: usize = 1 << 20;

/// The order of a run's entries in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// By hash, then key, then newest first.
    Hash,
    /// By key, then newest first.
    Key,
    /// In the order of writes: a WAL with an index.
    Log,
}

impl Order {
    fn tag(self) -> u8 {
        match self {
            Self::Hash => 0,
            Self::Key => 1,
            Self::Log => 2,
        }
    }

    fn of_tag(tag: u8) -> Option<Self> {
        [Self::Hash, Self::Key, Self::Log].into_iter().find(|order| order.tag() == tag)
    }
}
