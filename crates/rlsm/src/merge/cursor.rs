//! The cursor trait.

use crate::entry::Entry;
use crate::error::Result;

/// A position among entries that are ordered by key, then by descending sequence number.
///
/// A new cursor has no entry. Moving past either end leaves it without one, and `next` and `previous` then do nothing:
/// only a seek, `first` or `last` position it again. After an error, position it again by one of these, or drop it.
pub(crate) trait Cursor {
    /// Moves to the first entry whose key is not below `key`.
    fn seek(&mut self, key: &[u8]) -> Result<()>;

    /// Moves to the last entry whose key is not above `key`.
    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()>;

    /// Moves to the first entry.
    fn first(&mut self) -> Result<()>;

    /// Moves to the last entry.
    fn last(&mut self) -> Result<()>;

    /// Moves to the next entry.
    fn next(&mut self) -> Result<()>;

    /// Moves to the previous entry.
    fn previous(&mut self) -> Result<()>;

    /// The current entry.
    fn entry(&self) -> Option<Entry<'_>>;
}

impl<C: Cursor + ?Sized> Cursor for Box<C> {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        (**self).seek(key)
    }

    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        (**self).seek_for_previous(key)
    }

    fn first(&mut self) -> Result<()> {
        (**self).first()
    }

    fn last(&mut self) -> Result<()> {
        (**self).last()
    }

    fn next(&mut self) -> Result<()> {
        (**self).next()
    }

    fn previous(&mut self) -> Result<()> {
        (**self).previous()
    }

    fn entry(&self) -> Option<Entry<'_>> {
        (**self).entry()
    }
}
