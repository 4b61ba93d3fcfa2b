//! From an experiment file to a recording.
//!
//! [`file`] reads and checks the TOML file, [`plan`] turns it into phases, [`conductor`] runs them with
//! one worker process per workload and leaves a recording, [`queue`] keeps many runs in order.
//! [`real_vs_synthetic`] replays a trace and synthetic loads beside one another. What a
//! recording means is `manometer-analysis`'s matter.

pub mod columns;
pub mod conductor;
pub mod file;
pub mod fit;
pub mod isolate;
pub mod plan;
pub mod prepare;
pub mod queue;
pub mod real_vs_synthetic;
pub mod worker;

pub use file::{Experiment, ExperimentError};
