//! Cursors over runs, in key order. Versions of a key come newest first.

use std::sync::Arc;

use super::Order;
use super::cache::BlockCache;
use super::handle::Run;
use super::hash_ordered::HashOrderedCursor;
use super::key_ordered::KeyOrderedCursor;
use crate::entry::Entry;
use crate::error::Result;
use crate::merge::Cursor;

/// A cursor over a run of any order.
pub(crate) enum RunCursor {
    KeyOrdered(KeyOrderedCursor),
    HashOrdered(HashOrderedCursor),
}

/// Delegates a call to the cursor of the run's order.
macro_rules! delegate {
    ($self:ident, $cursor:ident => $call:expr) => {
        match $self {
            RunCursor::KeyOrdered($cursor) => $call,
            RunCursor::HashOrdered($cursor) => $call,
        }
    };
}

impl RunCursor {
    pub(super) fn new(run: Arc<Run>, cache: Arc<BlockCache>) -> Result<Self> {
        Ok(match run.order {
            Order::Key => Self::KeyOrdered(KeyOrderedCursor::new(run, cache)),
            Order::Hash | Order::Log => Self::HashOrdered(HashOrderedCursor::new(run, cache)?),
        })
    }
}

impl Cursor for RunCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        delegate!(self, cursor => cursor.entry())
    }

    fn first(&mut self) -> Result<()> {
        delegate!(self, cursor => cursor.first())
    }

    fn last(&mut self) -> Result<()> {
        delegate!(self, cursor => cursor.last())
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        delegate!(self, cursor => cursor.seek(key))
    }

    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        delegate!(self, cursor => cursor.seek_for_previous(key))
    }

    fn next(&mut self) -> Result<()> {
        delegate!(self, cursor => cursor.next())
    }

    fn previous(&mut self) -> Result<()> {
        delegate!(self, cursor => cursor.previous())
    }
}
