//! The second interface: a region whose pages have addresses.

use std::fs::File;
use std::ops::{Deref, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::core::{Core, Parts};
use crate::handler_thread::HandlerThread;
use crate::mapped::MappedMemory;
use crate::region::{
    Region, budget_of, capacity, check_page, check_page_size, check_range, check_writable, pages_of, parts,
};
use crate::signal::Registration;
use crate::storage::{FileStorage, Storage};
use crate::{Advice, Counters, Error, Faults, Options, PAGE_BYTES, PagePin, Result};

const PAGE: u64 = PAGE_BYTES as u64;

/// Pages that one instruction may need at once: source and destination, each across the end of a page.
const PAGES_OF_AN_INSTRUCTION: u32 = 4;

/// A mapped region: the bytes of the whole file, of which a budget's worth of pages is in memory.
///
/// It dereferences to the bytes. Threads share it by reference; a program whose threads write, too, uses
/// [`Mapping::as_mut_ptr`] under its own synchronisation. Whoever makes a mapping promises what [`Region::map`] asks for.
///
/// - An access whose page cannot be read, or be written by others first, asks [`Options::on_error`], and receives SIGBUS
///   if that gives up, as with `mmap`. It never sees bytes that are not the file's.
/// - System calls on these bytes work with [`Faults::Thread`]. With [`Faults::Signal`] they return `EFAULT` where a page is
///   absent, or is protected and would be written: use [`Mapping::read_at`] and [`Mapping::write_at`], or pin the
///   page.
/// - A forked child does not have the memory: its accesses receive SIGSEGV. The parent is not affected.
/// - With [`Faults::Signal`] a thread must not block SIGBUS, nor may a handler of another signal touch the bytes.
///   Handlers of SIGBUS installed before the first mapping receive what is not ours.
pub struct Mapping {
    core: Arc<Core>,
    faults: Faults,
    pins: AtomicU32,
    /// Ends before the region is closed.
    answers: Option<FaultHandler>,
}

/// What answers the faults of a mapping.
#[expect(dead_code, reason = "held for what their ends do")]
enum FaultHandler {
    Signal(Registration),
    Thread(HandlerThread),
}

impl Region {
    /// A region of `file` that is mapped: its pages have addresses.
    ///
    /// ```compile_fail,E0133
    /// # use recycle::{Options, Region};
    /// # let file = std::fs::File::open("large").unwrap();
    /// let bytes = Region::map(&file, &Options::default()); // Who calls it promises something: see below.
    /// ```
    ///
    /// # Safety
    /// A page that was evicted is read from the file again when it is next used. So the caller promises that, as long as a
    /// reference to bytes of the mapping lives, these bytes of the file change through the mapping only: no other program,
    /// descriptor or mapping writes them, and nobody shortens the file and lengthens it again. Otherwise bytes change
    /// behind a `&[u8]`, which is undefined behaviour.
    ///
    /// Nothing is to be promised by a program that makes no reference, but copies bytes with [`Mapping::read_at`] and
    /// [`Mapping::write_at`] or through [`Mapping::as_mut_ptr`]; and pages that are pinned, by [`Mapping::pin`] or in a
    /// region of [`Region::open`], are copies of this process that no other program changes.
    ///
    /// These end the access with a signal, and are no undefined behaviour: the file was shortened, the device failed,
    /// the file was opened for reading only and is written through the pointer (SIGBUS), or the process is a forked
    /// child (SIGSEGV).
    ///
    /// # Errors
    /// As [`Region::open`]; or the system lacks or forbids userfaultfd.
    pub unsafe fn map(file: &File, options: &Options) -> Result<Mapping> {
        let storage = FileStorage::new(file)?;
        let is_writable = storage.is_writable();
        // SAFETY: the storage reads what the file has, and the caller promises who writes that.
        unsafe { Mapping::on(Arc::new(storage), is_writable, options) }
    }
}

impl Mapping {
    /// A mapping of any storage.
    ///
    /// # Safety
    /// As [`Region::map`], of the storage's bytes: a read returns what was last written through the mapping, or what an
    /// earlier read returned.
    ///
    /// # Errors
    /// The options are invalid, the storage cannot say its length, or the system lacks or forbids userfaultfd.
    pub unsafe fn on(storage: Arc<dyn Storage>, is_writable: bool, options: &Options) -> Result<Self> {
        check_page_size()?;
        let slots = budget_of(options)?.0;
        if slots.count() < PAGES_OF_AN_INSTRUCTION {
            return Err(Error::Budget {
                got: u64::from(slots.count()) * PAGE,
                wanted: u64::from(PAGES_OF_AN_INSTRUCTION) * PAGE,
                reason: "one instruction may need four mapped pages at once",
            });
        }
        let core = Core::new(&slots, || {
            let unmapped = parts(&slots, storage, is_writable, options)?;
            Ok(Parts { mapped: Some(MappedMemory::new(unmapped.capacity, options.faults)?), ..unmapped })
        })?;
        Ok(Self {
            answers: Some(answer(&core, options.faults)?),
            core,
            faults: options.faults,
            pins: AtomicU32::new(0),
        })
    }

    /// The bytes, to change them.
    ///
    /// # Errors
    /// The file was opened for reading only.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        check_writable(&self.core)?;
        let (start, len) = (self.as_mut_ptr(), self.bytes());
        // SAFETY: the bytes are there as long as self, which is borrowed exclusively.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }

    /// The first byte, for programs whose threads share and change the bytes under their own rules. Changing bytes of a
    /// file that was opened for reading only receives SIGBUS.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.core.mapped().map_or(std::ptr::null_mut(), |mapped| mapped.address(0))
    }

    fn bytes(&self) -> usize {
        self.core.len() as usize
    }

    /// How many pages it has; the last one may be incomplete.
    pub fn pages(&self) -> u64 {
        self.core.pages()
    }

    /// Who answers the faults.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Holds a page in memory, to pass it to a system call, or to read it without a fault.
    ///
    /// # Errors
    /// There is no such page, it cannot be read, or so many are pinned that accesses to the others could not go on.
    pub fn pin(&self, page: u64) -> Result<MappedPin<'_>> {
        check_page(&self.core, page)?;
        let count = Counted::new(&self.pins, self.core.slots().count() - PAGES_OF_AN_INSTRUCTION)?;
        Ok(MappedPin { pin: PagePin::new(&self.core, page)?, _count: count })
    }

    /// Copies bytes of the region. Unlike a copy by address it returns errors.
    ///
    /// # Errors
    /// The bytes are not within the region, or a page cannot be had.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        crate::region::read_at(&self.core, offset, buffer)
    }

    /// Changes bytes of the region. Unlike a copy by address it returns errors.
    ///
    /// # Errors
    /// The bytes are not within the region, a page cannot be had, or the file was opened for reading only.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: self is borrowed exclusively, so that nobody else uses the bytes.
        unsafe { self.write_shared(offset, bytes) }
    }

    /// As [`Mapping::write_at`], where other threads use other bytes of the mapping.
    ///
    /// # Safety
    /// Nobody else uses these bytes meanwhile, and no reference to any of them lives.
    ///
    /// # Errors
    /// As [`Mapping::write_at`].
    pub unsafe fn write_shared(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_range(&self.core, offset, bytes.len())?;
        check_writable(&self.core)?;
        let mut done = 0;
        while done < bytes.len() {
            let place = offset + done as u64;
            let (page, within) = (place / PAGE, (place % PAGE) as usize);
            let piece = &bytes[done..bytes.len().min(done + PAGE_BYTES - within)];
            let pin = PagePin::new(&self.core, page)?;
            // The page is in memory and stays: this lifts its protection.
            self.core.fault(page, true)?;
            let target = pin.start().wrapping_add(within);
            // SAFETY: the piece lies within the page, which is in memory, and the caller promises that nobody else uses
            // these bytes.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), target, piece.len()) };
            done += piece.len();
        }
        Ok(())
    }

    /// Makes all changes durable that were made before the call.
    ///
    /// # Errors
    /// A page cannot be written, or the device cannot make them durable. Pages that were not written stay changed and are
    /// tried again by the next call.
    pub fn sync(&self) -> Result<()> {
        self.core.sync(0..self.pages())
    }

    /// As [`Mapping::sync`], for the pages of a range of bytes.
    ///
    /// # Errors
    /// As [`Mapping::sync`].
    pub fn sync_range(&self, range: impl RangeBounds<u64>) -> Result<()> {
        self.core.sync(pages_of(&self.core, range))
    }

    /// Says how the pages of a range of bytes will be used.
    ///
    /// # Errors
    /// With [`Advice::WillNeed`] a page cannot be read, with [`Advice::DontNeed`] it cannot be written.
    pub fn advise(&self, range: impl RangeBounds<u64>, advice: Advice) -> Result<()> {
        self.core.advise(pages_of(&self.core, range), advice)
    }

    /// Changes the file's length, and the region's with it. New bytes are zero. The bytes move where they need more room
    /// than was reserved: twice the length at which they were mapped, and 1 GiB at least.
    ///
    /// # Errors
    /// The file cannot have this length, or the address space cannot be had; the region is as before.
    pub fn resize(&mut self, len: u64) -> Result<()> {
        check_writable(&self.core)?;
        if len.div_ceil(PAGE) > self.core.capacity() {
            self.move_to(capacity(len))?;
        }
        self.core.resize(len)
    }

    fn move_to(&mut self, capacity: u64) -> Result<()> {
        self.core.sync(0..self.pages())?;
        let old = &self.core;
        let moved = Core::new(old.slots(), || {
            Ok(Parts {
                slots: Arc::clone(old.slots()),
                storage: Arc::clone(old.storage()),
                mapped: Some(MappedMemory::new(capacity, self.faults)?),
                len: old.len(),
                capacity,
                read_ahead: old.max_read_ahead(),
                is_writable: old.is_writable(),
                on_error: old.on_error(),
            })
        })?;
        self.answers = Some(answer(&moved, self.faults)?);
        self.core.close();
        self.core = moved;
        Ok(())
    }

    /// What the budget's regions have done.
    pub fn counters(&self) -> Counters {
        self.core.slots().tally.sums()
    }
}

