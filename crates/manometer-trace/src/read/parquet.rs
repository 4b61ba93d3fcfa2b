//! Parquet with the writer's column names (`docs/traces.md`); all but the key are optional.
//!
//! Parquet is read from its end, so the input must be a file, and a truncated one cannot be read.

use std::borrow::Cow;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, BinaryArray, RecordBatch, UInt64Array};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::ReadOptions;
use crate::columns::detailed_schema;
use crate::error::{RecordFault, TraceError};
use crate::format::{Format, Head};
use crate::reader::{BATCH_RECORDS, Reader, RecordDecoder, RecordSink, TraceReader};
use crate::record::{Record, TraceOperation};
use crate::source::Source;

use super::operation_name::operation;

const MAGIC: &[u8] = b"PAR1";
/// The most requests that are kept together as one command.
const COMMAND_KEYS_MAX: usize = 131_072;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "parquet",
    about: "Parquet, as `manometer trace convert` writes it",
    settings: &[],
    recognise: |head: &Head| head.bytes.starts_with(MAGIC),
    open,
};

fn open(mut source: Source, options: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
    let Some(file) = source.take_file() else {
        let what = "a Parquet trace is read from its end: name a file that is neither compressed nor a pipe";
        return Err(TraceError::Wrong(what.to_owned()));
    };
    let rows = guarded(|| rows(file)).map_err(|what| damaged(0, what))?;
    Ok(Box::new(Reader::new(Parquet { rows, row: 0, ahead: None }, options.kept())))
}

fn damaged(offset: u64, what: RecordFault) -> TraceError {
    TraceError::Damaged { format: FORMAT.name, offset, line: None, what }
}

/// Turns the library's panics on damaged files into errors.
fn guarded<T>(read: impl FnOnce() -> Result<T, RecordFault>) -> Result<T, RecordFault> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("its pages contradict one another".into()))
}

