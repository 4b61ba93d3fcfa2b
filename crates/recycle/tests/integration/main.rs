//! All integration tests of `recycle`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod c;
mod crash;
mod faults;
mod limits;
mod model;
mod power;
mod processes;
mod support;
