//! Columns of numbers and texts, passed to other libraries as Arrow without copying.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, StructArray, UInt64Array};
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

/// A column to build.
pub(crate) struct Column {
    name: String,
    unit: String,
    values: ArrayRef,
}

impl Column {
    /// Numbers in a unit.
    pub(crate) fn numbers(name: &str, unit: &str, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self::new(name, unit, Arc::new(values.into_iter().collect::<Float64Array>()))
    }

    /// Whole numbers in a unit, or counts.
    pub(crate) fn whole(name: &str, unit: &str, values: impl IntoIterator<Item = Option<u64>>) -> Self {
        Self::new(name, unit, Arc::new(values.into_iter().collect::<UInt64Array>()))
    }

    /// Texts.
    pub(crate) fn texts<T: AsRef<str>>(name: &str, values: impl IntoIterator<Item = Option<T>>) -> Self {
        Self::new(name, "", Arc::new(values.into_iter().collect::<StringArray>()))
    }

    /// Flags.
    pub(crate) fn flags(name: &str, values: impl IntoIterator<Item = Option<bool>>) -> Self {
        Self::new(name, "", Arc::new(values.into_iter().collect::<BooleanArray>()))
    }

    fn new(name: &str, unit: &str, values: ArrayRef) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), values }
    }

    fn field(&self) -> Field {
        let field = Field::new(&self.name, self.values.data_type().clone(), true);
        if self.unit.is_empty() { field } else { field.with_metadata(metadata([("unit", self.unit.clone())])) }
    }
}

/// Metadata of a column or of a whole frame.
pub(crate) fn metadata<const N: usize>(entries: [(&str, String); N]) -> HashMap<String, String> {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A table in memory in Arrow's layout. Libraries with the Arrow PyCapsule interface accept it without copying:
/// `polars.DataFrame(frame)`, `pyarrow.table(frame)`. A gap is null: it was not measured.
///
/// ```python
/// >>> frame = manometer.cache.simulate([1, 2, 1], "lru", 2)
/// >>> frame.rows()[0]["misses"]
/// 2
///
/// ```
#[pyclass(frozen, module = "manometer")]
pub(crate) struct Frame {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Frame {
    /// The frame of `columns`, which have equal length.
    pub(crate) fn of(columns: Vec<Column>, metadata: HashMap<String, String>) -> PyResult<Self> {
        let fields: Vec<Field> = columns.iter().map(Column::field).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let arrays = columns.into_iter().map(|column| column.values).collect();
        Self::of_arrays(schema, arrays)
    }

    /// The frame of arrays that match a schema.
    pub(crate) fn of_arrays(schema: SchemaRef, arrays: Vec<ArrayRef>) -> PyResult<Self> {
        let batch = RecordBatch::try_new(schema, arrays).map_err(wrong)?;
        Ok(Self::of_batch(batch))
    }

    /// The frame of one batch.
    pub(crate) fn of_batch(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), batches: vec![batch] }
    }

    fn metadata_values(&self, key: &str) -> HashMap<String, String> {
        let fields = self.schema.fields().iter();
        fields.filter_map(|field| Some((field.name().clone(), field.metadata().get(key)?.clone()))).collect()
    }
}

fn wrong(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The field that represents a whole schema in a stream.
pub(crate) fn struct_field(schema: &Schema) -> FieldRef {
    Arc::new(Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone()))
}

#[pymethods]
impl Frame {
    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The units of columns by name, where they have one.
    #[getter]
    fn units(&self) -> HashMap<String, String> {
        let mut units = self.metadata_values("unit");
        units.retain(|_, unit| !unit.is_empty());
        units
    }

    /// The meanings of columns by name, where known.
    #[getter]
    fn meanings(&self) -> HashMap<String, String> {
        self.metadata_values("meaning")
    }

    /// The metadata of the frame.
    #[getter]
    fn metadata(&self) -> HashMap<String, String> {
        self.schema.metadata().clone()
    }

    /// The rows as dictionaries; `None` is a gap.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let one = PyDict::new(py);
                for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                    one.set_item(field.name(), cell(py, column, row)?)?;
                }
                rows.append(one)?;
            }
        }
        Ok(rows)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        let units = self.metadata_values("unit");
        let name = |field: &FieldRef| match units.get(field.name()).filter(|unit| !unit.is_empty()) {
            Some(unit) => format!("{} [{unit}]", field.name()),
            None => field.name().clone(),
        };
        let names: Vec<String> = self.schema.fields().iter().map(name).collect();
        format!("<manometer.Frame: {} rows; {}>", self.__len__(), names.join(", "))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.schema.as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = self.batches.clone().into_iter().map(|batch| Ok(Arc::new(StructArray::from(batch)) as ArrayRef));
        let arrays = ArrayIterator::new(batches.collect::<Vec<_>>(), struct_field(&self.schema));
        Ok(to_stream_pycapsule(py, Box::new(arrays), requested_schema)?)
    }
}

fn cell<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into_bound_py_any(py),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into_bound_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        DataType::Utf8 => column.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::Binary => Ok(PyBytes::new(py, column.as_binary::<i32>().value(row)).into_any()),
        other => Err(PyValueError::new_err(format!("a column of {other} has no rows in Python: take it as Arrow"))),
    }
}
