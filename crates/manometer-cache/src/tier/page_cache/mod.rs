//! The page cache: the pages of files in memory, the least recently used of which go, and those that were changed and
//! are not written back yet.
//!
//! Pages that follow each other and were used together are one run, so that a request for a run of pages costs as much
//! as a request for one. The order in which they go is that of single pages, the lower first.

use super::events::Ns;
use super::in_flight::TransferId;

/// The bytes of a page.
pub const PAGE: u64 = 4096;

/// What is known of a page: [`CLEAN`], [`ARRIVING`] with the number of its flight, or when it was changed first.
type PageState = u64;

const CLEAN: PageState = 0;
/// The flag of pages that are being read. No simulation takes 292 years.
const IN_FLIGHT: PageState = 1 << 63;

fn is_dirty(state: PageState) -> bool {
    state != CLEAN && state & IN_FLIGHT == 0
}

/// How pages were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageLookup {
    /// In memory.
    Cached,
    /// On their way there.
    InFlight(TransferId),
    /// Not at all.
    Missing,
}

type RunId = u32;

const NONE: RunId = RunId::MAX;

/// Pages from `from` to before `until` in one state.
#[derive(Debug, Clone, Copy)]
struct PageRun {
    from: u32,
    until: u32,
    newer: RunId,
    older: RunId,
    state: PageState,
}

/// Runs from the newest to the oldest, and how many pages they have.
#[derive(Debug, Clone, Copy)]
struct PageList {
    newest: RunId,
    oldest: RunId,
    pages: u64,
}

const EMPTY: PageList = PageList { newest: NONE, oldest: NONE, pages: 0 };

/// Pages in memory.
#[derive(Debug)]
pub struct PageCache {
    capacity: u64,
    /// The run that each page is in.
    of: Vec<RunId>,
    runs: Vec<PageRun>,
    free: Vec<RunId>,
    /// Unchanged pages by when they were used, and changed ones by when they were changed first.
    orders: [PageList; 2],
}

const UNCHANGED: usize = 0;
const CHANGED: usize = 1;

fn order_of(state: PageState) -> usize {
    if is_dirty(state) { CHANGED } else { UNCHANGED }
}

impl PageCache {
    /// Memory for `capacity` of the pages with numbers below `pages`.
    pub fn new(pages: usize, capacity: u64) -> Self {
        Self { capacity, of: vec![NONE; pages], runs: Vec::new(), free: Vec::new(), orders: [EMPTY; 2] }
    }

    /// How many changed pages there are.
    pub fn dirty(&self) -> u64 {
        self.orders[CHANGED].pages
    }

    /// Uses the pages from `from` to before `end`, as far as they are found alike: how, and where that ends.
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

    /// Where the pages from `from` on that are not there end, before `end`.
    pub fn missing_until(&self, from: u32, end: u32) -> u32 {
        let there = self.of[from as usize..end as usize].iter().position(|run| *run != NONE);
        there.map_or(end, |at| from + at as u32)
    }

    /// Makes room for pages that are being read and are not there; they count as there once they
    /// [arrived](Self::arrive). Where there is no room for all of them, the last ones have it.
    pub fn expect(&mut self, from: u32, until: u32, flight: TransferId) {
        self.make_room(u64::from(until - from));
        let kept = self.capacity.saturating_sub(self.len()).min(u64::from(until - from)) as u32;
        self.insert(until - kept, until, IN_FLIGHT | PageState::from(flight));
    }

    /// Pages were read, and are there unless they went in the meantime.
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

    /// Changes pages, in memory.
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

    /// The page that was changed first of those not written back, and when.
    pub fn oldest_dirty(&self) -> Option<(u32, Ns)> {
        let oldest = self.orders[CHANGED].oldest;
        (oldest != NONE).then(|| (self.runs[oldest as usize].from, self.runs[oldest as usize].state))
    }

    /// The first changed page from `from` to before `end`.
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

    /// Where the changed pages from `from` on end, before `end`.
    pub fn dirty_until(&self, from: u32, end: u32) -> u32 {
        let mut at = from;
        while at < end
            && let Some(run) = self.run(at).filter(|run| is_dirty(self.runs[*run as usize].state))
        {
            at = self.runs[run as usize].until;
        }
        at.min(end)
    }

    /// Where the changed pages before `end` begin, from `from` on.
    pub fn dirty_before(&self, end: u32, from: u32) -> u32 {
        let mut at = end;
        while at > from
            && let Some(run) = self.run(at - 1).filter(|run| is_dirty(self.runs[*run as usize].state))
        {
            at = self.runs[run as usize].from;
        }
        at.max(from)
    }

    /// Changed pages are being written back.
    pub fn clean(&mut self, from: u32, end: u32) {
        let mut at = from;
        while let Some(run) = self.next_run(&mut at, end) {
            let PageRun { until, state, .. } = self.runs[run as usize];
            at = if is_dirty(state) { self.turn(at, end, CLEAN) } else { until };
        }
    }

    /// Forgets pages, changed or not.
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

    /// The run of the first page from `at` to before `end` that is there; `at` moves to that page.
    fn next_run(&self, at: &mut u32, end: u32) -> Option<RunId> {
        if *at >= end {
            return None;
        }
        *at = self.missing_until(*at, end);
        if *at < end { self.run(*at) } else { None }
    }

    /// Moves the pages of a run from `from` to before `end` into another state, the newest of it: where they end.
    fn turn(&mut self, from: u32, end: u32, state: PageState) -> u32 {
        let run = self.cut(from, end);
        self.unlink(run);
        self.runs[run as usize].state = state;
        self.push(run);
        self.runs[run as usize].until
    }

    /// Makes room for so many pages, as far as unchanged pages can go.
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

    /// A run that is in no order.
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

    /// Parts the run of a page, so that one begins there and ends before `end`: that one.
    fn cut(&mut self, from: u32, end: u32) -> RunId {
        if self.runs[self.of[from as usize] as usize].from < from {
            self.part(from);
        }
        if self.runs[self.of[from as usize] as usize].until > end {
            self.part(end);
        }
        self.of[from as usize]
    }

    /// Parts the run of a page before that; the lower part is the older one.
    fn part(&mut self, at: u32) {
        let run = self.of[at as usize];
        let PageRun { from, until, newer, older, state } = self.runs[run as usize];
        let order = order_of(state);
        // The shorter part is the one that gets another number.
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

    /// Has the neighbours of a run know it.
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

    /// Puts a run at the new end of its order.
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
