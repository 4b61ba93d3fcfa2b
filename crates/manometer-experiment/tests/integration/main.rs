//! All integration tests of `manometer-experiment`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod file;
mod plan;
mod sweep;
