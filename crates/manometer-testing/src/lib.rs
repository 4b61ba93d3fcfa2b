//! Helpers for the tests of all crates: skipped tests, real data, paths, recordings, small disks, other users, power cuts.
//!
//! A dev-dependency only; it depends on no other crate of the workspace. Documented in `docs/testing.md`.
//!
//! ```
//! use manometer_testing::{real_data, repository_file};
//!
//! assert!(repository_file("docs/testing.md").exists());
//! // A test that needs the real traces returns where they are absent; `skip` has counted it.
//! let Some(traces) = real_data("traces") else { return };
//! assert!(traces.is_dir());
//! ```

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and prints why it is skipped")]

mod disk;
pub mod manual;
mod paths;
pub mod power;
mod recording;
mod skip;
mod user;

pub use disk::{LoopDevice, SmallDisk, memory_file_system};
pub use paths::{binary, crate_file, installed, real_data, repository_file, scratch_directory};
pub use recording::remove_checksums;
pub use skip::{Cause, SKIPPED_TESTS, skip};
pub use user::command_as;
