//! Accounts for the bytes written to the device in the ledger, and enforces the write budget.

use manometer_measure::event::{Finding, Severity};
use manometer_measure::{ByteSize, Directory};
use procfs::{Current as _, Meminfo};

use super::ledger::{Ledger, LedgerEntries, LedgerEntry, LedgerError};
use super::write_counter::{CounterReading, WriteCounter};

/// How often the count is recorded in the ledger, which lies on the measured device.
const RECORD_INTERVAL_NS: u64 = 10_000_000_000;

/// Until the next check as much may be written as since the last one, and once more until all writers have stopped.
const CHECKS_AHEAD: u64 = 2;

/// A check may be late: the bytes written in the busiest interval of this length are kept in reserve.
const RESERVE_INTERVAL_NS: u64 = 1_000_000_000;

/// The write budget of a device directory, and what of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteBudget {
    /// The maximum number of bytes ever written.
    pub limit: ByteSize,
    /// The bytes written before.
    pub before_bytes: u64,
}

impl WriteBudget {
    /// The budget of `limit` where there is one, less what `entries` account for.
    pub fn new(limit: Option<ByteSize>, entries: &LedgerEntries) -> Option<Self> {
        Some(Self { limit: limit?, before_bytes: entries.written_bytes() })
    }

    /// The bytes that may still be written.
    pub fn left_bytes(&self) -> u64 {
        self.limit.0.saturating_sub(self.before_bytes)
    }

    /// Why writing must stop, where it must: `written_bytes` are written, up to `cached_bytes` of the page cache and
    /// `ahead_bytes` may follow before all writers have stopped.
    fn exhausted(&self, written_bytes: u64, cached_bytes: u64, ahead_bytes: u64) -> Option<String> {
        let total = self.before_bytes.saturating_add(written_bytes);
        (total.saturating_add(cached_bytes).saturating_add(ahead_bytes) >= self.limit.0).then(|| {
            format!(
                "the write budget is exhausted: {:.1} MiB of `device.write_budget` = {} are written, {:.1} MiB more may \
                 be in the page cache (of any program: the kernel does not say whose), and the next {:.1} MiB may exceed \
                 it; raise it, or measure for a shorter time",
                ByteSize(total).mib(),
                self.limit,
                ByteSize(cached_bytes).mib(),
                ByteSize(ahead_bytes).mib(),
            )
        })
    }
}

/// Why writing must stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteStop {
    /// The write budget is exhausted.
    #[error("{0}")]
    BudgetExhausted(String),
    /// The written bytes cannot be accounted for.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl WriteStop {
    /// The ids of the findings about it.
    pub const IDS: [&str; 2] = ["write-budget-spent", "writes-not-counted"];

    /// The finding about a run that was stopped.
    pub fn finding(&self) -> Finding {
        let text = format!("The run was stopped: {self}.");
        match self {
            Self::BudgetExhausted(_) => Finding::new("write-budget-spent", Severity::Error, text),
            Self::Ledger(_) => Finding::new("writes-not-counted", Severity::Error, text),
        }
    }
}

/// Accounts for the writes of one run, or of one step of a preparation.
#[derive(Debug)]
pub struct WriteAccount<'a> {
    ledger: &'a mut Ledger,
    id: String,
    what: &'static str,
    counter: WriteCounter,
    /// The writes of our processes, which may still be in the page cache.
    own: WriteCounter,
    budget: Option<WriteBudget>,
    /// The bytes at the last check, including those in the page cache.
    checked_bytes: u64,
    /// The current reserve interval: its start, and the bytes at its start.
    reserve_since: (u64, u64),
    reserve_bytes: u64,
    recorded_ns: u64,
    dirty_bytes_at_start: u64,
}

