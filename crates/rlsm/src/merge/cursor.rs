//! A place in versions that are ordered by key, then by sequence descending.

use crate::entry::Entry;
use crate::error::Result;

/// A place in versions that are ordered by key, then by sequence descending.
///
/// A cursor begins nowhere. Moving past either end leads nowhere, and `next` and `previous` stay there: only a seek,
/// `first` or `last` lead back. After an error, the cursor is to be dropped or led anew by one of these.
pub(crate) trait Cursor {
    /// Goes to the first entry whose key is not below `key`.
    fn seek(&mut self, key: &[u8]) -> Result<()>;

    /// Goes to the last entry whose key is not above `key`.
    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()>;

    /// Goes to the first entry.
    fn first(&mut self) -> Result<()>;

    /// Goes to the last entry.
    fn last(&mut self) -> Result<()>;

    /// Goes to the entry after this one.
    fn next(&mut self) -> Result<()>;

    /// Goes to the entry before this one.
    fn previous(&mut self) -> Result<()>;

    /// What is here; `None` if the cursor is nowhere.
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
