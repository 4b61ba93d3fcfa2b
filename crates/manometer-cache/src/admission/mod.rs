//! Admission filters, which decide before any policy what enters a cache: one per file, and a line in [`ADMISSIONS`].

mod probability;
mod size;
mod tiny_lfu;

use crate::key_id::KeyId;
use crate::policy::{CacheConfig, EvictionLog, Policy, PolicyParameter};
use crate::request::CacheRequest;

/// Decides which objects enter a cache.
pub trait AdmissionFilter: Send {
    /// Observes a request, whether or not its object is cached.
    fn observe(&mut self, _request: &CacheRequest) {}

    /// Whether the object of a request, which is not cached, may enter the cache.
    fn admits(&mut self, request: &CacheRequest) -> bool;
}

/// A kind of admission filter.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionKind {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [PolicyParameter],
    /// Creates a filter.
    pub create: fn(&CacheConfig<'_>) -> Box<dyn AdmissionFilter>,
}

impl PartialEq for AdmissionKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every kind of admission filter.
pub const ADMISSIONS: &[&AdmissionKind] = &[&size::ADMISSION, &probability::ADMISSION, &tiny_lfu::ADMISSION];

/// A cache behind an admission filter. The policy does not see rejected objects.
pub struct FilteredCache<'a> {
    cache: Box<dyn Policy + 'a>,
    filter: Box<dyn AdmissionFilter>,
}

impl<'a> FilteredCache<'a> {
    /// Puts a cache behind a filter.
    pub fn new(cache: Box<dyn Policy + 'a>, filter: Box<dyn AdmissionFilter>) -> Self {
        Self { cache, filter }
    }
}

impl Policy for FilteredCache<'_> {
    fn capacity(&self) -> u64 {
        self.cache.capacity()
    }

    fn used(&self) -> u64 {
        self.cache.used()
    }

    fn holds(&self, id: KeyId) -> bool {
        self.cache.holds(id)
    }

    fn remove(&mut self, id: KeyId) {
        self.cache.remove(id);
    }

    fn set_dirty(&mut self, id: KeyId, is_dirty: bool) {
        self.cache.set_dirty(id, is_dirty);
    }

    fn unavailable_share(&self) -> f64 {
        self.cache.unavailable_share()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        self.cache.eviction_log()
    }

    fn request(&mut self, request: &CacheRequest) -> bool {
        self.filter.observe(request);
        let passes = self.cache.holds(request.id) || self.filter.admits(request);
        passes && self.cache.request(request)
    }
}
