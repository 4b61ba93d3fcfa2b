//! Reading many sorted sources as one.

mod bounds;
mod cursor;
mod merged;
#[cfg(test)]
pub(crate) mod model;
mod range_deletes;

pub(crate) use bounds::Bounds;
pub(crate) use cursor::Cursor;
pub(crate) use merged::Merged;
pub(crate) use range_deletes::RangeDeletes;
