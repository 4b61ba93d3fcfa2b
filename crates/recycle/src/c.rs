//! The interface for C: `include/recycle.h` documents it.

use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::NonNull;

use crate::storage::open_file;
use crate::{Advice, Error, Faults, Mapping, Options, PagePin, PagePinMut, Policy, Region, Replacement};

/// How a region is set up, as C sees it; a value of 0 is the default.
#[repr(C)]
pub struct RecycleOptions {
    memory: u64,
    read_ahead: u64,
    batch: u32,
    policy: u32,
    replacement: u32,
    faults: u32,
    is_read_only: c_int,
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Remembers why a call of this thread failed.
fn fail(error: &dyn std::fmt::Display) {
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = text);
}

/// 0, or -1 for an error.
fn status(result: crate::Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            fail(&error);
            -1
        }
    }
}

fn boxed<T>(made: Result<T, String>) -> Option<Box<T>> {
    made.map(Box::new).map_err(|error| fail(&error)).ok()
}

fn options(given: &RecycleOptions) -> Result<Options, String> {
    fn choice<T: Copy>(name: &str, number: u32, all: &[T]) -> Result<Option<T>, String> {
        match number {
            0 => Ok(None),
            number => {
                let found = all.get(number as usize - 1).copied();
                found.map(Some).ok_or_else(|| format!("{name} is {number}: at most {}", all.len()))
            }
        }
    }
    let default = Options::default();
    let number = |number: u64, default: u64| if number == 0 { default } else { number };
    Ok(Options {
        memory: number(given.memory, default.memory),
        read_ahead: number(given.read_ahead, default.read_ahead),
        batch: if given.batch == 0 { default.batch } else { given.batch },
        policy: choice("policy", given.policy, Policy::ALL)?.unwrap_or_default(),
        replacement: choice("replacement", given.replacement, Replacement::ALL)?.unwrap_or_default(),
        faults: choice("faults", given.faults, Faults::ALL)?.unwrap_or_default(),
        ..default
    })
}

/// Opens the file and what `make` makes of it.
///
/// # Safety
/// `path` is a string of C; `given` is null or valid.
unsafe fn open<T>(
    path: *const c_char,
    given: *const RecycleOptions,
    make: fn(&File, &Options) -> crate::Result<T>,
) -> Option<Box<T>> {
    // SAFETY: the caller promises it.
    let (path, given) = unsafe { (CStr::from_ptr(path), given.as_ref()) };
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let made = given.map_or_else(|| Ok(Options::default()), options).and_then(|options: Options| {
        let is_writable = given.is_none_or(|given| given.is_read_only == 0);
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = open_file(path, is_writable).map_err(|error| named(&error))?;
        make(&file, &options).map_err(|error| named(&error))
    });
    boxed(made)
}

fn advice(number: u32) -> crate::Result<Advice> {
    const ALL: [Advice; 5] = [Advice::Normal, Advice::Random, Advice::Sequential, Advice::WillNeed, Advice::DontNeed];
    let unknown = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "the advice is none of 0 to 4");
    ALL.get(number as usize).copied().ok_or_else(|| Error::io("advice", 0, 0)(unknown()))
}

/// Why the last failed call of this thread failed; never null.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

/// # Safety
/// `path` is a string of C; `options` is null or valid. As [`Region::map`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recycle_map(path: *const c_char, options: *const RecycleOptions) -> Option<Box<Mapping>> {
    // SAFETY: the caller promises it, of the file, too. This interface itself makes no reference to bytes of the mapping.
    unsafe { open(path, options, |file, options| Region::map(file, options)) }
}

/// The first byte.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_map_data(mapping: &Mapping) -> *mut c_void {
    mapping.as_mut_ptr().cast()
}

/// Bytes of the mapping.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_map_len(mapping: &Mapping) -> u64 {
    mapping.len() as u64
}

/// # Safety
/// `buffer` has room for `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recycle_map_read(mapping: &Mapping, offset: u64, buffer: *mut c_void, bytes: usize) -> c_int {
    // SAFETY: the caller promises it.
    status(mapping.read_at(offset, unsafe { std::slice::from_raw_parts_mut(buffer.cast(), bytes) }))
}

/// # Safety
/// `buffer` has `bytes`; no other thread uses these bytes of the mapping.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recycle_map_write(
    mapping: &Mapping,
    offset: u64,
    buffer: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller promises it. Other threads may use other bytes, so the mapping is not borrowed exclusively.
    status(unsafe { mapping.write_shared(offset, std::slice::from_raw_parts(buffer.cast(), bytes)) })
}

/// Makes changes durable.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_map_sync(mapping: &Mapping, offset: u64, bytes: u64) -> c_int {
    status(mapping.sync_range(offset..offset.saturating_add(bytes)))
}

/// Says how bytes will be used.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_map_advise(mapping: &Mapping, offset: u64, bytes: u64, number: u32) -> c_int {
    status(advice(number).and_then(|advice| mapping.advise(offset..offset.saturating_add(bytes), advice)))
}

/// Changes the length; no other thread uses the mapping.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_map_resize(mapping: &mut Mapping, len: u64) -> c_int {
    status(mapping.resize(len))
}

/// Writes what is changed and ends the mapping.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_map_close(mapping: Option<Box<Mapping>>) {
    drop(mapping);
}

/// # Safety
/// `path` is a string of C; `options` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recycle_open(path: *const c_char, options: *const RecycleOptions) -> Option<Box<Region>> {
    // SAFETY: the caller promises it.
    unsafe { open(path, options, Region::open) }
}

/// Bytes of the region.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_len(region: &Region) -> u64 {
    region.len()
}

/// Holds a page for reading until [`recycle_unpin`].
#[unsafe(no_mangle)]
pub extern "C" fn recycle_pin(region: &Region, page: u64) -> Option<NonNull<c_void>> {
    let pin = region.pin(page).map_err(|error| fail(&error)).ok()?;
    Some(PagePin::into_raw(pin))
}

/// Holds a page for the caller alone until [`recycle_unpin`].
#[unsafe(no_mangle)]
pub extern "C" fn recycle_pin_mut(region: &Region, page: u64) -> Option<NonNull<c_void>> {
    let pin = region.pin_mut(page).map_err(|error| fail(&error)).ok()?;
    Some(PagePinMut::into_raw(pin))
}

/// # Safety
/// The page was pinned, once more than it was unpinned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recycle_unpin(region: &Region, page: u64) {
    region.unpin(page);
}

/// Makes changes durable; the caller holds no page for writing.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_sync(region: &Region, offset: u64, bytes: u64) -> c_int {
    status(region.sync_range(offset..offset.saturating_add(bytes)))
}

/// Says how bytes will be used.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_advise(region: &Region, offset: u64, bytes: u64, number: u32) -> c_int {
    status(advice(number).and_then(|advice| region.advise(offset..offset.saturating_add(bytes), advice)))
}

/// Changes the length; no page is pinned, and no other thread uses the region.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_resize(region: &mut Region, len: u64) -> c_int {
    status(region.resize(len))
}

/// Writes what is changed and ends the region.
#[unsafe(no_mangle)]
pub extern "C" fn recycle_close(region: Option<Box<Region>>) {
    drop(region);
}
