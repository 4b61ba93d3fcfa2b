//! Faults answered by the faulting thread, in a handler of SIGBUS.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::RwLock;

use crate::core::Core;
use crate::system::{Owner, result};
use crate::{Error, Recovery, Result};

/// The mapped regions of this process.
static REGIONS: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// What handled SIGBUS before us.
static BEFORE: OnceLock<PreviousHandler> = OnceLock::new();

struct Entry {
    addresses: Range<usize>,
    core: Weak<Core>,
}

struct PreviousHandler(libc::sigaction);

// SAFETY: it holds addresses of functions and a set of signals, which any thread may use.
unsafe impl Send for PreviousHandler {}
// SAFETY: as above.
unsafe impl Sync for PreviousHandler {}

/// A mapped region whose faults the handler answers, as long as this lives.
pub(crate) struct Registration {
    addresses: Range<usize>,
    owner: Owner,
}

impl Registration {
    pub(crate) fn new(core: &Arc<Core>) -> Result<Self> {
        install().map_err(Error::io("installation of a handler of SIGBUS", 0, 0))?;
        let addresses = core.mapped().map_or(0..0, |mapped| mapped.addresses());
        REGIONS.write().push(Entry { addresses: addresses.clone(), core: Arc::downgrade(core) });
        Ok(Self { addresses, owner: Owner::this_process() })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // In a forked child the lock may be held by a thread that does not exist there.
        if self.owner.is_this_process() {
            REGIONS.write().retain(|entry| entry.addresses != self.addresses);
        }
    }
}

/// Installs the handler, once.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<std::result::Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: an action of zeroes is a valid one; the handler has the signature that SA_SIGINFO wants.
        let (before, set) = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            // The thread's own stack: an alternate one may be too small for a system call with its buffers. No other
            // signal is blocked, and SIGBUS itself is not: reading a page may take long.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            let mut before: libc::sigaction = std::mem::zeroed();
            let set = libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before);
            (before, set)
        };
        result(set).map_err(|error| error.raw_os_error().unwrap_or(0))?;
        let _ = BEFORE.set(PreviousHandler(before));
        Ok(())
    });
    installed.map_err(io::Error::from_raw_os_error)
}

/// The handler. What it interrupts is an access to a region, so never our own code or the allocator's: it may lock and
/// allocate.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of the thread's errno is always valid.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes a valid description of the signal, and of SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let is_answered = region_at(address).is_some_and(|core| answer(&core, address, is_write(context)));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    if !is_answered {
        pass_on(signal, info, context);
    }
}

fn region_at(address: usize) -> Option<Arc<Core>> {
    let regions = REGIONS.read();
    let mut here = regions.iter().filter(|entry| entry.addresses.contains(&address));
    // Of a forked child's entries some are its parent's, at addresses that may now be another region's.
    here.find_map(|entry| entry.core.upgrade().filter(|core| core.is_of_this_process()))
}

/// Provides the page. Returns whether the access is worth another try.
pub(crate) fn answer(core: &Core, address: usize, is_write: bool) -> bool {
    let Some(mapped) = core.mapped() else { return false };
    let page = mapped.page_at(address);
    if page >= core.pages() {
        return false;
    }
    loop {
        match core.fault(page, is_write) {
            Ok(()) => return true,
            Err(error) => match core.report(&error) {
                Recovery::Retry => {}
                Recovery::Fail => return false,
            },
        }
    }
}

/// Whether the access that the signal interrupted was a write.
fn is_write(context: *mut libc::c_void) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        /// The bit of a page fault's error code that says so.
        const WRITE: i64 = 1 << 1;
        // SAFETY: the kernel passes the context that SA_SIGINFO promises.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        registers[libc::REG_ERR as usize] & WRITE != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // Unknown here: a page that was only read is then written back, which costs time and changes nothing.
        let _ = context;
        true
    }
}

/// Does with a signal that is not for us what would have happened without us.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().map(|before| &before.0);
    match before {
        Some(before) if before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN => {
            if before.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: whoever installed this handler with SA_SIGINFO gave it this signature.
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    unsafe { std::mem::transmute(before.sa_sigaction) };
                handler(signal, info, context);
            } else {
                // SAFETY: whoever installed this handler without SA_SIGINFO gave it this signature.
                let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(before.sa_sigaction) };
                handler(signal);
            }
        }
        _ => {
            // The access is tried again when we return, and ends the process with the default action.
            // SAFETY: the call has no pointers.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
