//! userfaultfd: the kernel reports accesses to absent or protected pages, and places pages for us.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use crate::Faults;
use crate::system::{Memory, result};

const API: u64 = 0xAA;
const FEATURE_WRITE_PROTECT: u64 = 1 << 0;
const FEATURE_SIGBUS: u64 = 1 << 7;
const USER_MODE_ONLY: libc::c_int = 1;
const REGISTER_MISSING: u64 = 1 << 0;
const REGISTER_WRITE_PROTECT: u64 = 1 << 1;
const COPY_WITHOUT_WAKING: u64 = 1 << 0;
const COPY_PROTECTED: u64 = 1 << 1;
const PROTECT: u64 = 1 << 0;
const PROTECT_WITHOUT_WAKING: u64 = 1 << 1;
const EVENT_PAGE_FAULT: u8 = 0x12;
const FAULT_WRITE: u64 = 1 << 0;

/// The number of an ioctl of userfaultfd: direction, size of its argument, number.
const fn ioctl_number(direction: u64, bytes: usize, number: u64) -> u64 {
    direction << 30 | (bytes as u64) << 16 | 0xAA << 8 | number
}

const READ_WRITE: u64 = 3;
const READ: u64 = 2;
const NEW: u64 = ioctl_number(0, 0, 0);
const SET_API: u64 = ioctl_number(READ_WRITE, size_of::<ApiArgument>(), 0x3F);
const REGISTER: u64 = ioctl_number(READ_WRITE, size_of::<RegisterArgument>(), 0);
const WAKE: u64 = ioctl_number(READ, size_of::<RangeArgument>(), 2);
const COPY: u64 = ioctl_number(READ_WRITE, size_of::<CopyArgument>(), 3);
const WRITE_PROTECT: u64 = ioctl_number(READ_WRITE, size_of::<ProtectArgument>(), 6);

#[repr(C)]
struct ApiArgument {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct RangeArgument {
    start: u64,
    bytes: u64,
}

#[repr(C)]
struct RegisterArgument {
    range: RangeArgument,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct CopyArgument {
    to: u64,
    from: u64,
    bytes: u64,
    mode: u64,
    copied: i64,
}

#[repr(C)]
struct ProtectArgument {
    range: RangeArgument,
    mode: u64,
}

/// A message of the kernel; of its argument we use flags and address.
#[repr(C)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u64,
}

/// An access that found its page absent or protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) address: usize,
    pub(crate) is_write: bool,
}

/// A userfaultfd, with the features that a way of answering faults needs.
pub(crate) struct Userfaultfd {
    file: OwnedFd,
}

impl Userfaultfd {
    /// Opens one.
    ///
    /// # Errors
    /// The kernel does not have it, or does not allow it.
    pub(crate) fn open(faults: Faults) -> io::Result<Self> {
        let (flags, features) = match faults {
            Faults::Signal => (USER_MODE_ONLY, FEATURE_SIGBUS | FEATURE_WRITE_PROTECT),
            Faults::Thread => (0, FEATURE_WRITE_PROTECT),
        };
        let opened = Self { file: open_file(flags)? };
        let mut argument = ApiArgument { api: API, features, ioctls: 0 };
        opened.ioctl(SET_API, &mut argument)?;
        Ok(opened)
    }

    /// Has the kernel report accesses to all of `memory`.
    pub(crate) fn register(&self, memory: &Memory) -> io::Result<()> {
        let range = RangeArgument { start: memory.start() as u64, bytes: memory.bytes() as u64 };
        let mode = REGISTER_MISSING | REGISTER_WRITE_PROTECT;
        self.ioctl(REGISTER, &mut RegisterArgument { range, mode, ioctls: 0 })
    }