fn rows(file: File) -> Result<ParquetRecordBatchReader, RecordFault> {
    let wrong = |error: ::parquet::errors::ParquetError| RecordFault::from(format!("it cannot be read: {error}"));
    // An embedded Arrow schema adds nothing to Parquet's own, and may contradict it.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(wrong)?;
    let fields = builder.schema().fields();
    let columns = detailed_schema();
    let is_known = |at: &usize| columns.column_with_name(fields[*at].name()).is_some();
    let wanted: Vec<usize> = (0..fields.len()).filter(is_known).collect();
    if !wanted.iter().any(|at| ["key", "key_text"].contains(&fields[*at].name().as_str())) {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        return Err(format!("its columns are {}: expected one called `key`", names.join(", ")).into());
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
    builder.with_projection(mask).with_batch_size(BATCH_RECORDS).build().map_err(wrong)
}

struct Parquet {
    rows: ParquetRecordBatchReader,
    /// The number of good rows.
    row: u64,
    /// Rows that were read and not yet put.
    ahead: Option<RecordBatch>,
}

impl RecordDecoder for Parquet {
    fn fill(&mut self, sink: &mut RecordSink) -> Result<(), TraceError> {
        loop {
            let Some(batch) = self.ahead.take().map_or_else(|| self.next(), |batch| Ok(Some(batch)))? else {
                return Ok(());
            };
            // The requests of one command belong to one batch.
            let rows = if sink.room() > 0 { batch.num_rows() } else { joined_rows(&batch, sink)? };
            put(&batch.slice(0, rows), sink).map_err(|what| damaged(0, what))?;
            self.row += rows as u64;
            if rows < batch.num_rows() {
                self.ahead = Some(batch.slice(rows, batch.num_rows() - rows));
                return Ok(());
            }
        }
    }
}

impl Parquet {
    fn next(&mut self) -> Result<Option<RecordBatch>, TraceError> {
        let row = self.row;
        let batch = guarded(|| match self.rows.next() {
            None => Ok(None),
            Some(Err(error)) => Err(format!("after row {row} it cannot be read: {error}").into()),
            Some(Ok(batch)) => Ok(Some(batch)),
        });
        batch.map_err(|what| damaged(0, what))
    }
}

/// How many of the first rows belong to the command of the request before them; none of a command that is too long.
fn joined_rows(batch: &RecordBatch, sink: &RecordSink) -> Result<usize, TraceError> {
    if sink.len() >= COMMAND_KEYS_MAX {
        return Ok(0);
    }
    let joined = numbers(batch, "joined").map_err(|what| damaged(0, what))?;
    Ok((0..batch.num_rows()).take_while(|row| number_at(joined.as_ref(), *row) == Some(1)).count())
}

/// A column of numbers of any width.
fn numbers(batch: &RecordBatch, name: &str) -> Result<Option<UInt64Array>, RecordFault> {
    let Some(column) = batch.column_by_name(name) else { return Ok(None) };
    let wide = cast(column, &DataType::UInt64).map_err(|error| format!("column `{name}`: {error}"))?;
    if wide.null_count() > column.null_count() {
        return Err(format!("column `{name}` has a value that is not a 64-bit integer").into());
    }
    Ok(Some(wide.as_primitive::<UInt64Type>().clone()))
}

/// A column of texts or bytes.
fn texts(batch: &RecordBatch, name: &str) -> Result<Option<BinaryArray>, RecordFault> {
    let Some(column) = batch.column_by_name(name) else { return Ok(None) };
    let bytes = cast(column, &DataType::Binary).map_err(|error| format!("column `{name}`: {error}"))?;
    Ok(Some(bytes.as_binary::<i32>().clone()))
}

fn number_at(column: Option<&UInt64Array>, row: usize) -> Option<u64> {
    column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
}

fn bytes_at(column: Option<&BinaryArray>, row: usize) -> Option<&[u8]> {
    column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
}

fn put(batch: &RecordBatch, sink: &mut RecordSink) -> Result<(), RecordFault> {
    let columns = ["time_ns", "key", "key_size", "value_size", "client", "ttl_s", "offset", "device", "succeeded"];
    let mut number_columns = Vec::with_capacity(columns.len());
    for name in columns {
        // A key may be a text, whose column has another type.
        let is_text = name == "key" && batch.column_by_name(name).is_some_and(|key| !key.data_type().is_integer());
        number_columns.push(if is_text { None } else { numbers(batch, name)? });
    }
    let operations = texts(batch, "op")?;
    let key_texts = match texts(batch, "key_text")? {
        None if number_columns[1].is_none() => texts(batch, "key")?,
        key_texts => key_texts,
    };
    let details = DetailColumns::of(batch)?;
    for row in 0..batch.num_rows() {
        let number = |column: usize| number_at(number_columns[column].as_ref(), row);
        let narrow = |column: usize| -> Result<Option<u32>, RecordFault> {
            let wide = |_| RecordFault::from(format!("column `{}` has a number of more than 32 bits", columns[column]));
            number(column).map(u32::try_from).transpose().map_err(wide)
        };
        let text = bytes_at(key_texts.as_ref(), row);
        let id = text.map(|text| sink.key_as(number(1), text)).transpose()?;
        let key = number(1).or(id).ok_or("a row has no key")?;
        let operation = match operations.as_ref().map(|names| names.value(row)) {
            None => TraceOperation::Get,
            Some(name) => operation(name).ok_or_else(|| unknown(name))?,
        };
        details.put(row, sink)?;
        sink.push(Record {
            time_ns: number(0),
            key,
            offset: number(6),
            value_size: number(3),
            client: number(4),
            key_size: narrow(2)?,
            ttl_s: narrow(5)?,
            device: narrow(7)?.unwrap_or(0),
            operation,
            succeeded: number(8).map(|succeeded| succeeded != 0),
        });
    }
    Ok(())
}

/// The columns of what a trace records beyond records.
struct DetailColumns {
    scan_length: Option<UInt64Array>,
    scan_end: Option<BinaryArray>,
    scan_backward: Option<UInt64Array>,
    command: Option<BinaryArray>,
    joined: Option<UInt64Array>,
}

impl DetailColumns {
    fn of(batch: &RecordBatch) -> Result<Self, RecordFault> {
        Ok(Self {
            scan_length: numbers(batch, "scan_length")?,
            scan_end: texts(batch, "scan_end")?,
            scan_backward: numbers(batch, "scan_backward")?,
            command: texts(batch, "command")?,
            joined: numbers(batch, "joined")?,
        })
    }

    /// Puts what they hold of `row`, if that is kept.
    fn put(&self, row: usize, sink: &mut RecordSink) -> Result<(), RecordFault> {
        let Some(details) = sink.details() else { return Ok(()) };
        let wide = |_| RecordFault::from("column `scan_length` has a number of more than 32 bits");
        let length = number_at(self.scan_length.as_ref(), row).map(u32::try_from).transpose().map_err(wide)?;
        let is_backward = number_at(self.scan_backward.as_ref(), row) == Some(1);
        details.scan(bytes_at(self.scan_end.as_ref(), row), length, is_backward);
        if let Some(command) = bytes_at(self.command.as_ref(), row) {
            details.command(command);
        }
        if number_at(self.joined.as_ref(), row) == Some(1) {
            details.join();
        }
        Ok(())
    }
}

fn unknown(name: &[u8]) -> Cow<'static, str> {
    format!("column `op` holds {}: expected for example get or write", crate::text::show(name)).into()
}
