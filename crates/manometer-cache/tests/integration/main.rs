//! All integration tests of `manometer-cache`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod advise;
mod cost;
mod curves;
mod limits;
mod models;
mod published;
mod registry;
mod tier;
mod time_source;
