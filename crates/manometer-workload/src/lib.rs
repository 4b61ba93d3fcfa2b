//! Load generators.
//!
//! [`io`] reads and writes files; [`files`] creates, uses and deletes many; [`kv`] runs YCSB and db_bench on a key-value
//! engine; [`replay`] sends a recorded trace to an engine; [`command`] runs an external program. Each prepares its data and
//! passes itself, as a [`workload::Workload`], to a [`workload::Driver`], which `manometer-session` implements.

mod change;
pub mod command;
pub mod error;
pub mod files;
pub mod io;
pub mod kv;
pub mod replay;
pub mod sample;
pub mod script;
pub mod setting_error;
pub mod settings;
mod settings_file;
pub mod workload;
