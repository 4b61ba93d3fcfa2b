//! All integration tests of `manometer`, in one program so that they link once.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]

mod architecture;
mod backpath;
mod cache;
mod cache_advise;
mod cache_cost;
mod cache_tier;
mod clients;
mod command;
mod compare;
mod corpus;
mod db_bench;
mod doctor;
mod errors;
mod experiments;
mod files;
mod import;
mod init;
mod interleaved;
mod io;
mod isolate;
mod lab;
mod liveness;
mod manual;
mod manual_commands;
mod outlive;
mod pacing;
mod paths;
mod pipes;
mod places;
mod prepare;
mod queue;
mod real_verdicts;
mod real_vs_synthetic;
mod release;
mod replay;
mod replay_sending;
mod replay_signals;
mod report;
#[cfg(feature = "rlsm")]
mod rlsm;
mod run;
mod support;
mod trace;
mod trace_capture;
mod trace_character;
mod trace_transform;
mod watch;
mod words;
mod worker;
mod ycsb;
