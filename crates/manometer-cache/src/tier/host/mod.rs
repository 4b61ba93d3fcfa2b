//! A model of the host: cores, the page cache with write-back, and a file system's journal.

use std::collections::{HashSet, VecDeque};

use manometer_measure::{ByteSize, Share, Span};
use serde::Deserialize;

use super::block_requests::BlockRequests;
use super::events::Ns;
use super::in_flight::{InFlightPages, TransferId};
use super::io::{FLUSHER, FlowKind, IoRequest, LevelIo, TierLevel};
use super::jobs::JobId;
use super::page_cache::{PAGE, PageCache, PageLookup};
use super::second_level::SecondLevelCache;
use super::storage::TierStorage;
use super::wakeup::Wakeup;

/// The settings of the host.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierHostSettings {
    /// The size of the page cache.
    pub ram: ByteSize,
    /// The number of cores.
    #[serde(default = "cores")]
    pub cores: usize,
    /// CPU time of an operation, without copying.
    #[serde(default = "operation")]
    pub operation: Span,
    /// The rate at which a core copies, per second.
    #[serde(default = "copy_per_s")]
    pub copy_per_s: ByteSize,
    /// The share of memory from which dirty pages are written back in the background.
    #[serde(default = "dirty_background")]
    pub dirty_background: Share,
    /// The share of memory from which writes are throttled.
    #[serde(default = "dirty_limit")]
    pub dirty_limit: Share,
    /// The age at which dirty pages are written back.
    #[serde(default = "dirty_expire")]
    pub dirty_expire: Span,
    /// The read-ahead size for sequential reads.
    #[serde(default = "read_ahead")]
    pub read_ahead: ByteSize,
    /// The commit interval of the file system's journal.
    #[serde(default = "commit")]
    pub commit: Span,
    /// Whether a commit waits for the media (barriers).
    #[serde(default = "default_true")]
    pub barriers: bool,
    /// Whether threads that wait for a commit share one.
    #[serde(default = "default_true")]
    pub commits_joined: bool,
    /// The size of the controller's write cache.
    #[serde(default)]
    pub controller_cache: ByteSize,
}

fn default_true() -> bool {
    true
}

fn cores() -> usize {
    4
}

fn operation() -> Span {
    Span(std::time::Duration::from_micros(20))
}

fn copy_per_s() -> ByteSize {
    ByteSize(3_000_000_000)
}

fn dirty_background() -> Share {
    Share(0.1)
}

fn dirty_limit() -> Share {
    Share(0.2)
}

fn dirty_expire() -> Span {
    Span(std::time::Duration::from_secs(30))
}

fn read_ahead() -> ByteSize {
    ByteSize(128 << 10)
}

fn commit() -> Span {
    Span(std::time::Duration::from_secs(5))
}

impl TierHostSettings {
    /// What is wrong with the settings, if anything.
    pub fn validation_error(&self) -> Option<String> {
        if self.cores > 4096 {
            return Some("`cores` is above 4096".to_owned());
        }
        if self.cores == 0 || self.copy_per_s.0 == 0 || self.operation.nanoseconds() == 0 {
            return Some("`cores`, `operation` and `copy_per_s` have to be above 0".to_owned());
        }
        if self.commit.nanoseconds() == 0 || self.dirty_expire.nanoseconds() == 0 {
            return Some("`commit` and `dirty_expire` have to be above 0".to_owned());
        }
        (self.dirty_background.0 >= self.dirty_limit.0)
            .then(|| "`dirty_background` is not below `dirty_limit`".to_owned())
    }
}

/// The longest range written back at once, in pages.
const WRITE_BACK_MAX: u64 = (512 << 10) / PAGE;
/// The number of ranges written back at once.
const WRITE_BACK_AT_ONCE: usize = 64;
/// Scans for expired pages per expiry time.
const FLUSHES_PER_EXPIRY: u64 = 6;
/// The size of the journal in bytes.
pub const JOURNAL: u64 = 128 << 20;
/// Blocks of a commit in addition to the changed ones: descriptor and commit block.
const COMMIT_BLOCKS: u64 = 2;

/// The counters of the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Pages requested by reads.
    pub reads: u64,
    /// Pages that reads found in memory.
    pub read_hits: u64,
}

