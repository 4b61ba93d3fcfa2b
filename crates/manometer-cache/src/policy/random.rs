//! Random replacement.

use super::{CacheConfig, PolicyKind, hyperbolic};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "random",
    about: "evicts at random",
    source: "Belady, IBM Systems Journal 1966",
    parameters: &[],
    details: RequestFields::NONE,
    // Hyperbolic caching that chooses among a single random object.
    create: |setting| (hyperbolic::KIND.create)(&CacheConfig { parameters: &[1.0], ..*setting }),
};