impl<'a> WriteAccount<'a> {
    /// Opens an account of what `what` writes to the device of the ledger's directory from now on.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn open(
        ledger: &'a mut Ledger,
        what: &'static str,
        limit: Option<ByteSize>,
        now_ns: u64,
    ) -> Result<Self, LedgerError> {
        let (id, counter) = (Ledger::new_id(what), WriteCounter::of(ledger.directory().path()));
        let budget = WriteBudget::new(limit, ledger.entries());
        let (counted, device) = (counter.source(), counter.reading());
        ledger.append(&id, LedgerEntry::Written { what: what.to_owned(), bytes: 0, counted, device, ended: false })?;
        Ok(Self {
            ledger,
            id,
            what,
            counter,
            own: WriteCounter::of_processes(),
            budget,
            checked_bytes: 0,
            reserve_since: (now_ns, 0),
            reserve_bytes: 0,
            recorded_ns: now_ns,
            dirty_bytes_at_start: dirty_bytes(),
        })
    }

    /// The ledger of the account.
    pub fn ledger(&mut self) -> &mut Ledger {
        self.ledger
    }

    /// Adds a process whose writes count.
    pub fn add_process(&mut self, pid: u32) {
        self.counter.add_process(pid);
        self.own.add_process(pid);
    }

    /// The bytes written since the account was opened.
    pub fn written_bytes(&mut self) -> u64 {
        self.counter.bytes()
    }

    /// Updates the account and checks the budget.
    ///
    /// # Errors
    /// Writing must stop.
    pub fn check(&mut self, now_ns: u64) -> Result<(), WriteStop> {
        let written = self.counter.bytes();
        let cached = cached_bytes(self.own.bytes().saturating_sub(written), dirty_bytes(), self.dirty_bytes_at_start);
        let all = written.saturating_add(cached);
        let step = all.saturating_sub(self.checked_bytes);
        self.checked_bytes = all;
        let (since_ns, before) = self.reserve_since;
        self.reserve_bytes = self.reserve_bytes.max(all.saturating_sub(before));
        if now_ns >= since_ns + RESERVE_INTERVAL_NS {
            self.reserve_since = (now_ns, all);
        }
        if now_ns >= self.recorded_ns + RECORD_INTERVAL_NS {
            self.recorded_ns = now_ns;
            self.record()?;
        }
        let ahead = step.saturating_mul(CHECKS_AHEAD).max(self.reserve_bytes);
        let reason = self.budget.and_then(|budget| budget.exhausted(written, cached, ahead));
        reason.map_or(Ok(()), |reason| Err(WriteStop::BudgetExhausted(reason)))
    }

    /// Waits until all writes have reached the device. Returns by how many bytes they exceed the budget, if they do.
    pub fn overrun(&mut self) -> Option<ByteSize> {
        self.sync();
        let written = self.counter.bytes();
        let total = self.budget?.before_bytes.saturating_add(written);
        total.checked_sub(self.budget?.limit.0).filter(|overrun| *overrun > 0).map(ByteSize)
    }

    /// Waits until cached writes have reached the device, whose counter does not include them before.
    fn sync(&self) {
        sync_file_system(self.ledger.directory());
    }

    /// Records the bytes written so far, without waiting for the device.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn record(&mut self) -> Result<(), LedgerError> {
        let entry = self.entry(false);
        self.ledger.append_unsynced(&self.id, entry)
    }

    /// Closes the account durably, once all writes have reached the device.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn close(mut self) -> Result<(), LedgerError> {
        self.sync();
        let entry = self.entry(true);
        self.ledger.append(&self.id, entry)
    }

    fn entry(&mut self, ended: bool) -> LedgerEntry {
        let (bytes, counted, device) = (self.counter.bytes(), self.counter.source(), self.counter.reading());
        LedgerEntry::Written { what: self.what.to_owned(), bytes, counted, device, ended }
    }
}

/// Accounts for what reached the device of the ledger's directory after the last entry of a killed run: the run's cached
/// writes, and what others wrote since, which cannot be distinguished.
///
/// # Errors
/// The ledger cannot be written.
pub(super) fn account_for_killed_runs(ledger: &mut Ledger) -> Result<(), LedgerError> {
    if ledger.entries().unfinished_writes().next().is_none() {
        return Ok(());
    }
    sync_file_system(ledger.directory());
    let now = WriteCounter::of(ledger.directory().path()).reading();
    close_unfinished_writes(ledger, now.as_ref())
}

fn close_unfinished_writes(ledger: &mut Ledger, now: Option<&CounterReading>) -> Result<(), LedgerError> {
    let unfinished = ledger.entries().unfinished_writes();
    let unfinished: Vec<(String, LedgerEntry, CounterReading)> =
        unfinished.map(|(id, entry, then)| (id.to_owned(), entry.clone(), then.clone())).collect();
    // A reading of another device or boot is not comparable.
    let since = |then: &CounterReading| now.and_then(|now| now.since(then));
    let last = unfinished.iter().filter_map(|(.., then)| since(then)).min();
    for (id, entry, then) in unfinished {
        let LedgerEntry::Written { what, bytes, counted, ended, .. } = entry else { continue };
        let since = since(&then).filter(|since| Some(*since) == last).unwrap_or(0);
        // An entry without a reading is closed.
        let bytes = bytes.saturating_add(since);
        ledger.append(&id, LedgerEntry::Written { what, bytes, counted, device: None, ended })?;
    }
    Ok(())
}

/// Writes the page cache of the file system of `directory` to the device.
fn sync_file_system(directory: &Directory) {
    // A write error is reported to the writer.
    let _ = directory.sync_file_system();
}

/// How much of the page cache may be ours: the `dirty` bytes added since the start, or the bytes that our processes wrote
/// the device has not received (`unseen`), whichever is more. Dirty bytes of others may be written meanwhile and hide ours.
fn cached_bytes(unseen: u64, dirty: u64, dirty_at_start: u64) -> u64 {
    dirty.saturating_sub(dirty_at_start).max(unseen.min(dirty))
}

