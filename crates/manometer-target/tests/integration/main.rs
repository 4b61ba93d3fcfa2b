//! All integration tests of `manometer-target`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests make the files that they damage")]

mod conformance;
mod registry;
mod servers;
