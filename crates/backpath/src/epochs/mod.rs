//! When what is known of a path was last changed: epochs of subtrees, and versions of single names.

mod leaves;
mod subtrees;
mod sync;

#[cfg(test)]
mod loom_tests;

pub(crate) use leaves::{Leaves, Version};
pub(crate) use subtrees::{Scope, Subtrees};
