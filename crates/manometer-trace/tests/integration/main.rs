//! All integration tests of `manometer-trace`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod bad_input;
mod character;
mod corpus;
mod real;
mod registry;
mod round_trip;
mod samples;
mod synthesis;
mod transform;
