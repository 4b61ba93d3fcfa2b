//! Writes curves as a Parquet file with a row per point.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::{CurvePoint, MissRatioCurve};

/// Writes curves with their policies' names; capacities are in `unit`.
///
/// # Errors
/// The file cannot be written.
pub fn write_parquet(file: impl Write + Send, unit: &str, curves: &[(String, &MissRatioCurve)]) -> io::Result<()> {
    let field = |name: &str, kind, nullable| Field::new(name, kind, nullable);
    let schema = Arc::new(Schema::new(vec![
        field("policy", DataType::Utf8, false),
        field("unit", DataType::Utf8, false),
        field("capacity", DataType::UInt64, false),
        field("miss_ratio", DataType::Float64, false),
        field("error", DataType::Float64, true),
    ]));
    let rows: Vec<(&str, &CurvePoint)> =
        curves.iter().flat_map(|(name, curve)| curve.points.iter().map(move |point| (name.as_str(), point))).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(policy, _)| policy))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|_| unit))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(_, point)| point.capacity))),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, point)| point.miss_ratio))),
        Arc::new(rows.iter().map(|(_, point)| point.error).collect::<Float64Array>()),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(io::Error::other)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(io::Error::other)?;
    writer.write(&batch).map_err(io::Error::other)?;
    writer.close().map_err(io::Error::other)?;
    Ok(())
}
