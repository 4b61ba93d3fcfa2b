//! Keeps the ledger while something writes, and says when the write budget is spent.

use std::fs::File;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_measure::event::{Finding, Severity};
use procfs::{Current as _, Meminfo};

use super::counter::{Counter, Stand};
use super::ledger::{Book, Entry, Ledger, LedgerError};

/// How often a count is written down: what a cut costs at most. The line itself reaches the measured device.
const NOTE_EVERY_NS: u64 = 10_000_000_000;

/// Between two looks as much may be written as between the last two, and once more before all have stopped.
const LOOKS_AHEAD: u64 = 2;

/// A look may come late: as much is kept in reserve as was written in any such time.
const RESERVE_NS: u64 = 1_000_000_000;

/// What may be written to a device, and what was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most that may ever be written.
    pub limit: ByteSize,
    /// What was written before.
    pub before_bytes: u64,
}

impl Budget {
    /// The budget of `limit`, where there is one, after all that is in `book`.
    pub fn new(limit: Option<ByteSize>, book: &Book) -> Option<Self> {
        Some(Self { limit: limit?, before_bytes: book.written_bytes() })
    }

    /// What may still be written.
    pub fn left_bytes(&self) -> u64 {
        self.limit.0.saturating_sub(self.before_bytes)
    }

    /// Why writing has to stop now: `written_bytes` were written by now, `ahead_bytes` may be before it has stopped.
    fn spent(&self, written_bytes: u64, ahead_bytes: u64) -> Option<String> {
        let by_now = self.before_bytes.saturating_add(written_bytes);
        (by_now.saturating_add(ahead_bytes) >= self.limit.0).then(|| {
            format!(
                "the write budget is spent: of `device.write_budget` = {} {:.1} MiB were written, and the next moments \
                 would pass it; raise it, or measure for a shorter time",
                self.limit,
                ByteSize(by_now).mib()
            )
        })
    }
}

/// Why writing has to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Halt {
    /// The write budget is spent.
    #[error("{0}")]
    Spent(String),
    /// What is written cannot be counted.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Halt {
    /// The finding that tells it of a run.
    pub fn finding(&self) -> Finding {
        let text = format!("The run was stopped: {self}.");
        match self {
            Self::Spent(_) => {
                Finding { id: "write-budget-spent".to_owned(), severity: Severity::Error, phase: None, text }
            }
            Self::Ledger(_) => {
                Finding { id: "writes-not-counted".to_owned(), severity: Severity::Error, phase: None, text }
            }
        }
    }
}

/// The account of one run, or of one step of a preparation.
#[derive(Debug)]
pub struct Account<'a> {
    ledger: &'a mut Ledger,
    directory: PathBuf,
    id: String,
    what: &'static str,
    counter: Counter,
    /// What our processes wrote, which may still wait in memory.
    own: Counter,
    budget: Option<Budget>,
    /// What the last look saw, that which waited in memory included.
    seen_bytes: u64,
    /// The reserve's time that goes on: when it began, and what was seen then.
    reserve_since: (u64, u64),
    reserve_bytes: u64,
    noted_ns: u64,
    dirty_bytes_at_start: u64,
}

