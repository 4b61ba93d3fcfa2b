//! The laboratory: arrangements of the tier simulation built of Linux's own parts.
//!
//! [`array`] builds an arrangement of md, bcache or dm-cache and a file system, on this host. [`guest`] boots
//! user-mode-linux, where the same is done without this host's kernel. [`replay`] sends the requests of a trace to such an
//! array, one at a time, and [`counts`] compares the kernel's counts with those of the simulation.
//!
//! Counts are proof there; times are not: a guest's are those of its emulator.

pub mod array;
pub mod counts;
pub mod error;
pub mod guest;
mod program;
pub mod replay;

pub use error::LabError;
