//! Many cursors as one: of each key the newest version that a snapshot sees, in either direction.

use std::cmp::Ordering;
use std::mem;
use std::sync::Arc;

use super::bounds::Bounds;
use super::cursor::Cursor;
use super::range_deletes::RangeDeletes;
use crate::entry::{Entry, Kind, Sequence};
use crate::error::Result;

/// The live keys of all sources as `snapshot` sees them, one version each, within bounds.
///
/// It moves as a [`Cursor`] does: past an end it is nowhere until it is sent somewhere again.
pub(crate) struct Merged<C> {
    sources: Vec<C>,
    /// The sources that are somewhere, as a heap: the first is the one to be read next in the direction of movement.
    heap: Vec<usize>,
    direction: Direction,
    snapshot: Sequence,
    deletes: Arc<RangeDeletes>,
    bounds: Bounds,
    place: Place,
    /// The key here, if moving down; the key that was here and is skipped, while moving up.
    key: Vec<u8>,
    /// The value here, if moving down: its source has moved on.
    value: Vec<u8>,
    sequence: Sequence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    /// At the entry of the source that is first in the heap; all sources are at it or after it.
    AtSource,
    /// At the key, value and sequence held here; all sources are before that key.
    Held,
}

impl<C: Cursor> Merged<C> {
    /// Merges `sources`, whose deleted ranges are all in `deletes`. Two sources may hold the same version: while a
    /// compaction in several passes is under way, Level 0 holds what ranges have already.
    pub fn new(sources: Vec<C>, deletes: Arc<RangeDeletes>, bounds: Bounds, snapshot: Sequence) -> Self {
        Self {
            heap: Vec::with_capacity(sources.len()),
            sources,
            direction: Direction::Up,
            snapshot,
            deletes,
            bounds,
            place: Place::Nowhere,
            key: Vec::new(),
            value: Vec::new(),
            sequence: 0,
        }
    }

    /// Goes up from where the sources are to the next live key, past all versions of the key held if `skips`.
    fn find_up(&mut self, mut skips: bool) -> Result<()> {
        while let Some(&source) = self.heap.first() {
            let Some(entry) = self.sources[source].entry() else { break };
            if self.bounds.are_below(entry.key) {
                break;
            }
            let is_done_with = skips && entry.key == self.key;
            if !is_done_with && entry.sequence <= self.snapshot {
                if self.is_live(entry) {
                    self.place = Place::AtSource;
                    return Ok(());
                }
                self.key.clear();
                self.key.extend_from_slice(entry.key);
                skips = true;
            }
            self.advance()?;
        }
        Ok(())
    }

    /// Goes down from where the sources are to the next live key. The versions of a key come oldest first, so the last
    /// one that the snapshot sees is known only when all are behind.
    fn find_down(&mut self) -> Result<()> {
        while let Some(&source) = self.heap.first() {
            let Some(entry) = self.sources[source].entry() else { break };
            if self.bounds.are_above(entry.key) {
                break;
            }
            self.key.clear();
            self.key.extend_from_slice(entry.key);
            if self.pass_key_down()? {
                self.place = Place::Held;
                break;
            }
        }
        Ok(())
    }

    /// Goes down past all versions of the key held; says whether it is live, and then holds its value.
    fn pass_key_down(&mut self) -> Result<bool> {
        let mut lives = false;
        while let Some(&source) = self.heap.first() {
            let Some(entry) = self.sources[source].entry() else { break };
            if entry.key != self.key {
                break;
            }
            if entry.sequence <= self.snapshot {
                lives = self.is_live(entry);
                if lives {
                    self.value.clear();
                    self.value.extend_from_slice(entry.value);
                    self.sequence = entry.sequence;
                }
            }
            self.advance()?;
        }
        Ok(lives)
    }

    /// Whether a version, the newest that the snapshot sees, gives its key a value.
    fn is_live(&self, entry: Entry<'_>) -> bool {
        entry.kind == Kind::Put
            && self.deletes.newest_over(entry.key, self.snapshot).is_none_or(|deleted| deleted <= entry.sequence)
    }

    fn hold_key(&mut self) {
        if let Some(entry) = self.heap.first().and_then(|&source| self.sources[source].entry()) {
            self.key.clear();
            self.key.extend_from_slice(entry.key);
        }
    }

