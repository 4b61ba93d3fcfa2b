//! Imports results of other tools as recordings. What a format does not contain is missing.
//!
//! A reader turns files into [`ImportedRun`]s; [`ImportedRun::write`] writes one as a recording. Each format is a file
//! of [`format`] and a line in its list, [`FORMATS`].
//!
//! ```
//! use manometer_import::{find_format, import};
//! use manometer_measure::Recording;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("ycsb.txt");
//! # let out = folder.path().join("recording");
//! let text = "2026-11-22 10:00:02:000 2 sec: 100 operations; 50 current ops/sec; \
//!             [READ: Count=100, Max=9, Min=1, Avg=2, 90=3, 99=4, 99.9=5, 99.99=6]\n";
//! std::fs::write(&file, text)?;
//! let format = find_format("ycsb").ok_or("there is no such format")?;
//! let recordings = import(format, &[file], &out)?;
//! assert!(!Recording::open(&recordings[0])?.series().is_empty());
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they damage"))]

mod conversion;
mod findings;
mod format;
mod import_format;
mod imported_run;
mod input;
mod program_output;
mod single_run;

pub use conversion::import;
pub use format::{FORMATS, experiment_of_flags, find_format};
pub use import_format::ImportFormat;
pub use imported_run::{ImportedPhase, ImportedRun, IntervalLatencies, SampleTable};
pub use input::ImportError;
