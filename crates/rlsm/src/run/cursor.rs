//! A cursor over a run, in key order; of versions of one key, the newest comes first.

use std::sync::Arc;

use super::Order;
use super::cache::BlockCache;
use super::keyed::KeyedCursor;
use super::open::Run;
use super::ranked::RankedCursor;
use crate::entry::Entry;
use crate::error::Result;
use crate::merge::Cursor;

/// Stands on an entry of a run, or on none: at first, after the last, before the first, and after an error.
pub(crate) enum RunCursor {
    Keyed(KeyedCursor),
    Ranked(RankedCursor),
}

/// Hands a call on to the cursor that it is.
macro_rules! hand_on {
    ($self:ident, $cursor:ident => $call:expr) => {
        match $self {
            RunCursor::Keyed($cursor) => $call,
            RunCursor::Ranked($cursor) => $call,
        }
    };
}

impl RunCursor {
    pub(super) fn new(run: Arc<Run>, cache: Arc<BlockCache>) -> Result<Self> {
        Ok(match run.order {
            Order::Key => Self::Keyed(KeyedCursor::new(run, cache)),
            Order::Hash | Order::Log => Self::Ranked(RankedCursor::new(run, cache)?),
        })
    }
}

impl Cursor for RunCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        hand_on!(self, cursor => cursor.entry())
    }

    fn first(&mut self) -> Result<()> {
        hand_on!(self, cursor => cursor.first())
    }

    fn last(&mut self) -> Result<()> {
        hand_on!(self, cursor => cursor.last())
    }

    /// To the first entry with a key of at least `key`.
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        hand_on!(self, cursor => cursor.seek(key))
    }

    /// To the last entry with a key of at most `key`.
    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        hand_on!(self, cursor => cursor.seek_for_previous(key))
    }

    /// To the entry after this one.
    fn next(&mut self) -> Result<()> {
        hand_on!(self, cursor => cursor.next())
    }

    /// To the entry before this one.
    fn previous(&mut self) -> Result<()> {
        hand_on!(self, cursor => cursor.previous())
    }
}
