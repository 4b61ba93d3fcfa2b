//! The interface for C: `include/backpath.h` documents it.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::attributes::{Entry, Kind};
use crate::cache::{Change, GRANTS_MAX, Lookup, OpenChange, Options, PathCache, Ticket};
use crate::credentials::{Capabilities, Credentials, Principal};

const CAPACITY_MAX: u64 = 1 << 28;
// `struct backpath_ticket` has room for three numbers.
const _: () = assert!(size_of::<Ticket>() == 24 && align_of::<Ticket>() == 8);

/// A cache, as C has it.
pub struct BackpathCache(Arc<PathCache<BackpathEntry>>);

/// Credentials that a cache knows, as C has them.
pub struct BackpathPrincipal(Principal);

/// A change under way, as C has it.
pub struct BackpathChange(
    #[expect(dead_code, reason = "it ends when it is dropped")] OpenChange<'static, BackpathEntry>,
);

/// How large a cache is, as C says it; 0 is the default.
#[repr(C)]
pub struct BackpathOptions {
    capacity: u64,
    grants: u64,
    seed: u64,
}

/// What is at the end of a path, as C has it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BackpathEntry {
    inode: u64,
    data: u64,
    links: u32,
    kind: u32,
}

/// One thing that changes, as C says it.
#[repr(C)]
pub struct BackpathChangeItem {
    path: *const c_char,
    path_bytes: usize,
    inode: u64,
    kind: u32,
}

/// The walk is the caller's, who decides about links and directories.
impl Entry for BackpathEntry {
    fn kind(&self) -> Kind {
        kind(self.kind).unwrap_or(Kind::File)
    }

    fn target(&self) -> Option<&[u8]> {
        None
    }

    fn may_search(&self, _credentials: &Credentials) -> bool {
        false
    }

    fn inode(&self) -> u64 {
        self.inode
    }

    fn links(&self) -> u32 {
        self.links
    }
}

fn kind(number: u32) -> Option<Kind> {
    [Kind::File, Kind::Directory, Kind::Symlink].get(number as usize).copied()
}

/// An array of C; a null pointer is an empty one.
///
/// # Safety
/// `data` is null, or has `length` values that stay as they are for `'a`.
unsafe fn slice<'a, T>(data: *const T, length: usize) -> &'a [T] {
    // SAFETY: the caller promises it for what is not null.
    if data.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(data, length) } }
}

fn options(given: &BackpathOptions) -> Option<Options> {
    let default = Options::default();
    let capacity = if given.capacity == 0 { default.capacity as u64 } else { given.capacity };
    let grants = if given.grants == 0 { default.grants as u64 } else { given.grants };
    let seed = if given.seed == 0 { default.seed } else { given.seed };
    let is_within = capacity <= CAPACITY_MAX && grants <= GRANTS_MAX as u64;
    is_within.then_some(Options { capacity: capacity as usize, grants: grants as usize, seed, ..default })
}

/// # Safety
/// `given` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn backpath_new(given: *const BackpathOptions) -> Option<Box<BackpathCache>> {
    // SAFETY: the caller promises it.
    let options = unsafe { given.as_ref() }.map_or_else(|| Some(Options::default()), options)?;
    Some(Box::new(BackpathCache(PathCache::new(options).into())))
}

/// Frees the caller's part of a cache.
#[unsafe(no_mangle)]
pub extern "C" fn backpath_free(cache: Option<Box<BackpathCache>>) {
    drop(cache);
}

/// Paths and inodes that it keeps.
#[unsafe(no_mangle)]
pub extern "C" fn backpath_len(cache: &BackpathCache) -> u64 {
    cache.0.len() as u64
}

/// Entries that made room for others.
#[unsafe(no_mangle)]
pub extern "C" fn backpath_evictions(cache: &BackpathCache) -> u64 {
    cache.0.evictions()
}

/// # Safety
/// `groups` has `group_count` numbers, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn backpath_principal_new(
    cache: &BackpathCache,
    uid: u32,
    gid: u32,
    groups: *const u32,
    group_count: usize,
    capabilities: u32,
) -> Option<Box<BackpathPrincipal>> {
    let has = |bit: u32| capabilities & bit != 0;
    let known = Capabilities { dac_override: has(1), dac_read_search: has(2), fowner: has(4), chown: has(8) };
    if capabilities > 15 {
        return None;
    }
    // SAFETY: the caller promises it.
    let groups = unsafe { slice(groups, group_count) };
    let credentials = Credentials::new(uid, gid, groups).with_capabilities(known);
    Some(Box::new(BackpathPrincipal(cache.0.principal(&credentials))))
}

