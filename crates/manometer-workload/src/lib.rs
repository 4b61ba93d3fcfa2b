//! Load generators.
//!
//! [`io`] reads and writes files; [`files`] creates, uses and deletes many; [`paths`] looks up, opens, reads and lists those
//! of a tree; [`kv`] runs YCSB and db_bench on a key-value engine; [`replay`] sends a recorded trace to an engine;
//! [`command`] runs an external program. Each prepares its data and passes itself, as a [`interface::Workload`], to a
//! [`interface::Driver`], which `manometer-session` implements.
//!
//! ```
//! use manometer_workload::kv::PopularityDistribution;
//! use manometer_workload::kv::distribution::{KeyChooser, KeySpace, stream};
//!
//! let space = KeySpace { records: 1000, expected: 1000, thread: 0, threads: 1 };
//! let mut keys = KeyChooser::new(PopularityDistribution::Zipfian { exponent: 0.99 }, space, 42);
//! let mut random = stream(42, 0);
//! assert!(keys.draw(1000, &mut random) < 1000);
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they damage"))]

mod change;
pub mod command;
pub mod error;
mod file_threads;
pub mod files;
pub mod interface;
pub mod io;
pub mod kv;
pub mod paths;
pub mod replay;
pub mod sample;
pub mod script;
pub mod setting_error;
pub mod settings;
mod settings_file;
