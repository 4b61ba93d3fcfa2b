//! Takes an array together again whose kernel has ended, with what is left of its devices.

use std::path::PathBuf;
use std::sync::Arc;

use super::journal::ArrayJournal;
use super::spec::ArraySpec;
use super::{BuiltArray, CacheKind, bcache, cache_kind, dm_cache, md};
use crate::LabError;

/// Takes the array of `spec` together, whose devices are those that are left, and returns the device on top. If it
/// `may_lose_cache` and the devices of that make none any more, the origin is taken alone.
///
/// # Errors
/// The devices that are left make no array.
pub fn assemble(spec: &ArraySpec, may_lose_cache: bool) -> Result<PathBuf, LabError> {
    let array = BuiltArray { name: spec.name.clone(), ..BuiltArray::default() };
    let mut journal = ArrayJournal::begin(array, &Arc::default())?;
    let arrangement = &spec.arrangement;
    let origin = md::assemble(&spec.origin, arrangement.origin.raid, &mut journal)?;
    let Some(settings) = &arrangement.cache else { return Ok(origin) };
    let kind = cache_kind(settings)?;
    let cache = match spec.cache.as_slice() {
        [] => None,
        devices => match md::assemble(devices, settings.raid, &mut journal) {
            Err(_) if may_lose_cache => None,
            assembled => Some(assembled?),
        },
    };
    match (kind, cache) {
        (CacheKind::Bcache, Some(cache)) => bcache::attach(settings, &origin, &cache, &mut journal),
        (CacheKind::Bcache, None) => bcache::run_alone(&origin, &mut journal),
        (CacheKind::DmCache, Some(cache)) => {
            let bytes = settings.size.0 / arrangement.scale;
            dm_cache::build(false, settings, bytes, &spec.name, &origin, &cache, &mut journal)
        }
        (CacheKind::DmCache, None) => Ok(origin),
    }
}
