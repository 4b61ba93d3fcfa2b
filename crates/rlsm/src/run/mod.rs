//! Runs and the files they lie in: writing, reading, finding, verifying. What is where on disk: `docs/rlsm-format.md`.
//!
//! A data file holds *runs*, sets of entries that never change. A run is ordered by hash (then key, then newest first)
//! or by key (then newest first), lies in blocks that may be in several pieces of the file, and has a footer of its
//! own, with which it can be opened. Which runs there are, and which are newer, is for others to know.

mod block;
mod building;
mod cache;
mod cursor;
mod entries;
mod fences;
mod file;
mod footer;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod hashes;
mod key_index;
mod keyed;
mod keys;
mod loaded;
mod logged;
mod maplet;
mod open;
mod permutation;
mod ranked;
mod reader;
mod salvage;
mod slots;
mod value;
mod verify;
mod view;
mod writer;

#[cfg(test)]
mod tests;

pub use block::Compression;
pub(crate) use building::ENTRIES_FEW;
pub(crate) use cache::BlockCache;
pub(crate) use cursor::RunCursor;
pub(crate) use file::{DataFile, Extent, HEADER_BYTES, HEADER_BYTES_MAX};
pub(crate) use footer::find as find_footers;
pub(crate) use hashes::Hashes;
pub(crate) use logged::index_log;
pub(crate) use maplet::Maplet;
pub(crate) use open::{Found, MISS_COST, Run};
pub use value::Value;
pub(crate) use writer::{FileWriter, WriteOptions};

/// Who reads a whole run reads so much of it at once, in bytes.
pub(crate) const READ_AHEAD_BYTES: usize = 1 << 20;

/// How a run's entries are ordered in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// By hash, then key, then newest first.
    Hash,
    /// By key, then newest first.
    Key,
    /// By when they were written: a log with an index behind it.
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
