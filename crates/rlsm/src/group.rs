//! Many threads' requests done together: what a write-ahead log needs so that one sync serves all who wait for it.

mod queue;
mod sync;

#[cfg(test)]
mod shuttled;
#[cfg(test)]
mod tests;

pub(crate) use queue::Group;
