//! A merging cursor: of each key the newest version that a snapshot sees, in either direction.

use std::cmp::Ordering;
use std::mem;
use std::sync::Arc;

use super::bounds::KeyBounds;
use super::cursor::Cursor;
use super::range_tombstones::RangeTombstones;
use crate::entry::{Entry, EntryKind, SequenceNumber};
use crate::error::Result;

/// The live keys of all sources that `snapshot` sees, one version each, within bounds.
pub(crate) struct MergingCursor<C> {
    sources: Vec<C>,
    /// The sources that have an entry, as a heap: the first is the next in the direction of movement.
    heap: Vec<usize>,
    direction: Direction,
    snapshot: SequenceNumber,
    deletes: Arc<RangeTombstones>,
    bounds: KeyBounds,
    position: Position,
    /// Backward: the current key. Forward: the key whose further versions are skipped.
    key: Vec<u8>,
    /// Backward: the current value; its source has moved on.
    value: Vec<u8>,
    sequence: SequenceNumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Nowhere,
    /// The first source of the heap has the current entry; all sources stand at it or after it.
    AtSource,
    /// The current entry is in `key`, `value` and `sequence`; all sources stand before that key.
    Held,
}

impl<C: Cursor> MergingCursor<C> {
    /// Merges `sources`. All their range tombstones are in `deletes`. Two sources may hold the same version: during a
    /// compaction in several passes, Level 0 holds entries that ranges have already.
    pub fn new(sources: Vec<C>, deletes: Arc<RangeTombstones>, bounds: KeyBounds, snapshot: SequenceNumber) -> Self {
        Self {
            heap: Vec::with_capacity(sources.len()),
            sources,
            direction: Direction::Forward,
            snapshot,
            deletes,
            bounds,
            position: Position::Nowhere,
            key: Vec::new(),
            value: Vec::new(),
            sequence: 0,
        }
    }

    /// Moves forward to the next live key, past all versions of `key` if `skips`.
    fn find_forward(&mut self, mut skips: bool) -> Result<()> {
        while let Some(&source) = self.heap.first() {
            let Some(entry) = self.sources[source].entry() else { break };
            if self.bounds.is_past_end(entry.key) {
                break;
            }
            let is_done_with = skips && entry.key == self.key;
            if !is_done_with && entry.sequence <= self.snapshot {
                if self.is_live(entry) {
                    self.position = Position::AtSource;
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

    /// Moves backward to the next live key. The versions of a key come oldest first, so the newest that the snapshot
    /// sees is known only after all of them.
    fn find_backward(&mut self) -> Result<()> {
        while let Some(&source) = self.heap.first() {
            let Some(entry) = self.sources[source].entry() else { break };
            if self.bounds.is_before_start(entry.key) {
                break;
            }
            self.key.clear();
            self.key.extend_from_slice(entry.key);
            if self.skip_key_backward()? {
                self.position = Position::Held;
                break;
            }
        }
        Ok(())
    }

    /// Moves backward past all versions of `key`. Returns whether the key is live, with its value in `value`.
    fn skip_key_backward(&mut self) -> Result<bool> {
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

    /// Whether `entry`, the newest version that the snapshot sees, is live.
    fn is_live(&self, entry: Entry<'_>) -> bool {
        entry.kind == EntryKind::Put
            && self.deletes.newest_covering(entry.key, self.snapshot).is_none_or(|deleted| deleted <= entry.sequence)
    }

    fn hold_key(&mut self) {
        if let Some(entry) = self.heap.first().and_then(|&source| self.sources[source].entry()) {
            self.key.clear();
            self.key.extend_from_slice(entry.key);
        }
    }

    /// Moves all sources, which stand before `key`, to or after it.
    fn turn_forward(&mut self) -> Result<()> {
        for source in &mut self.sources {
            if source.entry().is_none() {
                source.first()?;
            }
            while source.entry().is_some_and(|entry| *entry.key < *self.key) {
                source.next()?;
            }
        }
        self.rebuild_heap(Direction::Forward);
        Ok(())
    }

    /// Moves all sources, which stand at or after `key`, before it.
    fn turn_backward(&mut self) -> Result<()> {
        for source in &mut self.sources {
            if source.entry().is_none() {
                source.last()?;
            }
            while source.entry().is_some_and(|entry| *entry.key >= *self.key) {
                source.previous()?;
            }
        }
        self.rebuild_heap(Direction::Backward);
        Ok(())
    }

    /// Moves the first source of the heap and restores the heap.
    fn advance(&mut self) -> Result<()> {
        let source = &mut self.sources[self.heap[0]];
        match self.direction {
            Direction::Forward => source.next()?,
            Direction::Backward => source.previous()?,
        }
        if source.entry().is_none() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    /// Rebuilds the heap for a direction.
    fn rebuild_heap(&mut self, direction: Direction) {
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
        order == if self.direction == Direction::Forward { Ordering::Less } else { Ordering::Greater }
    }
}

/// Moves among the live keys within the bounds.
impl<C: Cursor> Cursor for MergingCursor<C> {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.position = Position::Nowhere;
        let from = if self.bounds.is_before_start(key) { self.bounds.lower() } else { key };
        for source in &mut self.sources {
            if from.is_empty() { source.first()? } else { source.seek(from)? }
        }
        self.rebuild_heap(Direction::Forward);
        self.find_forward(false)
    }

    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        if self.bounds.is_past_end(key) {
            return self.last();
        }
        self.position = Position::Nowhere;
        for source in &mut self.sources {
            source.seek_for_previous(key)?;
        }
        self.rebuild_heap(Direction::Backward);
        self.find_backward()
    }

    fn first(&mut self) -> Result<()> {
        self.seek(&[])
    }

    fn last(&mut self) -> Result<()> {
        self.position = Position::Nowhere;
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
        self.rebuild_heap(Direction::Backward);
        self.find_backward()
    }

    fn next(&mut self) -> Result<()> {
        match mem::replace(&mut self.position, Position::Nowhere) {
            Position::Nowhere => return Ok(()),
            Position::AtSource => self.hold_key(),
            Position::Held => self.turn_forward()?,
        }
        self.find_forward(true)
    }

    fn previous(&mut self) -> Result<()> {
        match mem::replace(&mut self.position, Position::Nowhere) {
            Position::Nowhere => return Ok(()),
            Position::AtSource => {
                self.hold_key();
                self.turn_backward()?;
            }
            Position::Held => {}
        }
        self.find_backward()
    }

    fn entry(&self) -> Option<Entry<'_>> {
        match self.position {
            Position::Nowhere => None,
            Position::AtSource => self.heap.first().and_then(|&source| self.sources[source].entry()),
            Position::Held => {
                Some(Entry { key: &self.key, sequence: self.sequence, kind: EntryKind::Put, value: &self.value })
            }
        }
    }
}

#[cfg(test)]
mod tests;
