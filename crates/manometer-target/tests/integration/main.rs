//! All integration tests of `manometer-target`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod conformance;
mod registry;
mod servers;
