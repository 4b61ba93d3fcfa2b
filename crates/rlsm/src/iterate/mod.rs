//! Keys in order.

mod ranges;

use std::sync::Arc;

use self::ranges::RangesCursor;
use crate::core::{Core, View};
use crate::memory::Snapshot;
use crate::merge::{Bounds, Cursor, Merged, RangeDeletes};
use crate::{Result, Sequence};

/// The keys and values of a database as they were when this was made, in order of their keys.
///
/// As an iterator it goes up. The moves below go either way, and may be mixed with it.
///
/// It may outlive its [`Database`](crate::Database). The folder stays locked meanwhile, since whoever opens it next gives
/// space back that the iterator still reads.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// let database = rlsm::Database::open(folder.path())?;
/// database.put(b"apple", b"green")?;
/// let mut fruit = database.range(..)?;
/// drop(database);
/// assert!(matches!(rlsm::Database::open(folder.path()), Err(rlsm::Error::Locked { .. })));
/// assert!(fruit.next().is_some());
/// drop(fruit);
/// rlsm::Database::open(folder.path())?;
/// # Ok(())
/// # }
/// ```
pub struct Iter {
    merged: Merged<Box<dyn Cursor + Send>>,
    /// Whether the iterator has begun: what is here was returned already.
    is_begun: bool,
    has_failed: bool,
    /// Keeps what the iterator sees from being dropped.
    _snapshot: Snapshot,
    _view: Arc<View>,
    _lock: Lock,
}

/// Keeps other processes, and other openings in this one, out of the folder.
pub(crate) type Lock = Arc<dyn Send + Sync>;

impl Iter {
    pub(crate) fn new(core: &Core, snapshot: Snapshot, bounds: Bounds, lock: Lock) -> Result<Self> {
        let view = core.view_to_keep();
        let sequence = snapshot.sequence();
        let merged = merged(core, &view, sequence, bounds)?;
        Ok(Self { merged, is_begun: false, has_failed: false, _snapshot: snapshot, _view: view, _lock: lock })
    }

    /// Goes to the first key that is not below `key`.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.is_begun = true;
        self.merged.seek(key)
    }

    /// Goes to the last key that is not above `key`.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        self.is_begun = true;
        self.merged.seek_for_previous(key)
    }

    /// Goes to the first key.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.is_begun = true;
        self.merged.first()
    }

    /// Goes to the last key.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.is_begun = true;
        self.merged.last()
    }

    /// Goes to the next key. Past the last one there is none.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn forward(&mut self) -> Result<()> {
        self.merged.next()
    }

    /// Goes to the previous key. Before the first one there is none.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn backward(&mut self) -> Result<()> {
        self.merged.previous()
    }

    /// The key and value here; `None` before the first move and past the ends.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.merged.entry().map(|entry| (entry.key, entry.value))
    }
}

/// A key and its value.
pub type Pair = (Box<[u8]>, Box<[u8]>);

impl Iterator for Iter {
    type Item = Result<Pair>;

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

fn merged(core: &Core, view: &View, snapshot: Sequence, bounds: Bounds) -> Result<Merged<Box<dyn Cursor + Send>>> {
    let mut sources: Vec<Box<dyn Cursor + Send>> = Vec::new();
    let mut deletes = RangeDeletes::default();
    for memtable in [&view.memtable].into_iter().chain(view.frozen.iter().map(|frozen| &frozen.memtable)) {
        if !memtable.is_empty() {
            sources.push(Box::new(memtable.cursor(snapshot)));
            deletes.extend(memtable.range_deletes().iter());
        }
    }
    for run in view.version.level0.list() {
        sources.push(Box::new(run.cursor(&core.cache)?));
    }
    sources.push(Box::new(RangesCursor::new(Arc::clone(&view.version), Arc::clone(&core.cache))));
    if view.version.has_range_deletes {
        deletes.extend(view.version.level0.range_deletes());
        for range in view.version.ranges.iter() {
            deletes.extend(range.runs.range_deletes());
        }
    }
    Ok(Merged::new(sources, Arc::new(deletes), bounds, snapshot))
}
