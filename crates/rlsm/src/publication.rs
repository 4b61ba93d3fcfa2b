//! How writers let readers see what they have done, while readers take no lock.

mod cell;
mod sync;

#[cfg(test)]
mod shuttled;

pub(crate) use cell::Publication;
