//! Merging sorted sources.

mod bounds;
mod cursor;
mod merging;
#[cfg(test)]
pub(crate) mod model;
mod range_tombstones;

pub(crate) use bounds::KeyBounds;
pub(crate) use cursor::Cursor;
pub(crate) use merging::MergingCursor;
pub(crate) use range_tombstones::RangeTombstones;
