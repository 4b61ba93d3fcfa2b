//! Builds an arrangement on this host: md arrays, bcache or dm-cache, and a file system.
//!
//! The arrangement is the file that the simulation reads ([`manometer_cache::tier::Arrangement`]); the sizes that it gives,
//! divided by its `scale`, are those of the devices. Every step is recorded with its reverse before the next one begins, so
//! that a failure, a kill or [`destroy`] takes back all of them, from the last to the first.

mod assemble;
mod bcache;
mod block_device;
mod built_array;
mod counters;
mod device_mapper;
mod dm_cache;
mod file_system;
mod journal;
mod md;
mod member;
mod requirements;
mod spec;
mod undo;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use manometer_measure::{Clock as _, MonotonicClock};

pub use self::assemble::assemble;
pub use self::bcache::data_bytes as bcache_data_bytes;
pub(crate) use self::block_device::device_bytes;
pub use self::built_array::{BuiltArray, CacheKind};
pub use self::counters::{ArrayCounters, DeviceTraffic};
pub(crate) use self::device_mapper::SECTOR_BYTES;
pub use self::journal::{STATE_DIRECTORY, lock, names};
pub use self::member::{DeviceUse, PlannedDevice};
pub use self::spec::{ArraySpec, cache_kind, check, device_sizes, differences};

use self::journal::ArrayJournal;
use self::spec::MemberSizes;
use crate::LabError;

/// bcache brings its counters up to date this often, and a little more.
const ACCOUNTING_NS: u64 = 14_000_000_000;

/// Builds an array. What it can check is checked before anything is changed; after a failure every step is undone.
///
/// # Errors
/// The request is wrong, a program is missing, a step failed, or it was `interrupted`.
pub fn create(spec: &ArraySpec, interrupted: &Arc<AtomicBool>) -> Result<BuiltArray, LabError> {
    let members = check_members(spec)?;
    let mounted_at = spec.mount.as_ref().map(|(_, point)| point.clone());
    let array = BuiltArray { name: spec.name.clone(), of_run: spec.of_run, mounted_at, ..BuiltArray::default() };
    let mut journal = ArrayJournal::begin(array, interrupted)?;
    match build(spec, &members, &mut journal) {
        Ok(()) => Ok(journal.array().clone()),
        Err(error) => Err(journal.undo_after(error)),
    }
}

/// What [`create`] would take. Nothing is changed but that modules of the kernel are loaded.
///
/// # Errors
/// `create` would refuse the request.
pub fn plan(spec: &ArraySpec) -> Result<Vec<PlannedDevice>, LabError> {
    let members = check_members(spec)?;
    journal::check_name(&spec.name)?;
    Ok(members.planned())
}

fn check_members(spec: &ArraySpec) -> Result<member::Members, LabError> {
    spec.check()?;
    requirements::check(spec)?;
    member::check_all(spec)
}

fn build(spec: &ArraySpec, members: &member::Members, journal: &mut ArrayJournal) -> Result<(), LabError> {
    let arrangement = &spec.arrangement;
    let sizes = MemberSizes::of(arrangement)?;
    let origin = member::attach(&members.origin, "origin", &spec.name, journal)?;
    journal.array_mut().origin = origin.clone();
    let are_new = spec.zeroed || members.are_new();
    let origin = md::combine(&origin, arrangement.origin.array(), sizes.origin_share, are_new, journal)?;
    let mut device = origin;
    if let Some(settings) = &arrangement.cache {
        let cache = member::attach(&members.cache, "cache", &spec.name, journal)?;
        journal.array_mut().cache_devices = cache.clone();
        let cache = md::combine(&cache, settings.array(), sizes.cache_share, are_new, journal)?;
        let kind = cache_kind(settings)?;
        journal.array_mut().cache = Some(kind);
        device = match kind {
            CacheKind::Bcache => bcache::build(settings, &device, &cache, journal)?,
            CacheKind::DmCache => {
                let bytes = settings.size.0 / arrangement.scale;
                dm_cache::build(true, settings, bytes, &spec.name, &device, &cache, journal)?
            }
        };
    }
    if let Some((file_system, point)) = &spec.mount {
        file_system::mount(*file_system, &device, point, journal)?;
    }
    journal.array_mut().device = Some(device);
    let counters = counters::read(journal.array())?;
    journal.complete(counters)
}

/// An array that was created, and what its counters have counted since.
///
/// # Errors
/// There is none of this name, or a counter cannot be read.
pub fn status(name: &str) -> Result<(BuiltArray, ArrayCounters), LabError> {
    let journal = ArrayJournal::read(name)?;
    let counters = counters::read(journal.array())?;
    Ok((journal.array().clone(), counters.since(journal.counters_at_start())))
}

/// [`status`] once the kernel has counted all that was done: bcache brings its counters up to date every 13.6 s.
///
/// # Errors
/// As those of [`status`].
pub fn settled_status(name: &str) -> Result<(BuiltArray, ArrayCounters), LabError> {
    if ArrayJournal::read(name)?.array().cache == Some(CacheKind::Bcache) {
        MonotonicClock.sleep(ACCOUNTING_NS);
    }
    status(name)
}

/// An array as far as it stands, which [`create`] may not have completed.
///
/// # Errors
/// There is none of this name.
pub fn standing(name: &str) -> Result<BuiltArray, LabError> {
    Ok(ArrayJournal::read(name)?.array().clone())
}

/// Takes an array apart: what is on it is lost.
///
/// # Errors
/// There is none of this name, or a step could not be undone; then the rest is kept for another try.
pub fn destroy(name: &str) -> Result<(), LabError> {
    ArrayJournal::read(name)?.undo()
}
