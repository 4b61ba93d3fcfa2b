//! Publication of state to readers that take no lock (read-copy-update).

mod cell;
mod sync;

#[cfg(test)]
mod shuttle_tests;

pub(crate) use cell::Publication;