/// The bytes in the page cache that are not yet written to any device.
fn dirty_bytes() -> u64 {
    Meminfo::current().map_or(0, |memory| memory.dirty + memory.writeback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_exhausted_before_it_is_exceeded() {
        let budget = WriteBudget { limit: ByteSize(1000), before_bytes: 300 };
        assert_eq!(budget.left_bytes(), 700);
        assert_eq!(budget.exhausted(500, 99, 100), None);
        let reason = budget.exhausted(500, 100, 100).unwrap();
        assert!(reason.contains("device.write_budget") && reason.contains("1000"), "{reason}");
        assert!(budget.exhausted(u64::MAX, u64::MAX, u64::MAX).is_some());
        assert_eq!(WriteBudget { limit: ByteSize(1), before_bytes: 5 }.left_bytes(), 0);
    }

    #[test]
    fn dirty_bytes_of_others_do_not_hide_ours() {
        assert_eq!(cached_bytes(0, 150, 100), 50);
        assert_eq!(cached_bytes(30, 80, 100), 30, "theirs were written, ours were added");
        assert_eq!(cached_bytes(500, 80, 100), 80, "a device that compresses receives less than was written");
    }

    #[test]
    fn an_unclosed_account_counts_once_as_last_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::in_folder(dir.path());
        let mut account = WriteAccount::open(&mut ledger, "run", None, 0).unwrap();
        let stat = dir.path().join("stat");
        let wrote = |sectors: u64| std::fs::write(&stat, format!("0 0 0 0 0 0 {sectors} 0 0 0 0\n")).unwrap();
        wrote(0);
        account.counter = WriteCounter::of_stat(stat.clone()).unwrap();
        wrote(2);
        account.check(1).unwrap();
        assert_eq!(LedgerEntries::read(dir.path()).unwrap().written_bytes(), 0, "not recorded yet");
        account.check(RECORD_INTERVAL_NS).unwrap();
        wrote(5);
        drop(account);
        assert_eq!(LedgerEntries::read(dir.path()).unwrap().written_bytes(), 1024);
        let mut ledger = Ledger::in_folder(dir.path());
        let mut next = WriteAccount::open(&mut ledger, "run", Some(ByteSize(4096)), 0).unwrap();
        next.counter = WriteCounter::of_stat(stat.clone()).unwrap();
        wrote(9);
        let stop = next.check(1).expect_err("1 KiB before, 2 KiB now, and as much again may follow");
        assert!(matches!(&stop, WriteStop::BudgetExhausted(reason) if reason.contains("4KiB")), "{stop}");
        assert_eq!(next.overrun(), None);
        next.close().unwrap();
        assert_eq!(LedgerEntries::read(dir.path()).unwrap().written_bytes(), 1024 + 2048);
    }

    #[test]
    fn cached_writes_of_a_killed_run_are_accounted_once_and_on_the_same_boot_only() {
        let dir = tempfile::tempdir().unwrap();
        let stat = dir.path().join("stat");
        let wrote = |sectors: u64| std::fs::write(&stat, format!("0 0 0 0 0 0 {sectors} 0 0 0 0\n")).unwrap();
        wrote(10);
        let mut ledger = Ledger::in_folder(dir.path());
        let mut account = WriteAccount::open(&mut ledger, "run", None, 0).unwrap();
        account.counter = WriteCounter::of_stat(stat.clone()).unwrap();
        wrote(12);
        account.record().unwrap();
        drop(account);
        let written = |ledger: &Ledger| ledger.entries().written_bytes();
        assert_eq!(written(&ledger), 1024);
        wrote(20);
        let now = WriteCounter::of_stat(stat.clone()).unwrap().reading().unwrap();
        let after_boot = CounterReading { boot_id: "another".to_owned(), ..now.clone() };
        let mut other = Ledger::in_folder(dir.path());
        close_unfinished_writes(&mut other, Some(&after_boot)).unwrap();
        assert_eq!(written(&other), 1024, "the counter is of another boot");
        close_unfinished_writes(&mut ledger, Some(&now)).unwrap();
        assert_eq!(written(&ledger), 1024 + 8 * 512);
        close_unfinished_writes(&mut ledger, Some(&CounterReading { bytes: 1 << 20, ..now })).unwrap();
        assert_eq!(written(&ledger), 1024 + 8 * 512, "once");
    }

    #[test]
    fn an_overrun_at_the_end_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let stat = dir.path().join("stat");
        let wrote = |sectors: u64| std::fs::write(&stat, format!("0 0 0 0 0 0 {sectors} 0 0 0 0\n")).unwrap();
        wrote(0);
        let mut ledger = Ledger::in_folder(dir.path());
        let mut account = WriteAccount::open(&mut ledger, "run", Some(ByteSize(1024)), 0).unwrap();
        account.counter = WriteCounter::of_stat(stat.clone()).unwrap();
        wrote(2);
        assert_eq!(account.overrun(), None);
        wrote(3);
        assert_eq!(account.overrun(), Some(ByteSize(512)));
    }

    #[test]
    fn an_unwritable_ledger_is_not_an_exhausted_budget() {
        let mut ledger = Ledger::on_full_disk();
        let opened = WriteAccount::open(&mut ledger, "run", None, 0).map(drop);
        let stop = opened.map_err(WriteStop::from).unwrap_err();
        assert_eq!(stop.finding().id, "writes-not-counted");
        assert!(stop.to_string().contains("ledger"), "{stop}");
    }
}
