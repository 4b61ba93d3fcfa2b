//! A cursor over all ranges of Level 1. Ranges are disjoint, so only one of them is open at a time.

use std::sync::Arc;

use crate::Result;
use crate::entry::Entry;
use crate::levels::{Range, Version};
use crate::merge::Cursor;
use crate::run::{BlockCache, RunCursor};

/// A cursor over Level 1.
pub(super) struct Level1Cursor {
    version: Arc<Version>,
    cache: Arc<BlockCache>,
    /// The index of the open range.
    number: usize,
    runs: Vec<RunCursor>,
    /// The run with the current entry, among `runs`. All others stand after it, or before it, as `is_forward` says.
    current: Option<usize>,
    is_forward: bool,
}

impl Level1Cursor {
    pub fn new(version: Arc<Version>, cache: Arc<BlockCache>) -> Self {
        Self { version, cache, number: usize::MAX, runs: Vec::new(), current: None, is_forward: true }
    }

    fn open(&mut self, number: usize) -> Result<bool> {
        self.current = None;
        if self.number == number {
            return Ok(true);
        }
        let Some(range) = self.version.ranges.get(number) else { return Ok(false) };
        self.number = usize::MAX;
        self.runs = cursors(range, &self.cache)?;
        self.number = number;
        Ok(true)
    }

    /// Opens the range `number` and moves to its first entry, or to that of the next range that has one.
    fn first_from(&mut self, mut number: usize) -> Result<()> {
        while self.open(number)? {
            self.each(Cursor::first)?;
            self.choose(true);
            if self.current.is_some() {
                return Ok(());
            }
            number += 1;
        }
        Ok(())
    }

    /// Moves to the last entry of the ranges below `number`.
    fn last_below(&mut self, number: usize) -> Result<()> {
        for number in (0..number.min(self.version.ranges.len())).rev() {
            self.open(number)?;
            self.each(Cursor::last)?;
            self.choose(false);
            if self.current.is_some() {
                return Ok(());
            }
        }
        self.current = None;
        Ok(())
    }

    fn each(&mut self, go: impl Fn(&mut RunCursor) -> Result<()>) -> Result<()> {
        self.runs.iter_mut().try_for_each(go)
    }

    /// Selects the run that comes first in the direction of movement.
    fn choose(&mut self, is_forward: bool) {
        self.is_forward = is_forward;
        let at = |run: usize| Some((run, self.runs[run].entry()?));
        let order =
            |entry: &Entry<'_>, other: &Entry<'_>| entry.key.cmp(other.key).then(other.sequence.cmp(&entry.sequence));
        let places = (0..self.runs.len()).filter_map(at);
        let chosen = if is_forward {
            places.min_by(|(_, one), (_, other)| order(one, other))
        } else {
            places.max_by(|(_, one), (_, other)| order(one, other))
        };
        self.current = chosen.map(|(run, _)| run);
    }

    /// Moves all runs but the current one to the other side of the current entry.
    fn reverse(&mut self, is_forward: bool) -> Result<()> {
        if self.is_forward == is_forward {
            return Ok(());
        }
        self.is_forward = is_forward;
        let Some(current) = self.current else { return Ok(()) };
        let Some(entry) = self.runs[current].entry() else { return Ok(()) };
        let (key, sequence) = (entry.key.to_vec(), entry.sequence);
        for (_, run) in self.runs.iter_mut().enumerate().filter(|(number, _)| *number != current) {
            let after = |entry: &Entry<'_>| (entry.key, u64::MAX - entry.sequence) > (&*key, u64::MAX - sequence);
            if is_forward {
                run.seek(&key)?;
                while run.entry().is_some_and(|entry| !after(&entry)) {
                    run.next()?;
                }
            } else {
                run.seek_for_previous(&key)?;
                while run.entry().is_some_and(|entry| after(&entry)) {
                    run.previous()?;
                }
            }
        }
        Ok(())
    }
}

fn cursors(range: &Range, cache: &Arc<BlockCache>) -> Result<Vec<RunCursor>> {
    range.runs.list().iter().map(|run| run.cursor(cache)).collect()
}

impl Cursor for Level1Cursor {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let number = self.version.ranges.partition_point(|range| *range.span.high < *key);
        if !self.open(number)? {
            return Ok(());
        }
        self.each(|run| run.seek(key))?;
        self.choose(true);
        match self.current {
            Some(_) => Ok(()),
            None => self.first_from(number + 1),
        }
    }

    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        let after = self.version.ranges.partition_point(|range| *range.span.low <= *key);
        let Some(number) = after.checked_sub(1) else {
            self.current = None;
            return Ok(());
        };
        self.open(number)?;
        self.each(|run| run.seek_for_previous(key))?;
        self.choose(false);
        match self.current {
            Some(_) => Ok(()),
            None => self.last_below(number),
        }
    }

    fn first(&mut self) -> Result<()> {
        self.first_from(0)
    }

    fn last(&mut self) -> Result<()> {
        self.last_below(usize::MAX)
    }

    fn next(&mut self) -> Result<()> {
        let Some(current) = self.current else { return Ok(()) };
        self.reverse(true)?;
        self.runs[current].next()?;
        self.choose(true);
        match self.current {
            Some(_) => Ok(()),
            None => self.first_from(self.number + 1),
        }
    }

    fn previous(&mut self) -> Result<()> {
        let Some(current) = self.current else { return Ok(()) };
        self.reverse(false)?;
        self.runs[current].previous()?;
        self.choose(false);
        match self.current {
            Some(_) => Ok(()),
            None => self.last_below(self.number),
        }
    }

    fn entry(&self) -> Option<Entry<'_>> {
        self.runs[self.current?].entry()
    }
}
