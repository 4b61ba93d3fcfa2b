//! Iteration in key order.

mod level1_cursor;

use std::sync::Arc;

use self::level1_cursor::Level1Cursor;
use crate::engine::{Engine, SuperVersion};
use crate::memory::Snapshot;
use crate::merge::{Cursor, KeyBounds, MergingCursor, RangeTombstones};
use crate::{Result, SequenceNumber};

/// An iterator over keys and values, in key order, as of the moment it was created.
///
/// As a Rust [`Iterator`] it moves forward. The methods below move either way and can be mixed with it.
///
/// It may outlive its [`Database`](crate::Database). The directory stays locked meanwhile: the next opening would
/// reclaim space that the iterator still reads.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let database = rlsm::Database::open(directory.path())?;
/// database.put(b"apple", b"green")?;
/// let mut fruit = database.range(..)?;
/// drop(database);
/// assert!(matches!(rlsm::Database::open(directory.path()), Err(rlsm::Error::Locked { .. })));
/// assert!(fruit.next().is_some());
/// drop(fruit);
/// rlsm::Database::open(directory.path())?;
/// # Ok(())
/// # }
/// ```
pub struct Iter {
    merged: MergingCursor<Box<dyn Cursor + Send>>,
    /// Whether the iterator has moved: the current entry was returned already.
    is_begun: bool,
    has_failed: bool,
    /// Retains the versions that the iterator sees.
    _snapshot: Snapshot,
    _view: Arc<SuperVersion>,
    _lock: DirectoryLock,
}

/// The lock of the directory: no other process, and no other opening in this one, has the database.
pub(crate) type DirectoryLock = Arc<dyn Send + Sync>;

impl Iter {
    pub(crate) fn new(engine: &Engine, snapshot: Snapshot, bounds: KeyBounds, lock: DirectoryLock) -> Result<Self> {
        let superversion = engine.owned_superversion();
        let sequence = snapshot.sequence();
        let merged = merged(engine, &superversion, sequence, bounds)?;
        Ok(Self { merged, is_begun: false, has_failed: false, _snapshot: snapshot, _view: superversion, _lock: lock })
    }

    /// Moves to the first key that is not below `key`.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.is_begun = true;
        self.merged.seek(key)
    }

    /// Moves to the last key that is not above `key`.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        self.is_begun = true;
        self.merged.seek_for_previous(key)
    }

    /// Moves to the first key.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.is_begun = true;
        self.merged.first()
    }

    /// Moves to the last key.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.is_begun = true;
        self.merged.last()
    }

    /// Moves to the next key. After the last key there is no entry.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn forward(&mut self) -> Result<()> {
        self.merged.next()
    }

    /// Moves to the previous key. Before the first key there is no entry.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn backward(&mut self) -> Result<()> {
        self.merged.previous()
    }

    /// The current key and value; `None` before the first move and past either end.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.merged.entry().map(|entry| (entry.key, entry.value))
    }
}

/// A key and its value.
pub type KvPair = (Box<[u8]>, Box<[u8]>);

impl Iterator for Iter {
    type Item = Result<KvPair>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let moved = if self.is_begun { self.merged.next() } else { self.merged.first() };
        self.is_begun = true;
        if let Err(error) = moved {
            self.has_failed = true;
            return Some(Err(error));
        }
        self.entry().map(|(key, value)| Ok((key.into(), value.into())))
    }
}

fn merged(
    engine: &Engine,
    superversion: &SuperVersion,
    snapshot: SequenceNumber,
    bounds: KeyBounds,
) -> Result<MergingCursor<Box<dyn Cursor + Send>>> {
    let mut sources: Vec<Box<dyn Cursor + Send>> = Vec::new();
    let mut deletes = RangeTombstones::default();
    for memtable in [&superversion.memtable]
        .into_iter()
        .chain(superversion.immutable_memtables.iter().map(|immutable| &immutable.memtable))
    {
        if !memtable.is_empty() {
            sources.push(Box::new(memtable.cursor(snapshot)));
            deletes.extend(memtable.range_tombstones().iter());
        }
    }
    for run in superversion.version.level0.list() {
        sources.push(Box::new(run.cursor(&engine.cache)?));
    }
    sources.push(Box::new(Level1Cursor::new(Arc::clone(&superversion.version), Arc::clone(&engine.cache))));
    if superversion.version.has_range_tombstones {
        deletes.extend(superversion.version.level0.range_tombstones());
        for range in superversion.version.ranges.iter() {
            deletes.extend(range.runs.range_tombstones());
        }
    }
    Ok(MergingCursor::new(sources, Arc::new(deletes), bounds, snapshot))
}
