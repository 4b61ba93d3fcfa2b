//! All integration tests of `rlsm`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod crash;
mod model;
mod outlive;
mod power;
mod pressure;
mod reads;
mod recovery;
mod scans;
mod support;
mod threads;
mod tools;
mod tools_crash;
