//! A publication under `shuttle`, which runs its threads in thousands of orders: one writes and freezes, one flushes,
//! two read.

use std::sync::Arc;

use shuttle::thread;

/// The publication itself, on what is below.
#[expect(clippy::duplicate_mod, reason = "the same publication, on other locks")]
#[path = "cell.rs"]
mod cell;

mod sync {
    use std::sync::{Arc, PoisonError};

    pub(super) use shuttle::sync::atomic::{AtomicU64, Ordering};

    /// An exchange that can fail, as that of the real one can.
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

/// Takes writes while readers look at it.
type Buffer = Arc<shuttle::sync::Mutex<Vec<u64>>>;

/// What the engine's views are made of: a buffer that takes writes, full ones, and what was flushed.
struct View {
    buffer: Buffer,
    frozen: Vec<Buffer>,
    flushed: Vec<u64>,
}

type Publication = cell::Publication<View>;

const WRITES: u64 = 5;

fn write(publication: &Publication) {
    for number in 1..=WRITES {
        publication.view().buffer.lock().unwrap().push(number);
        publication.show(number);
        if number % 2 == 0 {
            publication.change(|view| {
                let frozen = view.frozen.iter().chain([&view.buffer]).cloned().collect();
                View { buffer: Buffer::default(), frozen, flushed: view.flushed.clone() }
            });
        }
    }
}

fn flush(publication: &Publication) {
    for _ in 0..3 {
        let Some(oldest) = publication.view().frozen.first().cloned() else { continue };
        let writes = oldest.lock().unwrap().clone();
        publication.change(|view| View {
            buffer: view.buffer.clone(),
            frozen: view.frozen.iter().filter(|frozen| !Arc::ptr_eq(frozen, &oldest)).cloned().collect(),
            flushed: view.flushed.iter().chain(&writes).copied().collect(),
        });
    }
}

/// Each time sees the first writes up to some one, all that were visible before, and none twice.
fn read(publication: &Publication) {
    let mut last = 0;
    for _ in 0..3 {
        let at_least = publication.visible().max(last);
        let view = publication.view_to_keep();
        let visible = publication.visible();
        let mut seen = view.flushed.clone();
        for buffer in view.frozen.iter().chain([&view.buffer]) {
            seen.extend(buffer.lock().unwrap().iter());
        }
        seen.retain(|number| *number <= visible);
        last = seen.len() as u64;
        assert!(seen.iter().copied().eq(1..=last), "{seen:?} was seen");
        assert!(last >= at_least, "{last} writes are seen after {at_least}");
    }
}

fn run() {
    let view = View { buffer: Buffer::default(), frozen: Vec::new(), flushed: Vec::new() };
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
