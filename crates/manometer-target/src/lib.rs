//! Systems under load: key-value engines and files. `manometer-workload` generates the load.
//!
//! ```
//! use manometer_target::engine::{self, EngineOptions, OpenRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! let options = EngineOptions::default();
//! let request = OpenRequest { directory, options: &options, value_bytes: 0 };
//! let store = (engine::find("map")?.open)(&request)?;
//! let mut session = store.session();
//! session.put(b"apple", b"red")?;
//! assert_eq!(session.get(b"apple")?, Some(&b"red"[..]));
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they damage"))]

pub mod engine;
pub mod file;
