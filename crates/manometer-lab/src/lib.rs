//! The laboratory: arrangements of the tier simulation built of Linux's own parts.
//!
//! [`array`] builds an arrangement of md, bcache or dm-cache and a file system, on this host. [`guest`] boots
//! user-mode-linux, where the same is done without this host's kernel. [`replay`] sends the requests of a trace to such an
//! array, one at a time, and [`counts`] compares the kernel's counts with those of the simulation. [`faults`] lets an engine
//! write until something fails, and [`fault_trials`] says what was lost.
//!
//! Counts are proof there; times are not: a guest's are those of its emulator.

mod arrangement_choice;
pub mod array;
pub mod counts;
pub mod error;
pub mod fault_trials;
pub mod faults;
pub mod guest;
mod program;
pub mod replay;

pub use arrangement_choice::ArrangementChoice;
pub use error::LabError;