fn answer(core: &Arc<Core>, faults: Faults) -> Result<FaultHandler> {
    match faults {
        Faults::Signal => Registration::new(core).map(FaultHandler::Signal),
        Faults::Thread => HandlerThread::start(core).map(FaultHandler::Thread),
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are there as long as self. Whoever made the mapping answers for changes of the file, whoever
        // changes bytes through the pointer for those.
        unsafe { std::slice::from_raw_parts(self.as_mut_ptr(), self.bytes()) }
    }
}

impl Drop for Mapping {
    /// Writes what is changed to the file, without making it durable. Errors go to [`Options::on_error`].
    fn drop(&mut self) {
        self.answers = None;
        self.core.close();
    }
}

impl std::fmt::Debug for Mapping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Mapping");
        shown.field("len", &self.core.len()).field("faults", &self.faults).finish_non_exhaustive()
    }
}

/// A page of a mapping held in memory.
#[derive(Debug)]
pub struct MappedPin<'a> {
    pin: PagePin<'a>,
    _count: Counted<'a>,
}

impl Deref for MappedPin<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.pin
    }
}

/// One of a limited number.
#[derive(Debug)]
struct Counted<'a>(&'a AtomicU32);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicU32, most: u32) -> Result<Self> {
        let next = |count: u32| (count < most).then_some(count + 1);
        match count.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(_) => Ok(Self(count)),
            Err(pages) => Err(Error::AllPinned { pages }),
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
