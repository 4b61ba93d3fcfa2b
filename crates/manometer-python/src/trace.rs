//! Traces: open, slice, summarise, convert.

use std::path::{Path, PathBuf};

use manometer_trace::transform::slice::{Slice, SliceRange, nanoseconds};
use manometer_trace::write::{WriteSummary, write_trace};
use manometer_trace::{ReadOptions, TraceError, TraceForm, TraceReader, TraceSummary, open, read_first, record_batch};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};

use crate::error;
use crate::frame::Frame;
use crate::trace_batches::{BATCH_ROWS, TraceBatches, stream};

/// A trace in a file, with its slices in order. Each use reads the file again.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Trace {
    path: PathBuf,
    form: TraceForm,
    format: &'static str,
    stretches: Vec<SliceRange>,
}

impl Trace {
    /// Opens a reader.
    pub(crate) fn reader(&self, key_texts: bool) -> Result<Box<dyn TraceReader>, TraceError> {
        self.reader_with(&self.form.options(key_texts)?)
    }

    fn reader_with(&self, options: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
        let trace = open(&self.path, options)?;
        let cut = |reader, stretch: &SliceRange| Box::new(Slice::new(reader, *stretch)) as Box<dyn TraceReader>;
        Ok(self.stretches.iter().fold(trace.reader, cut))
    }
}

/// Opens a trace in the given format, or recognises it by the content.
#[pyfunction]
pub(crate) fn open_trace(
    py: Python<'_>,
    path: PathBuf,
    input_format: Option<String>,
    columns: Option<String>,
    delimiter: Option<char>,
    time_unit: Option<String>,
) -> PyResult<Trace> {
    let form = TraceForm { input_format, columns, delimiter, time_unit };
    let opened = py.detach(|| open(&path, &form.options(false)?));
    let format = opened.map_err(error::trace)?.format.name;
    Ok(Trace { path, form, format, stretches: Vec::new() })
}

#[pymethods]
impl Trace {
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.format
    }

    fn slice(&self, from_s: f64, seconds: Option<f64>, requests: Option<u64>) -> PyResult<Self> {
        let stretch = SliceRange {
            from_ns: nanoseconds("from_s", from_s).map_err(error::trace)?,
            length_ns: seconds.map(|seconds| nanoseconds("seconds", seconds)).transpose().map_err(error::trace)?,
            requests,
        };
        let stretches = self.stretches.iter().copied().chain([stretch]).collect();
        Ok(Self { path: self.path.clone(), form: self.form.clone(), format: self.format, stretches })
    }

    /// The summary, as one JSON object.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let info = py.detach(|| {
            let mut reader = self.reader(false)?;
            let (summary, ended) = TraceSummary::read(&mut *reader);
            let damage = damage_only(ended)?;
            let mut info = json!(summary.totals());
            info["format"] = json!(self.format);
            info["skipped"] = json!(reader.skipped());
            info["damage"] = damage_json(damage.as_ref());
            Ok::<_, TraceError>(info.to_string())
        });
        info.map_err(error::trace)
    }

    /// The first requests, and the error that ended the reading early, if any.
    fn head(&self, py: Python<'_>, requests: usize) -> PyResult<(Frame, Option<String>)> {
        let read = py.detach(|| {
            let mut reader = self.reader(true)?;
            let (records, ended) = read_first(&mut *reader, requests);
            let damage = damage_only(ended)?.map(|damage| damage.to_string());
            Ok::<_, TraceError>((Frame::of_batch(record_batch(&records, reader.keys())), damage))
        });
        read.map_err(error::trace)
    }

    /// All requests in batches of `rows`.
    fn batches(&self, py: Python<'_>, rows: usize, key_texts: bool) -> PyResult<TraceBatches> {
        let reader = py.detach(|| self.reader(key_texts)).map_err(error::trace)?;
        Ok(TraceBatches::new(reader, rows))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        stream(self.batches(py, BATCH_ROWS, true)?, py, requested_schema)
    }

    /// Writes the trace to a new file. Returns a summary of what was written, as one JSON object.
    fn convert(&self, py: Python<'_>, out: PathBuf, format: Option<&str>, key_texts: bool) -> PyResult<String> {
        let written = py.detach(|| {
            let options = ReadOptions { keep_details: key_texts, ..self.form.options(key_texts)? };
            write_trace(&mut *self.reader_with(&options)?, &out, format)
        });
        let written = written.map_err(error::trace)?;
        let WriteSummary { requests, format, losses, damage, .. } = written;
        let damage = damage_json(damage.as_ref());
        Ok(json!({ "requests": requests, "format": format, "losses": losses.0, "damage": damage }).to_string())
    }
}

/// The damage that ended the reading of a trace; any other error fails.
fn damage_only(ended: Option<TraceError>) -> Result<Option<TraceError>, TraceError> {
    match ended {
        None | Some(TraceError::Damaged { .. }) => Ok(ended),
        Some(error) => Err(error),
    }
}

fn damage_json(damage: Option<&TraceError>) -> Value {
    json!(damage.map(ToString::to_string))
}
