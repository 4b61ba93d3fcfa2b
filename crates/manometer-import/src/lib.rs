//! Other tools' results as recordings: what a format lacks is absent, and what it holds keeps its place in time.
//!
//! A reader turns files into a [`Draft`]; [`Draft::write`] writes it as a recording. Each format is a file of [`format`]
//! and a line in its list, [`FORMATS`].

mod draft;
mod findings;
mod format;
mod import;
mod import_format;
mod input;
mod program_output;
mod single_run;

pub use draft::{Draft, ImportedPhase, IntervalLatencies, SampleTable};
pub use format::{FORMATS, experiment_of_flags, find_format};
pub use import::import;
pub use import_format::ImportFormat;
pub use input::ImportError;
