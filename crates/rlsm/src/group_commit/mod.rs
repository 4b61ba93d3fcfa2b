//! Group commit: the requests of concurrent threads are executed in groups, so that one sync of the WAL serves all of
//! them.

mod queue;
mod sync;

#[cfg(test)]
mod shuttle_tests;
#[cfg(test)]
mod tests;

pub(crate) use queue::GroupCommit;