/// The simulation state of a host.
pub struct Host<'a> {
    /// The storage below.
    pub storage: TierStorage<Wakeup>,
    /// The second-level cache, if any.
    pub second: Option<SecondLevelCache<'a>>,
    /// The requests that it sent below.
    pub block_requests: BlockRequests,
    settings: &'a TierHostSettings,
    scale: u64,
    cores: Vec<Ns>,
    pages: PageCache,
    page_count: u64,
    background: u64,
    limit: u64,
    /// Pages being read, and pages being written back.
    reads: InFlightPages,
    writes: InFlightPages,
    waited: Vec<JobId>,
    /// The number of ranges written back because of too many dirty pages, and of their pages.
    flushing: usize,
    flushed: u64,
    /// Throttled threads.
    throttled: VecDeque<u32>,
    journal: Journal,
    counters: HostCounters,
}

#[derive(Debug, Default)]
struct Journal {
    bytes: u64,
    at: u64,
    /// Blocks changed since the last commit.
    changed: HashSet<u64, rapidhash::fast::RandomState>,
    is_committing: bool,
    committing: Vec<u32>,
    waiting: VecDeque<u32>,
}

impl<'a> Host<'a> {
    /// A host over storage of `bytes`, with sizes and periods divided by `scale`.
    pub fn new(
        settings: &'a TierHostSettings,
        storage: TierStorage<Wakeup>,
        second: Option<SecondLevelCache<'a>>,
        bytes: u64,
        ram: u64,
        scale: u64,
    ) -> Self {
        let capacity = (ram / PAGE).max(1);
        let page_count = bytes / PAGE;
        let mut host = Self {
            storage,
            second,
            block_requests: BlockRequests::default(),
            settings,
            scale,
            cores: vec![0; settings.cores],
            pages: PageCache::new(page_count as usize, capacity),
            page_count,
            background: (capacity as f64 * settings.dirty_background.0) as u64,
            limit: (capacity as f64 * settings.dirty_limit.0) as u64,
            reads: InFlightPages::default(),
            writes: InFlightPages::default(),
            waited: Vec::new(),
            flushing: 0,
            flushed: 0,
            throttled: VecDeque::new(),
            journal: Journal { bytes: (JOURNAL / scale).next_multiple_of(PAGE), ..Journal::default() },
            counters: HostCounters::default(),
        };
        host.storage.wake_at(host.flush_period(), Wakeup::FlushTimer);
        host.storage.wake_at(host.commit_period(), Wakeup::CommitTimer);
        host
    }

    /// Its counters.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }

    /// The end of the journal.
    pub fn journal_end(&self) -> u64 {
        self.journal.bytes
    }

    /// The size of the storage in bytes, in whole pages.
    pub fn bytes(&self) -> u64 {
        self.page_count * PAGE
    }

    /// Occupies a core for an operation that transfers `bytes`. Returns when it ends.
    pub fn compute(&mut self, bytes: u64, think_ns: Ns) -> Ns {
        let copying = (u128::from(bytes) * 1_000_000_000 / u128::from(self.settings.copy_per_s.0)) as Ns;
        let now = self.storage.now();
        let core = (0..self.cores.len()).min_by_key(|at| self.cores[*at]).unwrap_or(0);
        let through = self.cores[core].max(now) + self.settings.operation.nanoseconds() + copying + think_ns;
        self.cores[core] = through;
        through
    }

    /// Submits a request as part of a job, bypassing the page cache.
    pub fn submit(&mut self, job: JobId, io: &IoRequest) {
        self.block_requests.add(io);
        let IoRequest { offset, bytes, is_write, is_through, .. } = *io;
        match &mut self.second {
            Some(second) => second.request(&mut self.storage, job, io),
            None => {
                let level = TierLevel::Origin;
                self.storage.submit(job, LevelIo { level, offset, bytes, is_write, is_through, flow: FlowKind::File });
            }
        }
    }

    /// Reads through the page cache. Missing pages are read as part of a job, with as much again as read-ahead if
    /// `reads_on`.
    pub fn read(&mut self, job: JobId, task: u32, offset: u64, bytes: u64, reads_on: bool) {
        let first = offset / PAGE;
        let last = (offset + bytes).div_ceil(PAGE).min(self.page_count);
        self.counters.reads += last.saturating_sub(first);
        let (mut at, mut awaited) = (first, None);
        while at < last {
            let (found, until) = self.pages.touch(at as u32, last as u32);
            let until = u64::from(until);
            match found {
                PageLookup::Cached => self.counters.read_hits += until - at,
                PageLookup::InFlight(flight) if awaited == Some(flight) => {}
                PageLookup::InFlight(flight) => {
                    awaited = Some(flight);
                    self.storage.hold(job);
                    self.reads.wait(flight, job);
                }
                PageLookup::Missing if until < last || !reads_on => self.read_missing(job, task, at, until),
                PageLookup::Missing => {
                    let end = (last + self.settings.read_ahead.0 / PAGE).min(self.page_count);
                    let end = u64::from(self.pages.missing_until(last as u32, end as u32));
                    self.read_missing(job, task, at, end);
                }
            }
            at = until;
        }
    }

