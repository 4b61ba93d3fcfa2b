//! The page's states under `shuttle`, which explores thousands of thread schedules: a page of a mapped region with its
//! protection bit, its file, writers, a flusher and an evictor. No schedule loses a write, and none hangs.

use std::sync::Arc;

use shuttle::thread;

use super::word::{PageWord, Refusal, State};

/// The cell itself, on shuttle's atomics.
#[expect(clippy::duplicate_mod, reason = "the same cell on shuttle's atomics")]
#[path = "cell.rs"]
mod cell;

/// What `cell.rs` knows as its siblings.
mod word {
    pub(crate) use super::super::word::{PageWord, Refusal};
}

mod sync {
    pub(super) use shuttle::hint::spin_loop as spin;
    pub(super) use shuttle::sync::atomic::{AtomicU64, Ordering};
    use shuttle::sync::{Condvar, Mutex};

    shuttle::lazy_static! {
        static ref LOCK: Mutex<()> = Mutex::new(());
        static ref CHANGED: Condvar = Condvar::new();
    }

    pub(super) fn wait(word: &AtomicU64, low: u32) {
        let guard = LOCK.lock().unwrap();
        if word.load(Ordering::Acquire) as u32 == low {
            drop(CHANGED.wait(guard).unwrap());
        }
    }

    pub(super) fn wake_all(_word: &AtomicU64) {
        let _guard = LOCK.lock().unwrap();
        CHANGED.notify_all();
    }
}

/// The page as the hardware sees it.
#[derive(Debug, Clone, Copy, Default)]
struct Hardware {
    value: u64,
    is_mapped: bool,
    is_protected: bool,
}

/// A page, its memory and its file.
struct Page {
    cell: cell::PageCell,
    memory: shuttle::sync::Mutex<Hardware>,
    file: shuttle::sync::Mutex<u64>,
}

impl Page {
    fn new() -> Arc<Self> {
        let memory = shuttle::sync::Mutex::new(Hardware::default());
        Arc::new(Self { cell: cell::PageCell::new(), memory, file: shuttle::sync::Mutex::new(0) })
    }

    /// One instruction: the value stored, or a fault.
    fn store(&self, value: u64) -> bool {
        let mut memory = self.memory.lock().unwrap();
        let may = memory.is_mapped && !memory.is_protected;
        if may {
            memory.value = value;
        }
        may
    }

    /// What the fault handler does for a write.
    fn fault(&self) {
        match self.cell.change(PageWord::begin_load) {
            Ok(_) => {
                let value = *self.file.lock().unwrap();
                *self.memory.lock().unwrap() = Hardware { value, is_mapped: true, is_protected: true };
                self.cell.finish(|word| word.finish_load(0, false, 0));
            }
            Err((Refusal::Nothing, _)) => match self.cell.change(PageWord::begin_unprotect) {
                Ok(_) => {
                    self.memory.lock().unwrap().is_protected = false;
                    self.cell.finish(PageWord::finish_unprotect);
                }
                Err((Refusal::Wait, seen)) => self.cell.wait(seen),
                Err(_) => {}
            },
            Err((_, seen)) => self.cell.wait(seen),
        }
    }

    fn write(&self, value: u64) {
        while !self.store(value) {
            self.fault();
        }
    }

    fn flush(&self) {
        if self.cell.change_when_free(PageWord::begin_write).is_ok() {
            self.memory.lock().unwrap().is_protected = true;
            let value = self.memory.lock().unwrap().value;
            *self.file.lock().unwrap() = value;
            assert_eq!(value, self.memory.lock().unwrap().value, "a page under write does not change");
            self.cell.finish(|word| word.finish_write(true));
        }
    }

    fn evict(&self, clean_only: bool) {
        let Ok(word) = self.cell.change(|word| word.begin_evict(clean_only)) else { return };
        if word.is_dirty() {
            self.memory.lock().unwrap().is_protected = true;
            let value = self.memory.lock().unwrap().value;
            *self.file.lock().unwrap() = value;
        }
        *self.memory.lock().unwrap() = Hardware::default();
        self.cell.finish(|word| word.finish_evict(1));
    }
}

/// Two writers that never meet in value, a flusher and two evictors; then the file holds a last write of one of them.
fn no_write_is_lost() {
    let page = Page::new();
    let writers = [100, 200].map(|base| {
        let page = Arc::clone(&page);
        thread::spawn(move || (1..=2).for_each(|number| page.write(base + number)))
    });
    let others = [
        Box::new(Page::flush) as Box<dyn Fn(&Page) + Send>,
        Box::new(|page: &Page| page.evict(true)),
        Box::new(|page: &Page| page.evict(false)),
    ];
    let others = others.map(|work| {
        let page = Arc::clone(&page);
        thread::spawn(move || (0..2).for_each(|_| work(&page)))
    });
    writers.into_iter().chain(others).for_each(|thread| thread.join().unwrap());
    page.flush();
    let file = *page.file.lock().unwrap();
    assert!([102, 202].contains(&file), "the file has {file}: the last write of either is lost");
}

/// What a flush returns after a write is in the file, whoever else writes or evicts.
fn a_flush_waits_for_what_was_written_before_it() {
    let page = Page::new();
    let evictor = {
        let page = Arc::clone(&page);
        thread::spawn(move || (0..3).for_each(|_| page.evict(false)))
    };
    let flusher = {
        let page = Arc::clone(&page);
        thread::spawn(move || page.flush())
    };
    page.write(1);
    page.flush();
    assert_eq!(*page.file.lock().unwrap(), 1);
    evictor.join().unwrap();
    flusher.join().unwrap();
}

/// Pins exclude eviction, exclusive pins exclude each other.
fn pins_are_respected() {
    let page = Page::new();
    page.cell.change(PageWord::begin_load).unwrap();
    page.cell.finish(|word| word.finish_load(0, false, 0));
    let threads = [0, 1].map(|_| {
        let page = Arc::clone(&page);
        thread::spawn(move || {
            while let Err(refusal) = page.cell.change_when_free(PageWord::pin_exclusively) {
                assert_eq!(refusal, Refusal::Absent);
                page.fault();
            }
            let value = *page.file.lock().unwrap();
            shuttle::thread::yield_now();
            *page.file.lock().unwrap() = value + 1;
            page.cell.finish(PageWord::unpin);
        })
    });
    for _ in 0..2 {
        if page.cell.change(|word| word.begin_evict(false)).is_ok() {
            page.cell.finish(|word| word.finish_evict(1));
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*page.file.lock().unwrap(), 2, "two exclusive holders at a time");
    assert!(matches!(page.cell.load().state(), State::Resident | State::Absent));
}

#[test]
fn no_schedule_loses_a_write() {
    shuttle::check_random(no_write_is_lost, 3_000);
    shuttle::check_pct(no_write_is_lost, 3_000, 3);
}

#[test]
fn no_schedule_lets_a_flush_return_early() {
    shuttle::check_random(a_flush_waits_for_what_was_written_before_it, 3_000);
    shuttle::check_pct(a_flush_waits_for_what_was_written_before_it, 3_000, 3);
}

#[test]
fn no_schedule_breaks_a_pin() {
    shuttle::check_random(pins_are_respected, 3_000);
    shuttle::check_pct(pins_are_respected, 3_000, 3);
}
