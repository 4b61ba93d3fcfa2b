//! Helpers for the tests of all crates: skipped tests, real data, paths, small disks.
//!
//! A dev-dependency only; it depends on no other crate of the workspace. Documented in `docs/testing.md`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and prints why it is skipped")]

mod disk;
mod paths;
mod skip;

pub use disk::{LoopDevice, SmallDisk, memory_file_system};
pub use paths::{binary, crate_file, installed, real_data, repository_file, scratch_directory};
pub use skip::{Cause, SKIPPED_TESTS, skip};
