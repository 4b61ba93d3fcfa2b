//! All integration tests of `manometer-import`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod formats;
mod programs;
mod resctl_bench;
mod storiks;