impl<'a> Account<'a> {
    /// Opens an account for `what` writes to the device under `directory` from now on.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn open(
        ledger: &'a mut Ledger,
        directory: &Path,
        what: &'static str,
        limit: Option<ByteSize>,
        now_ns: u64,
    ) -> Result<Self, LedgerError> {
        let (id, counter) = (Ledger::fresh_id(what), Counter::of(directory));
        let budget = Budget::new(limit, ledger.book());
        let (counted, device) = (counter.counted(), counter.stand());
        ledger.append(&id, Entry::Written { what: what.to_owned(), bytes: 0, counted, device, ended: false })?;
        Ok(Self {
            ledger,
            directory: directory.to_owned(),
            id,
            what,
            counter,
            own: Counter::of_processes(),
            budget,
            seen_bytes: 0,
            reserve_since: (now_ns, 0),
            reserve_bytes: 0,
            noted_ns: now_ns,
            dirty_bytes_at_start: dirty_bytes(),
        })
    }

    /// The ledger that it is kept in.
    pub fn ledger(&mut self) -> &mut Ledger {
        self.ledger
    }

    /// Counts what the process `pid` writes too, where the device does not count, and what of it waits in memory.
    pub fn watch(&mut self, pid: u32) {
        self.counter.watch(pid);
        self.own.watch(pid);
    }

    /// What was written since it was opened.
    pub fn written_bytes(&mut self) -> u64 {
        self.counter.bytes()
    }

    /// Looks how much was written.
    ///
    /// # Errors
    /// Writing has to stop.
    pub fn look(&mut self, now_ns: u64) -> Result<(), Halt> {
        let written = self.counter.bytes();
        let waiting = waiting_bytes(self.own.bytes().saturating_sub(written), dirty_bytes(), self.dirty_bytes_at_start);
        let all = written.saturating_add(waiting);
        let step = all.saturating_sub(self.seen_bytes);
        self.seen_bytes = all;
        let (since_ns, before) = self.reserve_since;
        self.reserve_bytes = self.reserve_bytes.max(all.saturating_sub(before));
        if now_ns >= since_ns + RESERVE_NS {
            self.reserve_since = (now_ns, all);
        }
        if now_ns >= self.noted_ns + NOTE_EVERY_NS {
            self.noted_ns = now_ns;
            self.note()?;
        }
        let ahead = step.saturating_mul(LOOKS_AHEAD).max(self.reserve_bytes).saturating_add(waiting);
        let reason = self.budget.and_then(|budget| budget.spent(written, ahead));
        reason.map_or(Ok(()), |reason| Err(Halt::Spent(reason)))
    }

    /// Waits until all that was written has reached the device; by how many bytes that passed the budget, if it did.
    pub fn passed_by(&mut self) -> Option<ByteSize> {
        self.settle();
        let written = self.counter.bytes();
        let by_now = self.budget?.before_bytes.saturating_add(written);
        by_now.checked_sub(self.budget?.limit.0).filter(|beyond| *beyond > 0).map(ByteSize)
    }

    /// Waits until what waits in memory has reached the device, whose own account would not show it before.
    fn settle(&self) {
        // What cannot be written at all is told to whoever wrote it.
        let _ = File::open(&self.directory).and_then(|directory| Ok(rustix::fs::syncfs(&directory)?));
    }

    /// Writes down what was written by now, without waiting for the device.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn note(&mut self) -> Result<(), LedgerError> {
        let entry = self.entry(false);
        self.ledger.note(&self.id, entry)
    }

    /// Closes the account, durably, once all that was written has reached the device.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn close(mut self) -> Result<(), LedgerError> {
        self.settle();
        let entry = self.entry(true);
        self.ledger.append(&self.id, entry)
    }

    fn entry(&mut self, ended: bool) -> Entry {
        let (bytes, counted, device) = (self.counter.bytes(), self.counter.counted(), self.counter.stand());
        Entry::Written { what: self.what.to_owned(), bytes, counted, device, ended }
    }
}

/// Books what reached the device under `directory` after the last line of a run that was cut: what it left in memory,
/// and what others wrote meanwhile, which cannot be told apart.
///
/// # Errors
/// The ledger cannot be written.
pub(super) fn book_after_cut(ledger: &mut Ledger, directory: &Path) -> Result<(), LedgerError> {
    if ledger.book().cut().next().is_none() {
        return Ok(());
    }
    // As for an account that is closed.
    let _ = File::open(directory).and_then(|directory| Ok(rustix::fs::syncfs(&directory)?));
    let now = Counter::of(directory).stand();
    book_until(ledger, now.as_ref())
}

fn book_until(ledger: &mut Ledger, now: Option<&Stand>) -> Result<(), LedgerError> {
    let cut: Vec<(String, Entry, Stand)> =
        ledger.book().cut().map(|(id, entry, then)| (id.to_owned(), entry.clone(), then.clone())).collect();
    // One that is of another device or start of the host shares no account with what is now.
    let since = |then: &Stand| now.and_then(|now| now.since(then));
    let last = cut.iter().filter_map(|(.., then)| since(then)).min();
    for (id, entry, then) in cut {
        let Entry::Written { what, bytes, counted, ended, .. } = entry else { continue };
        let since = since(&then).filter(|since| Some(*since) == last).unwrap_or(0);
        // Without a stand it is not booked again.
        let bytes = bytes.saturating_add(since);
        ledger.append(&id, Entry::Written { what, bytes, counted, device: None, ended })?;
    }
    Ok(())
}

/// What of ours may wait in memory: of `dirty` bytes what came since the start, or what our processes wrote and the
/// device has not seen, whichever is more. What others left there may go out meanwhile and hide what we put in.
fn waiting_bytes(unseen: u64, dirty: u64, dirty_at_start: u64) -> u64 {
    dirty.saturating_sub(dirty_at_start).max(unseen.min(dirty))
}