/// Frees a principal.
#[unsafe(no_mangle)]
pub extern "C" fn backpath_principal_free(principal: Option<Box<BackpathPrincipal>>) {
    drop(principal);
}

/// # Safety
/// `path` has `path_bytes`, or is null; `entry` and `prefix_bytes` are null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn backpath_lookup(
    cache: &BackpathCache,
    path: *const c_char,
    path_bytes: usize,
    principal: &BackpathPrincipal,
    entry: *mut BackpathEntry,
    prefix_bytes: *mut usize,
) -> c_int {
    // SAFETY: the caller promises it.
    let path = unsafe { slice(path.cast(), path_bytes) };
    let (answer, found, length) = match cache.0.lookup(path, &principal.0) {
        Lookup::Miss => return 0,
        Lookup::Hit(found) => (1, Some(found), path_bytes),
        Lookup::Negative => (2, None, path_bytes),
        Lookup::Prefix { length, entry: None } => (2, None, length),
        Lookup::Prefix { length, entry } => (3, entry, length),
    };
    // SAFETY: the caller promises that what is not null can be written to.
    unsafe {
        if let (Some(found), false) = (found, entry.is_null()) {
            entry.write(found);
        }
        if !prefix_bytes.is_null() {
            prefix_bytes.write(length);
        }
    }
    answer
}

/// # Safety
/// `path` has `path_bytes`, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn backpath_take_ticket(
    cache: &BackpathCache,
    path: *const c_char,
    path_bytes: usize,
    ticket: &mut MaybeUninit<Ticket>,
) {
    // SAFETY: the caller promises it.
    ticket.write(cache.0.ticket(unsafe { slice(path.cast(), path_bytes) }));
}

/// # Safety
/// `path` has `path_bytes`, or is null; `entry` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn backpath_insert(
    cache: &BackpathCache,
    ticket: &Ticket,
    path: *const c_char,
    path_bytes: usize,
    entry: *const BackpathEntry,
    principal: &BackpathPrincipal,
) -> c_int {
    // SAFETY: the caller promises it.
    let (path, entry) = unsafe { (slice(path.cast(), path_bytes), entry.as_ref()) };
    let is_known = entry.is_none_or(|entry| kind(entry.kind).is_some());
    (is_known && cache.0.insert(*ticket, path, entry, &principal.0)).into()
}

/// # Safety
/// The item's path has `path_bytes`, or is null.
unsafe fn change<'a>(item: &BackpathChangeItem) -> Option<Change<'a>> {
    // SAFETY: the caller promises it.
    let path = unsafe { slice(item.path.cast(), item.path_bytes) };
    match item.kind {
        0 => Some(Change::Entry(path)),
        1 => Some(Change::Subtree(path)),
        2 => Some(Change::Permission(path)),
        3 => Some(Change::Inode(item.inode)),
        _ => None,
    }
}

/// # Safety
/// `items` has `count` items, or is null; the path of each has its `path_bytes`, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn backpath_begin_change(
    cache: &BackpathCache,
    items: *const BackpathChangeItem,
    count: usize,
) -> Option<Box<BackpathChange>> {
    // SAFETY: the caller promises it.
    let items = unsafe { slice(items, count) };
    // SAFETY: the caller promises it for each.
    let changes: Option<Vec<Change<'_>>> = items.iter().map(|item| unsafe { change(item) }).collect();
    let open = cache.0.begin_shared_change(&changes?).ok()?;
    Some(Box::new(BackpathChange(open)))
}

/// Ends a change.
#[unsafe(no_mangle)]
pub extern "C" fn backpath_end_change(change: Option<Box<BackpathChange>>) {
    drop(change);
}

/// # Safety
/// `path` has `path_bytes`, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn backpath_invalidate(cache: &BackpathCache, path: *const c_char, path_bytes: usize) -> c_int {
    // SAFETY: the caller promises it.
    let path = unsafe { slice(path.cast(), path_bytes) };
    let everything = [Change::Entry(path), Change::Subtree(path)];
    cache.0.change(&everything, || ()).is_ok().into()
}
