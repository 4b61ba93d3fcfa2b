//! From an experiment file to a recording.
//!
//! The modules are layers; each uses those before it:
//!
//! 1. [`limits`] and [`definition`] hold an experiment that can run.
//! 2. [`file`] reads an experiment file, checks it and resolves it into an [`Experiment`].
//! 3. [`plan`] turns an experiment into the phases of a run.
//! 4. [`prepare`] brings the device and the data into a steady state; [`isolate`] makes control groups and containers.
//! 5. [`conductor`] runs the phases with one worker process per workload and leaves a recording.
//! 6. [`queue`] keeps the runs of a sweep or of several files in order.
//!
//! [`shipped`] holds the experiments that come with Manometer. [`real_vs_synthetic`] replays a trace and synthetic loads on the same caches. What a recording means is left to
//! `manometer-analysis`.
//!
//! ```
//! use manometer_experiment::{file, plan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("experiment.toml");
//! let text = r#"
//! name = "a writer next to RocksDB"
//! [device]
//! directory = "data"
//! [primary]
//! records = 1000
//! [[neighbour]]
//! name = "writer"
//! kind = "io"
//! file_size = "1MiB"
//! [plan]
//! phase = "10s"
//! vary = { "writer.iodepth" = [1, 16] }
//! "#;
//! std::fs::write(&path, text)?;
//! let plan = plan::plan(&file::load(&path, &[])?);
//! assert!(plan.phase("w0").is_some(), "the phase without a neighbour");
//! assert!(plan.phase("w2").is_some(), "the phase with queue depth 16");
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they damage"))]

mod boot_id;
pub mod columns;
pub mod conductor;
pub mod definition;
pub mod file;
pub mod isolate;
pub mod limits;
pub mod lock;
pub mod place;
pub mod plan;
pub mod prepare;
pub mod progress;
pub mod queue;
pub mod real_vs_synthetic;
pub mod setup;
pub mod shipped;

pub use definition::Experiment;
pub use file::ExperimentError;
