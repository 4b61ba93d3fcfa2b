//! Load generators: the sources of requests.
//!
//! [`io`] reads and writes files, the seed's `access_time3` done better; [`files`] creates, uses and deletes many;
//! [`kv`] is YCSB and db_bench on a key-value engine; [`replay`] sends a recorded trace to one; [`command`] is an external
//! program. Each prepares its data and hands itself, as a [`workload::Workload`], to a [`workload::Driver`]:
//! `manometer-session` has the one there is.

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
