//! All integration tests of `manometer-session`, in one program so that they link once: complete sessions of every kind
//! of workload, driven by control lines.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests make the files that they damage")]

mod command;
mod files;
mod files_support;
mod io;
mod kv;
mod kv_changes;
mod paths;
mod replay;
mod support;
