//! Records the requests that reach a block device, as `blkparse` prints them.
//!
//! The kernel tells of each request through its block events in tracefs; an instance of our own keeps them apart from
//! whoever else traces.

pub mod tracefs;
