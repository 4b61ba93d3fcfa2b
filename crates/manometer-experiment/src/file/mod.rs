//! The experiment file: TOML, with positions kept so that an error can point at its line.

mod check;
mod experiment;
mod isolation;
mod prepare;
mod problem;
pub mod real_vs_synthetic;
mod referenced;
mod schema;
mod sweep;
mod tree;
mod types;

use std::path::Path;

pub use experiment::{Change, Experiment, Neighbour, Step, Workload, settings_text};
pub(crate) use experiment::{text, without_budget};
pub use prepare::{Precondition, PrepareTable};
pub use problem::{ExperimentError, Problem};
pub use real_vs_synthetic::RealVsSynthetic;
pub use referenced::Referenced;
pub use schema::json_schema;
pub use sweep::{Order, PhaseStop, SweepRules, SweepStop, SweepTable};
pub use types::{DeviceTable, ExperimentTable, PlanTable};

/// Reads the experiment file at `path`, what it extends, and the `--set` changes `sets`, and checks the
/// whole.
///
/// # Errors
/// Every problem found, each with its file, line and what would be right.
pub fn load(path: &Path, sets: &[String]) -> Result<Experiment, ExperimentError> {
    let mut sources = tree::Sources::default();
    let root = tree::load(&mut sources, path, sets).map_err(|problems| sources.error(problems))?;
    check::check(&root, &sources).map_err(|problems| sources.error(problems))
}