    /// Places a copy of `from` at the absent pages of address `to`. Who waits for them is woken by [`Self::wake`], once
    /// the page is in the books: a write that went on before would be missed by the `sync` after it.
    ///
    /// # Safety
    /// `to` is in registered memory.
    pub(crate) unsafe fn copy(&self, to: *mut u8, from: &[u8], is_protected: bool) -> io::Result<()> {
        let mode = COPY_WITHOUT_WAKING | if is_protected { COPY_PROTECTED } else { 0 };
        let mut done = 0;
        while done < from.len() {
            let mut argument = CopyArgument {
                to: to as u64 + done as u64,
                from: from.as_ptr() as u64 + done as u64,
                bytes: (from.len() - done) as u64,
                mode,
                copied: 0,
            };
            let copied = self.ioctl(COPY, &mut argument);
            match (copied, usize::try_from(argument.copied)) {
                (Ok(()), _) => return Ok(()),
                // The address space was changing: some pages are in place, the rest is to be tried again.
                (Err(error), progress) if error.raw_os_error() == Some(libc::EAGAIN) => done += progress.unwrap_or(0),
                (Err(error), _) => return Err(error),
            }
        }
        Ok(())
    }

    /// Protects present pages from writing, or lifts the protection. Who waits is woken by [`Self::wake`].
    pub(crate) fn protect(&self, start: *mut u8, bytes: usize, is_protected: bool) -> io::Result<()> {
        let mode = if is_protected { PROTECT } else { PROTECT_WITHOUT_WAKING };
        loop {
            let range = RangeArgument { start: start as u64, bytes: bytes as u64 };
            match self.ioctl(WRITE_PROTECT, &mut ProtectArgument { range, mode }) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                done => return done,
            }
        }
    }

    /// Lets whoever waits for these pages try its access again.
    pub(crate) fn wake(&self, start: *mut u8, bytes: usize) -> io::Result<()> {
        self.ioctl(WAKE, &mut RangeArgument { start: start as u64, bytes: bytes as u64 })
    }

    /// Waits for the next fault, or until `stop` is readable: then there is none.
    pub(crate) fn next(&self, stop: &OwnedFd) -> io::Result<Option<Fault>> {
        loop {
            let wanted = |file: &OwnedFd| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            let mut files = [wanted(&self.file), wanted(stop)];
            // SAFETY: the array is as long as said.
            match result(unsafe { libc::poll(files.as_mut_ptr(), 2, -1) }) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            if files[1].revents != 0 {
                return Ok(None);
            }
            if let Some(fault) = self.read()? {
                return Ok(Some(fault));
            }
        }
    }

    fn read(&self) -> io::Result<Option<Fault>> {
        let mut message = Message { event: 0, reserved: [0; 7], flags: 0, address: 0, thread: 0 };
        // SAFETY: the message is as long as said, and any bytes are a valid one.
        let read = unsafe { libc::read(self.file.as_raw_fd(), (&raw mut message).cast(), size_of::<Message>()) };
        if read < 0 {
            let error = io::Error::last_os_error();
            // Another thread took the message, or who waited for the page was killed.
            let is_gone = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR));
            return if is_gone { Ok(None) } else { Err(error) };
        }
        let is_fault = message.event == EVENT_PAGE_FAULT;
        let fault = Fault { address: message.address as usize, is_write: message.flags & FAULT_WRITE != 0 };
        Ok(is_fault.then_some(fault))
    }

    fn ioctl<T>(&self, number: u64, argument: &mut T) -> io::Result<()> {
        // SAFETY: `number` states the size of its argument, which is a live value of that size.
        result(unsafe { libc::ioctl(self.file.as_raw_fd(), number as _, std::ptr::from_mut(argument)) })
    }
}

/// By the system call, or where only kernel-mode faults are what is not allowed, by the device.
fn open_file(flags: libc::c_int) -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | flags;
    // SAFETY: the call has no pointers.
    let file = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if let Ok(file @ 0..) = i32::try_from(file) {
        // SAFETY: it is a new descriptor, ours alone.
        return Ok(unsafe { OwnedFd::from_raw_fd(file) });
    }
    let error = io::Error::last_os_error();
    let Ok(device) = File::open("/dev/userfaultfd") else { return Err(error) };
    // SAFETY: this ioctl takes flags, not a pointer.
    let file = unsafe { libc::ioctl(device.as_raw_fd(), NEW as _, flags) };
    result(file)?;
    // SAFETY: it is a new descriptor, ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}
