//! Other tools' results as recordings: what a format lacks is absent, and what it holds keeps its place in time.
//!
//! A reader makes a [`Draft`] of a file; [`Draft::write`] makes a recording of that.

mod draft;
mod findings;
pub mod fio_logs;
mod input;
pub mod programs;
pub mod resctl_bench;
mod simple;
pub mod storiks;
mod tool;
pub mod ycsb;

pub use draft::{Draft, ImportedPhase, Latencies, Table, swept};
pub use input::ImportError;
pub use tool::{Tool, import};