    /// Leads all sources, which are before the key held, to or after it.
    fn turn_up(&mut self) -> Result<()> {
        for source in &mut self.sources {
            if source.entry().is_none() {
                source.first()?;
            }
            while source.entry().is_some_and(|entry| *entry.key < *self.key) {
                source.next()?;
            }
        }
        self.order(Direction::Up);
        Ok(())
    }

    /// Leads all sources, which are at the key held or after it, before it.
    fn turn_down(&mut self) -> Result<()> {
        for source in &mut self.sources {
            if source.entry().is_none() {
                source.last()?;
            }
            while source.entry().is_some_and(|entry| *entry.key >= *self.key) {
                source.previous()?;
            }
        }
        self.order(Direction::Down);
        Ok(())
    }

    /// Moves the first source of the heap on, and finds the one that is first now.
    fn advance(&mut self) -> Result<()> {
        let source = &mut self.sources[self.heap[0]];
        match self.direction {
            Direction::Up => source.next()?,
            Direction::Down => source.previous()?,
        }
        if source.entry().is_none() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    /// Makes the heap anew, for a direction.
    fn order(&mut self, direction: Direction) {
        self.direction = direction;
        self.heap.clear();
        self.heap.extend((0..self.sources.len()).filter(|&source| self.sources[source].entry().is_some()));
        for parent in (0..self.heap.len() / 2).rev() {
            self.sift_down(parent);
        }
    }

    fn sift_down(&mut self, mut parent: usize) {
        loop {
            let mut child = 2 * parent + 1;
            if child >= self.heap.len() {
                return;
            }
            if child + 1 < self.heap.len() && self.is_before(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if !self.is_before(self.heap[child], self.heap[parent]) {
                return;
            }
            self.heap.swap(parent, child);
            parent = child;
        }
    }

    /// Whether one source comes before another in the direction of movement.
    fn is_before(&self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.sources[one].entry(), self.sources[other].entry()) else { return false };
        let order = one.key.cmp(other.key).then(other.sequence.cmp(&one.sequence));
        order == if self.direction == Direction::Up { Ordering::Less } else { Ordering::Greater }
    }
}

/// Within the bounds, among the live keys.
impl<C: Cursor> Cursor for Merged<C> {
    /// Goes to the first live key within the bounds that is not below `key`.
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.place = Place::Nowhere;
        let from = if self.bounds.are_above(key) { self.bounds.lower() } else { key };
        for source in &mut self.sources {
            if from.is_empty() { source.first()? } else { source.seek(from)? }
        }
        self.order(Direction::Up);
        self.find_up(false)
    }

    /// Goes to the last live key within the bounds that is not above `key`.
    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        if self.bounds.are_below(key) {
            return self.last();
        }
        self.place = Place::Nowhere;
        for source in &mut self.sources {
            source.seek_for_previous(key)?;
        }
        self.order(Direction::Down);
        self.find_down()
    }

    /// Goes to the first live key within the bounds.
    fn first(&mut self) -> Result<()> {
        self.seek(&[])
    }

    /// Goes to the last live key within the bounds.
    fn last(&mut self) -> Result<()> {
        self.place = Place::Nowhere;
        for source in &mut self.sources {
            match self.bounds.upper() {
                Some(upper) => {
                    source.seek_for_previous(upper)?;
                    while source.entry().is_some_and(|entry| entry.key >= upper) {
                        source.previous()?;
                    }
                }
                None => source.last()?,
            }
        }
        self.order(Direction::Down);
        self.find_down()
    }

    /// Goes to the next live key.
    fn next(&mut self) -> Result<()> {
        match mem::replace(&mut self.place, Place::Nowhere) {
            Place::Nowhere => return Ok(()),
            Place::AtSource => self.hold_key(),
            Place::Held => self.turn_up()?,
        }
        self.find_up(true)
    }

    /// Goes to the live key before this one.
    fn previous(&mut self) -> Result<()> {
        match mem::replace(&mut self.place, Place::Nowhere) {
            Place::Nowhere => return Ok(()),
            Place::AtSource => {
                self.hold_key();
                self.turn_down()?;
            }
            Place::Held => {}
        }
        self.find_down()
    }

    /// The key, the value and the sequence of what is here; `None` if it is nowhere.
    fn entry(&self) -> Option<Entry<'_>> {
        match self.place {
            Place::Nowhere => None,
            Place::AtSource => self.heap.first().and_then(|&source| self.sources[source].entry()),
            Place::Held => Some(Entry { key: &self.key, sequence: self.sequence, kind: Kind::Put, value: &self.value }),
        }
    }
}

#[cfg(test)]
mod tests;
