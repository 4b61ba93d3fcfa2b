//! Faults answered by a thread of the region.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::core::Core;
use crate::signal::answer;
use crate::system::Owner;
use crate::{Error, Result};

/// A thread that answers the faults of one region, as long as this lives.
pub(crate) struct HandlerThread {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    owner: Owner,
}

impl HandlerThread {
    pub(crate) fn start(core: &Arc<Core>) -> Result<Self> {
        let failed = |error| Error::io("start of a thread", 0, 0)(error);
        let stop = Arc::new(event().map_err(failed)?);
        let (core, until) = (Arc::clone(core), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("recycle-faults".into());
        let thread = thread.spawn(move || serve(&core, &until)).map_err(failed)?;
        Ok(Self { stop, thread: Some(thread), owner: Owner::this_process() })
    }
}

fn serve(core: &Core, stop: &OwnedFd) {
    let Some(mapped) = core.mapped() else { return };
    loop {
        match mapped.next_fault(stop) {
            Ok(Some(fault)) => {
                let page = mapped.page_at(fault.address);
                if !answer(core, fault.address, fault.is_write) {
                    give_up();
                }
                // Where another access had the page provided, nobody else wakes this one. If this fails, the region is
                // being unmapped, and nobody waits.
                let _ = mapped.wake(page);
            }
            Ok(None) => return,
            Err(error) => {
                core.report(&Error::io("read of faults", 0, 0)(error));
                return;
            }
        }
    }
}

/// An access cannot go on, and must not see other bytes: what `mmap` does to the thread, this can only do to the process.
fn give_up() {
    // SAFETY: the call has no pointers.
    unsafe { libc::kill(libc::getpid(), libc::SIGBUS) };
}

fn event() -> io::Result<OwnedFd> {
    // SAFETY: the call has no pointers.
    let file = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if file == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a new descriptor, ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

impl Drop for HandlerThread {
    fn drop(&mut self) {
        if !self.owner.is_this_process() {
            return;
        }
        let one = 1_u64;
        // SAFETY: the value is live, and as long as said. It can only fail where the counter is full, and then the thread
        // has its signal already.
        unsafe { libc::write(self.stop.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
        if let Some(thread) = self.thread.take() {
            // It panicked only where that has been reported.
            let _ = thread.join();
        }
    }
}
