//! What the tests of all crates share: tests that are skipped, real data, paths, small disks.
//!
//! Only ever a dev-dependency, and it depends on no other crate of the workspace. `docs/testing.md` is its manual.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and prints why it is skipped")]

mod disk;
mod paths;
mod skip;

pub use disk::{LoopDevice, SmallDisk, memory_file_system};
pub use paths::{binary, crate_file, installed, real_data, repository_file, scratch_directory};
pub use skip::{Cause, SKIPPED_TESTS, skip};
