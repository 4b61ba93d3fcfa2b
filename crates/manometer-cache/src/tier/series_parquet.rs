//! Writes the series of simulations as a Parquet file with a row per interval.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use manometer_measure::Column;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::flows::Flows;
use super::series::{DIRECTIONS, TierInterval, series_columns};
use super::simulate_all::TierOutcome;

/// Writes the series of `outcomes`, in the columns of [`series_columns`], whose units and meanings are metadata.
///
/// # Errors
/// The file cannot be written.
pub fn write_series(file: impl Write + Send, outcomes: &[TierOutcome]) -> io::Result<()> {
    let rows: Vec<(&TierOutcome, &TierInterval)> =
        outcomes.iter().flat_map(|outcome| outcome.series.iter().map(move |interval| (outcome, interval))).collect();
    let number = |of: &dyn Fn(&TierInterval) -> Option<f64>| -> ArrayRef {
        Arc::new(rows.iter().map(|(_, interval)| of(interval)).collect::<Float64Array>())
    };
    let mut arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(outcome, _)| &outcome.arrangement.name))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(outcome, _)| &outcome.load.name))),
        number(&|interval| Some(interval.begin_s)),
        number(&|interval| Some(interval.end_s)),
        Arc::new(rows.iter().map(|(_, interval)| Some(interval.is_warm_up)).collect::<BooleanArray>()),
        number(&|interval| Some(interval.requests_per_s())),
        number(&|interval| Some(interval.mb_per_s())),
        number(&TierInterval::latency_mean_us),
        number(&TierInterval::ram_hit_ratio),
        number(&TierInterval::hit_ratio),
    ];
    for flow in 0..Flows::PURPOSES.len() {
        for (_, _, bytes) in DIRECTIONS {
            arrays.push(number(&|interval| Some(interval.rate(bytes(&interval.counts.flows.all()[flow])))));
        }
    }
    let columns = series_columns();
    let fields = columns.iter().zip(&arrays).map(|(column, array)| field(column, array.data_type()));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(io::Error::other)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(io::Error::other)?;
    writer.write(&batch).map_err(io::Error::other)?;
    writer.close().map_err(io::Error::other)?;
    Ok(())
}

fn field(column: &Column, kind: &DataType) -> Field {
    let Column { name, unit, meaning, .. } = column;
    let metadata = [("unit", unit), ("meaning", meaning)].map(|(key, value)| (key.to_owned(), value.clone()));
    Field::new(name, kind.clone(), true).with_metadata(HashMap::from(metadata))
}
