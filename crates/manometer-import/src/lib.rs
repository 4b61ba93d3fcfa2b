//! Imports results of other tools as recordings. What a format does not contain is missing.
//!
//! A reader turns files into [`ImportedRun`]s; [`ImportedRun::write`] writes one as a recording. Each format is a file
//! of [`format`] and a line in its list, [`FORMATS`].

mod findings;
mod format;
mod import;
mod import_format;
mod imported_run;
mod input;
mod program_output;
mod single_run;

pub use format::{FORMATS, experiment_of_flags, find_format};
pub use import::import;
pub use import_format::ImportFormat;
pub use imported_run::{ImportedPhase, ImportedRun, IntervalLatencies, SampleTable};
pub use input::ImportError;
