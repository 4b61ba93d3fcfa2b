//! What a cache lets in: before any policy, a file for each kind, a line in [`ADMISSIONS`].

mod probability;
mod size;
mod tiny_lfu;

use crate::key_id::KeyId;
use crate::policy::{CacheConfig, EvictionLog, Policy, PolicyParameter};
use crate::request::Request;

/// What decides.
pub trait AdmissionFilter: Send {
    /// Takes note of a request, whether or not its object is in the cache.
    fn observe(&mut self, _request: &Request) {}

    /// Whether the cache may take in the object of a request, which is not there.
    fn admits(&mut self, request: &Request) -> bool;
}

/// A kind of admission that there is.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionKind {
    /// Its name.
    pub name: &'static str,
    /// What it lets in, in a line.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [PolicyParameter],
    /// Makes a gate.
    pub create: fn(&CacheConfig<'_>) -> Box<dyn AdmissionFilter>,
}

impl PartialEq for AdmissionKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every kind.
pub const ADMISSIONS: &[&AdmissionKind] = &[&size::ADMISSION, &probability::ADMISSION, &tiny_lfu::ADMISSION];

/// A cache behind a gate. The policy learns nothing of what is turned away.
pub struct FilteredCache<'a> {
    cache: Box<dyn Policy + 'a>,
    filter: Box<dyn AdmissionFilter>,
}

impl<'a> FilteredCache<'a> {
    /// Puts a cache behind a gate.
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

    fn eviction_log(&mut self) -> &mut EvictionLog {
        self.cache.eviction_log()
    }

    fn request(&mut self, request: &Request) -> bool {
        self.filter.observe(request);
        let passes = self.cache.holds(request.id) || self.filter.admits(request);
        passes && self.cache.request(request)
    }
}