/// What waits in memory to be written to some device.
fn dirty_bytes() -> u64 {
    Meminfo::current().map_or(0, |memory| memory.dirty + memory.writeback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_before_it_is_passed() {
        let budget = Budget { limit: ByteSize(1000), before_bytes: 300 };
        assert_eq!(budget.left_bytes(), 700);
        assert_eq!(budget.spent(500, 199), None);
        let reason = budget.spent(500, 200).unwrap();
        assert!(reason.contains("device.write_budget") && reason.contains("1000"), "{reason}");
        assert!(budget.spent(u64::MAX, u64::MAX).is_some());
        assert_eq!(Budget { limit: ByteSize(1), before_bytes: 5 }.left_bytes(), 0);
    }

    #[test]
    fn what_others_leave_in_memory_does_not_hide_what_we_put_in() {
        assert_eq!(waiting_bytes(0, 150, 100), 50);
        assert_eq!(waiting_bytes(30, 80, 100), 30, "theirs went out, ours came in");
        assert_eq!(waiting_bytes(500, 80, 100), 80, "a device that compresses sees less than was written");
    }

    #[test]
    fn what_is_not_closed_counts_as_it_was_noted_last_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut account = Account::open(&mut ledger, dir.path(), "run", None, 0).unwrap();
        let stat = dir.path().join("stat");
        let wrote = |sectors: u64| std::fs::write(&stat, format!("0 0 0 0 0 0 {sectors} 0 0 0 0\n")).unwrap();
        wrote(0);
        account.counter = Counter::of_stat(stat.clone()).unwrap();
        wrote(2);
        account.look(1).unwrap();
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 0, "not noted yet");
        account.look(NOTE_EVERY_NS).unwrap();
        wrote(5);
        drop(account);
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 1024);
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut next = Account::open(&mut ledger, dir.path(), "run", Some(ByteSize(4096)), 0).unwrap();
        next.counter = Counter::of_stat(stat.clone()).unwrap();
        wrote(9);
        let halt = next.look(1).expect_err("1 KiB before, 2 KiB now, and as much again is on its way");
        assert!(matches!(&halt, Halt::Spent(reason) if reason.contains("4KiB")), "{halt}");
        assert_eq!(next.passed_by(), None);
        next.close().unwrap();
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 1024 + 2048);
    }
    #[test]
    fn what_a_cut_run_left_in_memory_is_booked_once_and_only_on_the_same_boot() {
        let dir = tempfile::tempdir().unwrap();
        let stat = dir.path().join("stat");
        let wrote = |sectors: u64| std::fs::write(&stat, format!("0 0 0 0 0 0 {sectors} 0 0 0 0\n")).unwrap();
        wrote(10);
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut account = Account::open(&mut ledger, dir.path(), "run", None, 0).unwrap();
        account.counter = Counter::of_stat(stat.clone()).unwrap();
        wrote(12);
        account.note().unwrap();
        drop(account);
        let written = |ledger: &Ledger| ledger.book().written_bytes();
        assert_eq!(written(&ledger), 1024);
        wrote(20);
        let now = Counter::of_stat(stat.clone()).unwrap().stand().unwrap();
        let after_boot = Stand { boot_id: "another".to_owned(), ..now.clone() };
        let mut other = Ledger::open(dir.path()).unwrap();
        book_until(&mut other, Some(&after_boot)).unwrap();
        assert_eq!(written(&other), 1024, "the device counts from its last start");
        book_until(&mut ledger, Some(&now)).unwrap();
        assert_eq!(written(&ledger), 1024 + 8 * 512);
        book_until(&mut ledger, Some(&Stand { bytes: 1 << 20, ..now })).unwrap();
        assert_eq!(written(&ledger), 1024 + 8 * 512, "once");
    }

    #[test]
    fn a_budget_that_was_passed_at_the_end_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let stat = dir.path().join("stat");
        let wrote = |sectors: u64| std::fs::write(&stat, format!("0 0 0 0 0 0 {sectors} 0 0 0 0\n")).unwrap();
        wrote(0);
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut account = Account::open(&mut ledger, dir.path(), "run", Some(ByteSize(1024)), 0).unwrap();
        account.counter = Counter::of_stat(stat.clone()).unwrap();
        wrote(2);
        assert_eq!(account.passed_by(), None);
        wrote(3);
        assert_eq!(account.passed_by(), Some(ByteSize(512)));
    }

    #[test]
    fn a_ledger_that_cannot_be_written_is_no_spent_budget() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::on_full_disk();
        let halt = Account::open(&mut ledger, dir.path(), "run", None, 0).map(drop).map_err(Halt::from).unwrap_err();
        assert_eq!(halt.finding().id, "writes-not-counted");
        assert!(halt.to_string().contains("ledger"), "{halt}");
    }
}
