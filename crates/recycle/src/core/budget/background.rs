//! The thread that writes dirty pages back for clean-only recycling: what `kswapd` is to the kernel.

use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use crate::system::Owner;

#[derive(Debug, Default)]
struct Progress {
    requested: u64,
    served: u64,
    is_over: bool,
}

#[derive(Debug, Default)]
struct BackgroundQueue {
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// A thread that works when asked to.
#[derive(Debug)]
pub(super) struct Background {
    desk: Arc<BackgroundQueue>,
    thread: Option<JoinHandle<()>>,
    owner: Owner,
}

impl Background {
    /// Starts it; `work` is done once for all requests that came before it began.
    pub(super) fn start(mut work: impl FnMut() + Send + 'static) -> std::io::Result<Self> {
        let desk = Arc::new(BackgroundQueue::default());
        let of_thread = Arc::clone(&desk);
        let serve = move || {
            while let Some(request) = of_thread.next() {
                work();
                of_thread.progress.lock().served = request;
                of_thread.changed.notify_all();
            }
        };
        let thread = std::thread::Builder::new().name("recycle-reclaim".into()).spawn(serve)?;
        Ok(Self { desk, thread: Some(thread), owner: Owner::this_process() })
    }

    /// Asks for the work and waits until it is done.
    pub(super) fn request(&self) {
        let mut progress = self.desk.progress.lock();
        progress.requested += 1;
        let mine = progress.requested;
        self.desk.changed.notify_all();
        while progress.served < mine && !progress.is_over {
            self.desk.changed.wait(&mut progress);
        }
    }
}

impl BackgroundQueue {
    fn next(&self) -> Option<u64> {
        let mut progress = self.progress.lock();
        while progress.requested == progress.served && !progress.is_over {
            self.changed.wait(&mut progress);
        }
        (!progress.is_over).then_some(progress.requested)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if !self.owner.is_this_process() {
            return;
        }
        self.desk.progress.lock().is_over = true;
        self.desk.changed.notify_all();
        // The thread itself drops this where it held the budget last: then there is nothing to wait for.
        let other = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id());
        if let Some(thread) = other {
            // It panicked only if its work did, which has been reported then.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_request_returns_when_its_work_is_done() {
        let done = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&done);
        let work = move || {
            counted.fetch_add(1, Ordering::SeqCst);
        };
        let background = Background::start(work).unwrap();
        for number in 1..=3 {
            background.request();
            assert_eq!(done.load(Ordering::SeqCst), number);
        }
    }
}
