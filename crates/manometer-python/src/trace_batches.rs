//! The requests of a trace in batches, so that memory does not grow with the trace.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::ArrowError;
use manometer_trace::{Record, TraceError, TraceReader, record_batch};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};

use crate::error;
use crate::frame::{Frame, struct_field};

/// Default number of rows in a batch: a few megabytes.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// An iterator of frames.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct TraceBatches(Mutex<Rows>);

struct Rows {
    reader: Box<dyn TraceReader>,
    rows: usize,
    /// Records read beyond the last batch.
    records: Vec<Record>,
    /// The error that ended the reading, until it is raised.
    ended: Option<Result<(), TraceError>>,
}

impl TraceBatches {
    pub(crate) fn new(reader: Box<dyn TraceReader>, rows: usize) -> Self {
        Self(Mutex::new(Rows { reader, rows: rows.max(1), records: Vec::new(), ended: None }))
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, TraceError>;

    /// The next batch; after the last one the damage that ended the trace, if any.
    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = Vec::new();
        while self.records.len() < self.rows && self.ended.is_none() {
            match self.reader.read(&mut batch) {
                Ok(0) => self.ended = Some(Ok(())),
                Ok(_) => self.records.append(&mut batch),
                Err(error) => self.ended = Some(Err(error)),
            }
        }
        if self.records.is_empty() {
            return self.ended.replace(Ok(()))?.err().map(Err);
        }
        let rows = self.rows.min(self.records.len());
        let given = record_batch(&self.records[..rows], self.reader.keys());
        self.records.drain(..rows);
        Some(Ok(given))
    }
}

#[pymethods]
impl TraceBatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Frame>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next());
        Ok(next.transpose().map_err(error::trace)?.map(Frame::of_batch))
    }
}

/// The batches as one Arrow stream.
pub(crate) fn stream<'py>(
    batches: TraceBatches,
    py: Python<'py>,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let rows = batches.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let field = struct_field(&record_batch(&[], None).schema());
    let arrays = rows.map(|batch| match batch {
        Ok(batch) => Ok(Arc::new(StructArray::from(batch)) as ArrayRef),
        Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
    });
    Ok(to_stream_pycapsule(py, Box::new(ArrayIterator::new(arrays, field)), requested_schema)?)
}
