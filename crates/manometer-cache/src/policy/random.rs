//! Random: anything goes.

use super::{CacheConfig, PolicyKind, hyperbolic};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "random",
    about: "evicts by chance",
    source: "Belady, IBM Systems Journal 1966",
    parameters: &[],
    details: RequestFields::NONE,
    // What goes is drawn among one.
    create: |setting| (hyperbolic::KIND.create)(&CacheConfig { parameters: &[1.0], ..*setting }),
};
