//! What a cache lets in: before any policy, a file for each kind, a line in [`ADMISSIONS`].

mod probability;
mod size;
mod tiny_lfu;

use crate::number::Id;
use crate::policy::{Evicted, Parameter, Policy, Request, Setting};

/// What decides.
pub trait Gate: Send {
    /// Takes note of a request, whether or not its object is in the cache.
    fn see(&mut self, _request: &Request) {}

    /// Whether the cache may take in the object of a request, which is not there.
    fn admits(&mut self, request: &Request) -> bool;
}

/// A kind of admission that there is.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    /// Its name.
    pub name: &'static str,
    /// What it lets in, in a line.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it can be told.
    pub parameters: &'static [Parameter],
    /// Makes a gate.
    pub make: fn(&Setting<'_>) -> Box<dyn Gate>,
}

impl PartialEq for Admission {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every kind.
pub const ADMISSIONS: &[&Admission] = &[&size::ADMISSION, &probability::ADMISSION, &tiny_lfu::ADMISSION];

/// A cache behind a gate. The policy learns nothing of what is turned away.
pub struct Admitted<'a> {
    cache: Box<dyn Policy + 'a>,
    gate: Box<dyn Gate>,
}

impl<'a> Admitted<'a> {
    /// Puts a cache behind a gate.
    pub fn new(cache: Box<dyn Policy + 'a>, gate: Box<dyn Gate>) -> Self {
        Self { cache, gate }
    }
}

impl Policy for Admitted<'_> {
    fn capacity(&self) -> u64 {
        self.cache.capacity()
    }

    fn used(&self) -> u64 {
        self.cache.used()
    }

    fn holds(&self, id: Id) -> bool {
        self.cache.holds(id)
    }

    fn remove(&mut self, id: Id) {
        self.cache.remove(id);
    }

    fn evicted(&mut self) -> &mut Evicted {
        self.cache.evicted()
    }

    fn request(&mut self, request: &Request) -> bool {
        self.gate.see(request);
        let passes = self.cache.holds(request.id) || self.gate.admits(request);
        passes && self.cache.request(request)
    }
}
