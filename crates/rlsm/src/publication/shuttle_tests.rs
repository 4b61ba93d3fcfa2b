//! The publication under `shuttle`, which explores thousands of thread schedules: one thread writes and rotates, one
//! flushes, two read.

use std::sync::Arc;

use shuttle::thread;

/// The publication itself, with shuttle's locks.
#[expect(clippy::duplicate_mod, reason = "the same publication with shuttle's locks")]
#[path = "cell.rs"]
mod cell;

mod sync {
    use std::sync::{Arc, PoisonError};

    pub(super) use shuttle::sync::atomic::{AtomicU64, Ordering};

    /// An exchange that can fail, as the real one's can.
    pub(super) struct ArcSwap<T>(shuttle::sync::Mutex<Arc<T>>);

    pub(super) type Guard<T> = T;

    impl<T> ArcSwap<T> {
        pub fn from_pointee(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(Arc::new(value)))
        }

        pub fn load(&self) -> Arc<T> {
            self.load_full()
        }

        pub fn load_full(&self) -> Arc<T> {
            Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }

        pub fn rcu(&self, next: impl Fn(&Arc<T>) -> T) {
            loop {
                let before = self.load_full();
                let after = Arc::new(next(&before));
                let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if Arc::ptr_eq(&current, &before) {
                    *current = after;
                    return;
                }
            }
        }
    }
}

/// A memtable: takes writes while readers look at it.
type Buffer = Arc<shuttle::sync::Mutex<Vec<u64>>>;

/// A superversion as the engine has it: a memtable, immutable ones, and what was flushed.
struct SuperVersion {
    buffer: Buffer,
    immutable_memtables: Vec<Buffer>,
    flushed: Vec<u64>,
}

type Publication = cell::Publication<SuperVersion>;

const WRITES: u64 = 5;

fn write(publication: &Publication) {
    for number in 1..=WRITES {
        publication.load().buffer.lock().unwrap().push(number);
        publication.set_last_visible(number);
        if number % 2 == 0 {
            publication.update(|view| {
                let immutable = view.immutable_memtables.iter().chain([&view.buffer]).cloned().collect();
                SuperVersion {
                    buffer: Buffer::default(),
                    immutable_memtables: immutable,
                    flushed: view.flushed.clone(),
                }
            });
        }
    }
}

fn flush(publication: &Publication) {
    for _ in 0..3 {
        let Some(oldest) = publication.load().immutable_memtables.first().cloned() else { continue };
        let writes = oldest.lock().unwrap().clone();
        publication.update(|view| SuperVersion {
            buffer: view.buffer.clone(),
            immutable_memtables: view
                .immutable_memtables
                .iter()
                .filter(|immutable| !Arc::ptr_eq(immutable, &oldest))
                .cloned()
                .collect(),
            flushed: view.flushed.iter().chain(&writes).copied().collect(),
        });
    }
}

/// Every read sees the first writes up to some one, all that were visible before, and none twice.
fn read(publication: &Publication) {
    let mut last = 0;
    for _ in 0..3 {
        let at_least = publication.last_visible().max(last);
        let view = publication.load_owned();
        let visible = publication.last_visible();
        let mut seen = view.flushed.clone();
        for buffer in view.immutable_memtables.iter().chain([&view.buffer]) {
            seen.extend(buffer.lock().unwrap().iter());
        }
        seen.retain(|number| *number <= visible);
        last = seen.len() as u64;
        assert!(seen.iter().copied().eq(1..=last), "{seen:?} was seen");
        assert!(last >= at_least, "{last} writes are seen after {at_least}");
    }
}

fn run() {
    let view = SuperVersion { buffer: Buffer::default(), immutable_memtables: Vec::new(), flushed: Vec::new() };
    let publication = Arc::new(Publication::new(view, 0));
    let roles: [fn(&Publication); 4] = [write, flush, read, read];
    let threads = roles.map(|role| {
        let publication = Arc::clone(&publication);
        thread::spawn(move || role(&publication))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    read(&publication);
}

#[test]
fn readers_see_every_write_that_was_visible_and_none_twice() {
    shuttle::check_random(run, 3_000);
    shuttle::check_pct(run, 3_000, 3);
}
