//! From an experiment file to a recording.
//!
//! The modules are layers; each uses those before it:
//!
//! 1. [`limits`] and [`experiment`] hold an experiment that can run.
//! 2. [`file`] reads an experiment file, checks it and resolves it into an [`Experiment`].
//! 3. [`plan`] turns an experiment into the phases of a run.
//! 4. [`prepare`] brings the device and the data into a steady state; [`isolate`] makes control groups and containers.
//! 5. [`conductor`] runs the phases with one worker process per workload and leaves a recording.
//! 6. [`queue`] keeps the runs of a sweep or of several files in order.
//!
//! [`real_vs_synthetic`] replays a trace and synthetic loads on the same caches. What a recording means is left to
//! `manometer-analysis`.

mod boot_id;
pub mod columns;
pub mod conductor;
pub mod experiment;
pub mod file;
pub mod isolate;
pub mod limits;
pub mod lock;
pub mod plan;
pub mod prepare;
pub mod progress;
pub mod queue;
pub mod real_vs_synthetic;
pub mod setup;

pub use experiment::Experiment;
pub use file::ExperimentError;
