//! All integration tests of `manometer-analysis`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod compare;
mod coverage;
mod damage;
mod findings;
mod interleaved;
mod interleaved_coverage;
mod missing_time;
mod rules;
mod summarise;
mod synthetic;
mod verdict;
