//! The state of a page: one 64-bit word, its transitions, and waiting for them.

mod cell;
#[cfg(test)]
#[cfg(not(miri))]
mod shuttle_tests;
mod sync;
mod word;

pub(crate) use cell::PageCell;
pub(crate) use word::{PageWord, Refusal, State};