    fn read_missing(&mut self, job: JobId, task: u32, from: u64, until: u64) {
        let most = (self.settings.read_ahead.0 / PAGE).max(1);
        let mut at = from;
        while at < until {
            let end = (at + most).min(until);
            let flight = self.reads.begin(at, end);
            self.storage.hold(job);
            self.reads.wait(flight, job);
            let reads = self.storage.open(Wakeup::PagesRead(flight));
            let io =
                IoRequest { offset: at * PAGE, bytes: (end - at) * PAGE, is_write: false, is_through: false, task };
            self.submit(reads, &io);
            self.storage.close(reads);
            self.pages.expect(at as u32, end as u32, flight);
            at = end;
        }
    }

    /// Changes pages in memory.
    pub fn change(&mut self, offset: u64, bytes: u64) {
        let now = self.storage.now();
        let end = (offset + bytes).div_ceil(PAGE).min(self.page_count);
        self.pages.change((offset / PAGE) as u32, end as u32, now);
    }

    /// Changes a metadata page, which the next commit writes to the journal. A missing page is read first.
    pub fn change_metadata(&mut self, job: JobId, task: u32, offset: u64) {
        self.read(job, task, offset, 1, false);
        self.change(offset, 1);
        self.journal.changed.insert(offset / PAGE);
    }

    /// Discards whole pages of a range from memory, from the second-level cache and from SSDs. Nothing waits for it.
    pub fn discard(&mut self, offset: u64, bytes: u64) {
        let (first, end) = (offset.div_ceil(PAGE), ((offset + bytes) / PAGE).min(self.page_count));
        if first >= end {
            return;
        }
        self.pages.forget(first as u32, end as u32);
        let (offset, bytes) = (first * PAGE, (end - first) * PAGE);
        if let Some(second) = &mut self.second {
            second.discard(&mut self.storage, offset, bytes);
        }
        self.storage.trim(TierLevel::Origin, offset, bytes);
    }

    /// Whether a writing thread must wait; it is woken when it may continue.
    pub fn throttle(&mut self, thread: u32) -> bool {
        self.flush();
        if self.pages.dirty() + self.flushed <= self.limit {
            return false;
        }
        self.throttled.push_back(thread);
        true
    }

    /// Writes back the dirty pages of a range as part of a job, which also waits for those already being written back.
    pub fn write_back(&mut self, job: JobId, task: u32, offset: u64, bytes: u64) {
        let end = (offset + bytes).div_ceil(PAGE).min(self.page_count);
        let mut at = offset / PAGE;
        (0..self.writes.wait_for(at, end, job)).for_each(|_| self.storage.hold(job));
        while let Some(from) = self.pages.dirty_from(at as u32, end as u32).map(u64::from) {
            let until = u64::from(self.pages.dirty_until(from as u32, end.min(from + WRITE_BACK_MAX) as u32));
            let flight = self.write_pages(task, from, until, Wakeup::PagesWritten);
            self.storage.hold(job);
            self.writes.wait(flight, job);
            at = until;
        }
    }

    fn write_pages(&mut self, task: u32, from: u64, until: u64, wake: fn(TransferId) -> Wakeup) -> TransferId {
        self.pages.clean(from as u32, until as u32);
        let flight = self.writes.begin(from, until);
        let job = self.storage.open(wake(flight));
        let io =
            IoRequest { offset: from * PAGE, bytes: (until - from) * PAGE, is_write: true, is_through: false, task };
        self.submit(job, &io);
        self.storage.close(job);
        flight
    }

    /// Ends a transfer and wakes its waiters. Returns its number of pages.
    fn written(&mut self, flight: TransferId) -> u64 {
        let pages = self.writes.end(flight, &mut self.waited);
        self.waited.drain(..).for_each(|job| self.storage.close(job));
        pages.end - pages.start
    }

    fn complete_transfer(&mut self, flight: TransferId) {
        let pages = self.reads.end(flight, &mut self.waited);
        self.pages.arrive(pages.start as u32, pages.end as u32, flight);
        self.waited.drain(..).for_each(|job| self.storage.close(job));
    }

