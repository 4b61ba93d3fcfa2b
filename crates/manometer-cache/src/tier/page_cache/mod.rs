//! The page cache: file pages in memory with LRU replacement, including dirty ones.
//!
//! Consecutive pages that were used together form a run, so that a request for a run costs as much as one for a page.
//! The order of eviction is that of single pages, lower ones first.

use super::events::Ns;
use super::in_flight::TransferId;

/// The size of a page in bytes.
pub const PAGE: u64 = 4096;

/// The state of a page: [`CLEAN`], [`IN_FLIGHT`] with the ID of its transfer, or the time when it became dirty.
type PageState = u64;

const CLEAN: PageState = 0;
/// The flag of pages that are being read. No simulation takes 292 years.
const IN_FLIGHT: PageState = 1 << 63;

fn is_dirty(state: PageState) -> bool {
    state != CLEAN && state & IN_FLIGHT == 0
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageLookup {
    /// In memory.
    Cached,
    /// Being read.
    InFlight(TransferId),
    /// Not in memory.
    Missing,
}

type RunId = u32;

const NONE: RunId = RunId::MAX;

/// Pages from `from` to `until` exclusive in one state.
#[derive(Debug, Clone, Copy)]
struct PageRun {
    from: u32,
    until: u32,
    newer: RunId,
    older: RunId,
    state: PageState,
}

/// Runs from newest to oldest, and their number of pages.
#[derive(Debug, Clone, Copy)]
struct PageList {
    newest: RunId,
    oldest: RunId,
    pages: u64,
}

const EMPTY: PageList = PageList { newest: NONE, oldest: NONE, pages: 0 };

/// The pages in memory.
#[derive(Debug)]
pub struct PageCache {
    capacity: u64,
    /// The run of each page.
    of: Vec<RunId>,
    runs: Vec<PageRun>,
    free: Vec<RunId>,
    /// Clean pages by last use, and dirty ones by when they became dirty.
    orders: [PageList; 2],
}

const UNCHANGED: usize = 0;
const CHANGED: usize = 1;

fn order_of(state: PageState) -> usize {
    if is_dirty(state) { CHANGED } else { UNCHANGED }
}

impl PageCache {
    /// Memory for `capacity` pages with numbers below `pages`.
    pub fn new(pages: usize, capacity: u64) -> Self {
        Self { capacity, of: vec![NONE; pages], runs: Vec::new(), free: Vec::new(), orders: [EMPTY; 2] }
    }

    /// The number of dirty pages.
    pub fn dirty(&self) -> u64 {
        self.orders[CHANGED].pages
    }

    /// Uses the pages from `from` to `end` exclusive as far as their look-ups agree. Returns the result and where it
    /// ends.
    pub fn touch(&mut self, from: u32, end: u32) -> (PageLookup, u32) {
        let Some(run) = self.run(from) else { return (PageLookup::Missing, self.missing_until(from, end)) };
        let PageRun { until, state, .. } = self.runs[run as usize];
        let until = until.min(end);
        if is_dirty(state) {
            return (PageLookup::Cached, until);
        }
        let run = self.cut(from, end);
        self.unlink(run);
        self.push(run);
        match state {
            CLEAN => (PageLookup::Cached, until),
            _ => (PageLookup::InFlight((state & !IN_FLIGHT) as TransferId), until),
        }
    }

    /// The end of the missing pages from `from` on, at most `end`.
    pub fn missing_until(&self, from: u32, end: u32) -> u32 {
        let there = self.of[from as usize..end as usize].iter().position(|run| *run != NONE);
        there.map_or(end, |at| from + at as u32)
    }

    /// Makes room for missing pages that are being read; they are cached once they have [arrived](Self::arrive). If
    /// there is no room for all, the last ones get it.
    pub fn expect(&mut self, from: u32, until: u32, flight: TransferId) {
        self.make_room(u64::from(until - from));
        let kept = self.capacity.saturating_sub(self.len()).min(u64::from(until - from)) as u32;
        self.insert(until - kept, until, IN_FLIGHT | PageState::from(flight));
    }

    /// Marks read pages as cached, unless they were evicted meanwhile.
    pub fn arrive(&mut self, from: u32, until: u32, flight: TransferId) {
        let mut at = from;
        while let Some(run) = self.next_run(&mut at, until) {
            if self.runs[run as usize].state == IN_FLIGHT | PageState::from(flight) {
                let run = self.cut(at, until);
                self.runs[run as usize].state = CLEAN;
            }
            at = self.runs[self.of[at as usize] as usize].until;
        }
    }

    /// Makes pages dirty.
    pub fn change(&mut self, from: u32, end: u32, now: Ns) {
        let mut at = from;
        while at < end {
            let until = match self.run(at) {
                None => {
                    let until = self.missing_until(at, end);
                    self.make_room(u64::from(until - at));
                    self.insert(at, until, now.max(1));
                    until
                }
                Some(run) if is_dirty(self.runs[run as usize].state) => self.runs[run as usize].until,
                Some(_) => self.turn(at, end, now.max(1)),
            };
            at = until;
        }
    }

    /// The page that became dirty first, and when.
    pub fn oldest_dirty(&self) -> Option<(u32, Ns)> {
        let oldest = self.orders[CHANGED].oldest;
        (oldest != NONE).then(|| (self.runs[oldest as usize].from, self.runs[oldest as usize].state))
    }

    /// The first dirty page from `from` to `end` exclusive.
    pub fn dirty_from(&self, from: u32, end: u32) -> Option<u32> {
        let mut at = from;
        while let Some(run) = self.next_run(&mut at, end) {
            let PageRun { until, state, .. } = self.runs[run as usize];
            if is_dirty(state) {
                return Some(at);
            }
            at = until;
        }
        None
    }

    /// The end of the dirty pages from `from` on, at most `end`.
    pub fn dirty_until(&self, from: u32, end: u32) -> u32 {
        let mut at = from;
        while at < end
            && let Some(run) = self.run(at).filter(|run| is_dirty(self.runs[*run as usize].state))
        {
            at = self.runs[run as usize].until;
        }
        at.min(end)
    }

    /// The start of the dirty pages before `end`, at least `from`.
    pub fn dirty_before(&self, end: u32, from: u32) -> u32 {
        let mut at = end;
        while at > from
            && let Some(run) = self.run(at - 1).filter(|run| is_dirty(self.runs[*run as usize].state))
        {
            at = self.runs[run as usize].from;
        }
        at.max(from)
    }

    /// Marks dirty pages as being written back.
    pub fn clean(&mut self, from: u32, end: u32) {
        let mut at = from;
        while let Some(run) = self.next_run(&mut at, end) {
            let PageRun { until, state, .. } = self.runs[run as usize];
            at = if is_dirty(state) { self.turn(at, end, CLEAN) } else { until };
        }
    }

    /// Drops pages, dirty or not.
    pub fn forget(&mut self, from: u32, end: u32) {
        let mut at = from;
        while self.next_run(&mut at, end).is_some() {
            let run = self.cut(at, end);
            let until = self.runs[run as usize].until;
            self.of[at as usize..until as usize].fill(NONE);
            self.unlink(run);
            self.free.push(run);
            at = until;
        }
    }

    fn len(&self) -> u64 {
        self.orders[UNCHANGED].pages + self.orders[CHANGED].pages
    }

    fn run(&self, page: u32) -> Option<RunId> {
        let run = self.of[page as usize];
        (run != NONE).then_some(run)
    }

    /// The run of the first cached page from `at` to `end` exclusive; sets `at` to that page.
    fn next_run(&self, at: &mut u32, end: u32) -> Option<RunId> {
        if *at >= end {
            return None;
        }
        *at = self.missing_until(*at, end);
        if *at < end { self.run(*at) } else { None }
    }

    /// Changes the state of the pages of a run from `from` to `end` exclusive and makes them the newest. Returns where
    /// they end.
    fn turn(&mut self, from: u32, end: u32, state: PageState) -> u32 {
        let run = self.cut(from, end);
        self.unlink(run);
        self.runs[run as usize].state = state;
        self.push(run);
        self.runs[run as usize].until
    }

    /// Makes room for `pages` pages, as far as clean pages can be evicted.
    fn make_room(&mut self, pages: u64) {
        let mut excess = (self.len() + pages).saturating_sub(self.capacity);
        while excess > 0 && self.orders[UNCHANGED].oldest != NONE {
            let run = self.orders[UNCHANGED].oldest;
            let PageRun { from, until, .. } = self.runs[run as usize];
            let gone = excess.min(u64::from(until - from)) as u32;
            self.of[from as usize..(from + gone) as usize].fill(NONE);
            excess -= u64::from(gone);
            if from + gone < until {
                self.runs[run as usize].from += gone;
                self.orders[UNCHANGED].pages -= u64::from(gone);
            } else {
                self.unlink(run);
                self.free.push(run);
            }
        }
    }

    fn insert(&mut self, from: u32, until: u32, state: PageState) {
        if from < until {
            let run = self.add(from, until, state);
            self.push(run);
        }
    }

    /// Creates a run that is in no list.
    fn add(&mut self, from: u32, until: u32, state: PageState) -> RunId {
        let run = PageRun { from, until, newer: NONE, older: NONE, state };
        let id = match self.free.pop() {
            Some(id) => {
                self.runs[id as usize] = run;
                id
            }
            None => {
                self.runs.push(run);
                (self.runs.len() - 1) as RunId
            }
        };
        self.of[from as usize..until as usize].fill(id);
        id
    }

    /// Splits the run of a page, so that a run starts there and ends at `end` at the latest. Returns it.
    fn cut(&mut self, from: u32, end: u32) -> RunId {
        if self.runs[self.of[from as usize] as usize].from < from {
            self.part(from);
        }
        if self.runs[self.of[from as usize] as usize].until > end {
            self.part(end);
        }
        self.of[from as usize]
    }

    /// Splits the run of a page before it; the lower part is the older one.
    fn part(&mut self, at: u32) {
        let run = self.of[at as usize];
        let PageRun { from, until, newer, older, state } = self.runs[run as usize];
        let order = order_of(state);
        // The shorter part gets the new ID.
        if at - from < until - at {
            let lower = self.add(from, at, state);
            self.runs[run as usize].from = at;
            (self.runs[lower as usize].older, self.runs[lower as usize].newer) = (older, run);
            self.link(order, lower);
        } else {
            let upper = self.add(at, until, state);
            self.runs[run as usize].until = at;
            (self.runs[upper as usize].older, self.runs[upper as usize].newer) = (run, newer);
            self.link(order, upper);
        }
    }

    /// Updates the neighbours of a run.
    fn link(&mut self, order: usize, run: RunId) {
        let PageRun { newer, older, .. } = self.runs[run as usize];
        match newer {
            NONE => self.orders[order].newest = run,
            newer => self.runs[newer as usize].older = run,
        }
        match older {
            NONE => self.orders[order].oldest = run,
            older => self.runs[older as usize].newer = run,
        }
    }

    /// Adds a run as the newest of its list.
    fn push(&mut self, run: RunId) {
        let order = order_of(self.runs[run as usize].state);
        let PageRun { from, until, .. } = self.runs[run as usize];
        (self.runs[run as usize].newer, self.runs[run as usize].older) = (NONE, self.orders[order].newest);
        self.orders[order].pages += u64::from(until - from);
        self.link(order, run);
    }

    fn unlink(&mut self, run: RunId) {
        let PageRun { from, until, newer, older, state } = self.runs[run as usize];
        let order = &mut self.orders[order_of(state)];
        order.pages -= u64::from(until - from);
        match newer {
            NONE => order.newest = older,
            newer => self.runs[newer as usize].older = older,
        }
        match older {
            NONE => order.oldest = newer,
            older => self.runs[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests;
