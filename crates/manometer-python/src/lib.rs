//! The Rust part of the Python package `manometer`.
//!
//! One file per module of the package. Signatures, defaults and documentation are in Python (`python/manometer/`); this
//! crate converts values and releases the GIL while Rust works.
//!
//! ```python
//! import manometer
//!
//! print(manometer.open("recording").headline)
//! ```

mod backpath;
mod cache;
mod charts;
mod compare;
mod error;
mod frame;
mod imports;
mod recording;
mod recycle;
mod rlsm;
mod settings;
mod trace;
mod trace_batches;

use pyo3::prelude::*;

/// The compiled part of `manometer`; use the package instead.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::backpath::{OpenChange, PathCache, Ticket};
    #[pymodule_export]
    use crate::cache::{curves, policies, simulate};
    #[pymodule_export]
    use crate::charts::{chart_spec, charts, colours, draw};
    #[pymodule_export]
    use crate::compare::{compare, findings, recordings_in, runs_verdict};

    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::imports::{experiment_of_flags, import_files};
    #[pymodule_export]
    use crate::recording::{Recording, phases, pressures, write_demo, write_document};
    #[pymodule_export]
    use crate::recycle::Mapping;
    #[pymodule_export]
    use crate::rlsm::{Batch, Database, Pairs, Snapshot, verify};
    #[pymodule_export]
    use crate::settings::{json_of_toml, toml_of_json};
    #[pymodule_export]
    use crate::trace::{Trace, open_trace};
    #[pymodule_export]
    use crate::trace_batches::TraceBatches;
}