    /// Writes back pages that have expired or are too many.
    fn flush(&mut self) {
        let expired = self.storage.now().saturating_sub(self.settings.dirty_expire.nanoseconds() / self.scale);
        while self.flushing < WRITE_BACK_AT_ONCE {
            let Some((page, since)) = self.pages.oldest_dirty() else { break };
            if since > expired && self.pages.dirty() <= self.background {
                break;
            }
            let lowest = u64::from(page).saturating_sub(WRITE_BACK_MAX / 2);
            let from = u64::from(self.pages.dirty_before(page, lowest as u32));
            let until = u64::from(self.pages.dirty_until(page, (from + WRITE_BACK_MAX).min(self.page_count) as u32));
            self.flushing += 1;
            self.flushed += until - from;
            self.write_pages(FLUSHER, from, until, Wakeup::PagesFlushed);
        }
    }

    /// Makes a thread wait for a commit of all changes so far.
    pub fn commit(&mut self, thread: u32) {
        self.journal.waiting.push_back(thread);
        if !self.journal.is_committing {
            self.start_commit();
        }
    }

    /// Makes a job wait until written data is on the media of all levels, if commits do.
    pub fn flush_media(&mut self, job: JobId) {
        if self.settings.barriers {
            self.storage.flush(job, TierLevel::Origin);
            if let Some(second) = &mut self.second {
                second.flush(&mut self.storage, job);
            }
        }
    }

    fn start_commit(&mut self) {
        let journal = &mut self.journal;
        let bytes = ((journal.changed.len() as u64 + COMMIT_BLOCKS) * PAGE).min(journal.bytes);
        journal.changed.clear();
        if journal.at + bytes > journal.bytes {
            journal.at = 0;
        }
        let offset = journal.at;
        journal.at += bytes;
        journal.is_committing = true;
        let joined = if self.settings.commits_joined { journal.waiting.len() } else { 1 };
        journal.committing.extend(journal.waiting.drain(..joined.min(journal.waiting.len())));
        let job = self.storage.open(Wakeup::CommitWritten);
        let io = IoRequest { offset, bytes, is_write: true, is_through: false, task: FLUSHER - 1 };
        self.submit(job, &io);
        self.storage.close(job);
    }

    fn flush_period(&self) -> Ns {
        (self.settings.dirty_expire.nanoseconds() / FLUSHES_PER_EXPIRY / self.scale).max(1)
    }

    fn commit_period(&self) -> Ns {
        (self.settings.commit.nanoseconds() / self.scale).max(1)
    }

    /// Handles a wakeup of the host. Adds threads that continue to `ready`.
    pub fn wake(&mut self, wake: Wakeup, ready: &mut Vec<u32>) {
        let now = self.storage.now();
        match wake {
            Wakeup::Ignored => {}
            Wakeup::Thread(thread) => ready.push(thread),
            Wakeup::DataSynced(thread) => self.commit(thread),
            Wakeup::CommitWritten => {
                let job = self.storage.open(Wakeup::CommitDone);
                self.flush_media(job);
                self.storage.close(job);
            }
            Wakeup::CommitDone => {
                self.journal.is_committing = false;
                ready.append(&mut self.journal.committing);
                if !self.journal.waiting.is_empty() {
                    self.start_commit();
                }
            }
            Wakeup::CommitTimer => {
                if !self.journal.changed.is_empty() && !self.journal.is_committing {
                    self.start_commit();
                }
                self.storage.wake_at(now + self.commit_period(), Wakeup::CommitTimer);
            }
            Wakeup::PagesRead(flight) => self.complete_transfer(flight),
            Wakeup::PagesWritten(flight) => {
                self.written(flight);
            }
            Wakeup::PagesFlushed(flight) => {
                self.flushing -= 1;
                self.flushed -= self.written(flight);
                self.flush();
                while self.pages.dirty() + self.flushed <= self.limit
                    && let Some(thread) = self.throttled.pop_front()
                {
                    ready.push(thread);
                }
            }
            Wakeup::FlushTimer => {
                self.flush();
                self.storage.wake_at(now + self.flush_period(), Wakeup::FlushTimer);
            }
            Wakeup::PromotionRead { .. }
            | Wakeup::PromotionWritten { .. }
            | Wakeup::FillRead(_)
            | Wakeup::FillWritten(_)
            | Wakeup::NodeTimer(_)
            | Wakeup::WriteBackRead { .. }
            | Wakeup::BlockCleaned { .. }
            | Wakeup::CleanerTimer
            | Wakeup::RateTimer => {
                if let Some(second) = &mut self.second {
                    second.wake(&mut self.storage, wake);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
