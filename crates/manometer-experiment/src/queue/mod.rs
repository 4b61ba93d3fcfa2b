//! Many runs in order: which, where their recordings lie, what has run and what is left.

pub mod expand;

pub use expand::{PlannedRun, runs};
