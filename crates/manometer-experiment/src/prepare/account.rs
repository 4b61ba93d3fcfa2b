//! Keeps the ledger while something writes, and says when the write budget is spent.

use std::path::Path;

use manometer_measure::ByteSize;
use procfs::{Current as _, Meminfo};

use super::counter::Counter;
use super::ledger::{Book, Entry, Ledger, LedgerError};

/// How often a count is written down: what a cut costs at most. The line itself reaches the measured device.
const NOTE_EVERY_NS: u64 = 10_000_000_000;

/// Between two looks as much may be written as between the last two, and once more before all have stopped.
const LOOKS_AHEAD: u64 = 2;

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

/// The account of one run, or of one step of a preparation.
#[derive(Debug)]
pub struct Account<'a> {
    ledger: &'a mut Ledger,
    id: String,
    what: &'static str,
    counter: Counter,
    budget: Option<Budget>,
    /// What the last look saw.
    seen_bytes: u64,
    step_bytes: u64,
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
        let written = Entry::Written { what: what.to_owned(), bytes: 0, counted: counter.counted(), ended: false };
        ledger.append(&id, written)?;
        let dirty_bytes_at_start = dirty_bytes();
        Ok(Self {
            ledger,
            id,
            what,
            counter,
            budget,
            seen_bytes: 0,
            step_bytes: 0,
            noted_ns: now_ns,
            dirty_bytes_at_start,
        })
    }

    /// Counts what the process `pid` writes too, where the device does not count.
    pub fn watch(&mut self, pid: u32) {
        self.counter.watch(pid);
    }

    /// What was written since it was opened.
    pub fn written_bytes(&mut self) -> u64 {
        self.counter.bytes()
    }

    /// Looks how much was written; returns why writing has to stop, if it has to.
    pub fn look(&mut self, now_ns: u64) -> Option<String> {
        let written = self.counter.bytes();
        self.step_bytes = written - self.seen_bytes;
        self.seen_bytes = written;
        if now_ns >= self.noted_ns + NOTE_EVERY_NS {
            self.noted_ns = now_ns;
            if let Err(error) = self.note() {
                return Some(error.to_string());
            }
        }
        let budget = self.budget?;
        let waiting = dirty_bytes().saturating_sub(self.dirty_bytes_at_start);
        budget.spent(written, (self.step_bytes * LOOKS_AHEAD).saturating_add(waiting))
    }

    /// Writes down what was written by now, without waiting for the device.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn note(&mut self) -> Result<(), LedgerError> {
        let entry = self.entry(false);
        self.ledger.note(&self.id, entry)
    }

    /// Closes the account, durably.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn close(mut self) -> Result<(), LedgerError> {
        let entry = self.entry(true);
        self.ledger.append(&self.id, entry)
    }

    fn entry(&mut self, ended: bool) -> Entry {
        let (bytes, counted) = (self.counter.bytes(), self.counter.counted());
        Entry::Written { what: self.what.to_owned(), bytes, counted, ended }
    }
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
    fn what_is_not_closed_counts_as_it_was_noted_last_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut account = Account::open(&mut ledger, dir.path(), "run", None, 0).unwrap();
        let stat = dir.path().join("stat");
        let wrote = |sectors: u64| std::fs::write(&stat, format!("0 0 0 0 0 0 {sectors} 0 0 0 0\n")).unwrap();
        wrote(0);
        account.counter = Counter::of_stat(stat.clone()).unwrap();
        wrote(2);
        assert_eq!(account.look(1), None);
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 0, "not noted yet");
        assert_eq!(account.look(NOTE_EVERY_NS), None);
        wrote(5);
        drop(account);
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 1024);
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut next = Account::open(&mut ledger, dir.path(), "run", Some(ByteSize(4096)), 0).unwrap();
        next.counter = Counter::of_stat(stat.clone()).unwrap();
        wrote(9);
        let reason = next.look(1).expect("1 KiB before, 2 KiB now, and as much again is on its way");
        assert!(reason.contains("4KiB"), "{reason}");
        next.close().unwrap();
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 1024 + 2048);
    }
}
