//! Random: anything goes.

use super::{Kind, Setting, hyperbolic};
use crate::requests::Details;

pub(super) const KIND: Kind = Kind {
    name: "random",
    about: "evicts by chance",
    source: "Belady, IBM Systems Journal 1966",
    parameters: &[],
    details: Details::NONE,
    // What goes is drawn among one.
    make: |setting| (hyperbolic::KIND.make)(&Setting { parameters: &[1.0], ..*setting }),
};
