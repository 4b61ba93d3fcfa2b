//! The experiment file: TOML, read with positions so that an error points at its line.
//!
//! [`load`] reads a file and what it extends into a tree, checks the whole tree against the tables of the schema, and
//! resolves it into an [`Experiment`].

mod check;
mod problem;
pub mod real_vs_synthetic;
mod schema;
mod source;
mod tables;
mod tree;

use std::path::Path;

pub use problem::{ExperimentError, Problem};
pub use real_vs_synthetic::RealVsSynthetic;
pub use schema::{SCHEMA_ID, json_schema};

use self::source::Sources;
use crate::definition::Experiment;

/// Reads the experiment file at `path`, or the shipped experiment of that name, and the files that it extends, applies
/// the `--set` changes `sets`, and checks the whole.
///
/// # Errors
/// All problems, each with its file, its line and what would be right.
pub fn load(path: &Path, sets: &[String]) -> Result<Experiment, ExperimentError> {
    let (mut sources, mut errors) = (Sources::default(), Vec::new());
    let root = tree::load(&mut sources, path, sets, &mut errors);
    let experiment = root.and_then(|root| check::check(&root, &sources, &mut errors));
    experiment.filter(|_| errors.is_empty()).ok_or_else(|| ExperimentError::new(errors, &sources))
}
