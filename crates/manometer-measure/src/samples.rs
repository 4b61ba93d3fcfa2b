//! Sample series: one row of numbers per interval, as an Arrow IPC stream during a run and as Parquet after a clean end.
//!
//! Every series has the column `t_ns` (the interval's end, `CLOCK_MONOTONIC` nanoseconds); all other
//! columns are nullable 64-bit floats that carry their unit as the field's metadata `unit`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, UInt64Array};
use arrow_buffer::Buffer;
use arrow_ipc::MetadataVersion;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};

use crate::catch_panic::catch_panic;
use crate::directory::Directory;

/// The column of every series: the end of the interval.
const TIME: &str = "t_ns";

/// The smallest alignment of the format.
const ALIGNMENT_BYTES: usize = 8;

/// The end of an Arrow stream: a continuation and a length of zero.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The largest stream that is read.
const MOST_STREAM_BYTES: u64 = 16 << 30;

/// A message's entry among the checksums: its length and its CRC-32C, of four bytes each, the lowest first.
const SUM_BYTES: usize = 8;

/// The file with the checksums of the stream `name`, one for each of its messages.
pub(crate) fn sums_name(name: &str) -> PathBuf {
    Path::new(name).with_extension("crc32c")
}

/// A sample series that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SamplesError {
    /// A file error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file was changed or damaged after it was written.
    #[error("{0}")]
    Damaged(String),
    /// The file is not a sample series.
    #[error("not a sample series: {0}")]
    Format(String),
}

impl From<ArrowError> for SamplesError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => Self::Io(error),
            other => Self::Format(other.to_string()),
        }
    }
}

/// A column: its name, unit, meaning and source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Column {
    /// Its name, such as `read.operations`.
    pub name: String,
    /// Its unit, such as `B/s`; empty for a count.
    pub unit: String,
    /// Its meaning, for people; empty if the name says it.
    #[serde(default)]
    pub meaning: String,
    /// The file or program from which it is read; empty for what Manometer counts itself.
    #[serde(default)]
    pub from: String,
}

impl Column {
    /// A column `name` of numbers in `unit`.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), meaning: String::new(), from: String::new() }
    }

    /// The same column with its meaning.
    #[must_use]
    pub fn meaning(self, meaning: impl Into<String>) -> Self {
        Self { meaning: meaning.into(), ..self }
    }

    /// The same column with the file or program from which it is read.
    #[must_use]
    pub fn from(self, from: impl Into<String>) -> Self {
        Self { from: from.into(), ..self }
    }
}

/// The columns of one source file: name, unit and meaning of each.
pub fn columns_from(file: &str, columns: &[(&str, &str, &str)]) -> Vec<Column> {
    columns.iter().map(|(name, unit, meaning)| Column::new(*name, *unit).meaning(*meaning).from(file)).collect()
}

/// Writes a series row by row; each row is written to the file when `append` returns, and then its checksum to another.
pub struct SampleWriter {
    /// Holds the message that is to be written.
    stream: StreamWriter<Vec<u8>>,
    schema: SchemaRef,
    file: File,
    sums: File,
}

impl SampleWriter {
    /// Creates a series of `columns`, the file `name` of `directory`.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub fn create(directory: &Directory, name: &str, columns: &[Column]) -> Result<Self, SamplesError> {
        let mut fields = vec![Field::new(TIME, DataType::UInt64, false)];
        fields.extend(columns.iter().map(field));
        let schema = Arc::new(Schema::new(fields));
        // Each row is a batch: the usual padding to 64 bytes would be most of the file.
        let options = IpcWriteOptions::try_new(ALIGNMENT_BYTES, false, MetadataVersion::V5)?;
        let stream = StreamWriter::try_new_with_options(Vec::new(), &schema, options)?;
        // No stream is ever without the file of its checksums.
        let sums = directory.create_new(sums_name(name))?;
        let file = directory.create_new(name)?;
        let mut writer = Self { stream, schema, file, sums };
        writer.write_message()?;
        Ok(writer)
    }

    /// Appends the row of the interval that ended at `t_ns`; `None` is a gap.
    ///
    /// # Errors
    /// The file cannot be written, or the number of `values` differs from that of the columns.
    pub fn append(&mut self, t_ns: u64, values: &[Option<f64>]) -> Result<(), SamplesError> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(vec![t_ns]))];
        columns.extend(values.iter().map(|value| Arc::new(Float64Array::from(vec![*value])) as ArrayRef));
        self.stream.write(&RecordBatch::try_new(self.schema.clone(), columns)?)?;
        Ok(self.write_message()?)
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), SamplesError> {
        self.stream.finish()?;
        Ok(self.write_message()?)
    }

    fn write_message(&mut self) -> io::Result<()> {
        let message = self.stream.get_mut();
        let length = u32::try_from(message.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.file.write_all(message)?;
        let sum = [length.to_le_bytes(), crc32c::crc32c(message).to_le_bytes()].concat();
        message.clear();
        self.sums.write_all(&sum)
    }
}

/// Turns a panic of a library on a damaged file into an error.
fn without_panic<T>(decode: impl FnOnce() -> Result<T, SamplesError>) -> Result<T, SamplesError> {
    let contradiction = || Err(SamplesError::Format("it is damaged: its parts contradict one another".to_owned()));
    catch_panic(decode).unwrap_or_else(contradiction)
}

/// The checksums of the stream `name`; `None` for that of an earlier version.
fn read_sums(directory: &Directory, name: &str) -> io::Result<Option<Vec<u8>>> {
    match directory.read_all(sums_name(name), MOST_STREAM_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        sums => sums.map(Some),
    }
}

/// The length of the messages at the start of `stream` that agree with their checksums, and whether one contradicts its own.
fn verified_bytes(stream: &[u8], sums: &[u8]) -> (usize, bool) {
    let mut verified = 0;
    for entry in sums.chunks_exact(SUM_BYTES) {
        let (length, sum) = entry.split_at(SUM_BYTES / 2);
        let [length, sum] = [length, sum].map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
        match stream[verified..].get(..length as usize) {
            Some(message) if length > 0 && crc32c::crc32c(message) == sum => verified += message.len(),
            _ => return (verified, true),
        }
    }
    (verified, false)
}

fn field(column: &Column) -> Field {
    let texts = [("meaning", &column.meaning), ("from", &column.from)].into_iter().filter(|(_, text)| !text.is_empty());
    let all = std::iter::once(("unit", &column.unit)).chain(texts);
    let metadata = all.map(|(key, text)| (key.to_owned(), text.clone())).collect();
    Field::new(&column.name, DataType::Float64, true).with_metadata(metadata)
}

fn column(field: &Field) -> Column {
    let text = |key: &str| field.metadata().get(key).cloned().unwrap_or_default();
    Column::new(field.name(), text("unit")).meaning(text("meaning")).from(text("from"))
}

/// Former names of columns and today's.
const RENAMED_COLUMNS: [(&str, &str); 3] =
    [("squeezed", "under_pressure"), ("postponed_ranges", "deferred_ranges"), ("postponed_bytes", "deferred_bytes")];

/// The former name of the column `name`, or today's.
fn other_name(name: &str) -> Option<&'static str> {
    let names = RENAMED_COLUMNS.into_iter().flat_map(|(former, name)| [(former, name), (name, former)]);
    names.into_iter().find(|(one, _)| *one == name).map(|(_, other)| other)
}

/// A series in memory, with `t_ns.len()` samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// The ends of the intervals, in nanoseconds of `CLOCK_MONOTONIC`.
    pub t_ns: Vec<u64>,
    /// The columns, without the time.
    pub columns: Vec<Column>,
    /// The values, `values[column][row]`.
    pub values: Vec<Vec<Option<f64>>>,
    /// Whether the file ends before its stream.
    pub truncated: bool,
    /// Whether the rest of the file contradicts its checksums, or has none where it should, and was left out.
    pub damaged: bool,
}

impl Samples {
    /// The values of the column `name`, one per sample. A renamed column answers to both names.
    pub fn column(&self, name: &str) -> Option<&[Option<f64>]> {
        let index = self.index(name).or_else(|| self.index(other_name(name)?))?;
        Some(&self.values[index])
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Reads the Arrow stream `name` of `directory` up to any damage: to the first message that contradicts its checksum. The
    /// streams of earlier versions have none, and are read as far as they can be decoded.
    ///
    /// # Errors
    /// The file cannot be read, or is not a sample series.
    pub fn read_stream(directory: &Directory, name: &str) -> Result<Self, SamplesError> {
        // First the checksums: a run that is still going adds one after each message.
        let sums = read_sums(directory, name)?;
        let mut stream = directory.read_all(name, MOST_STREAM_BYTES)?;
        let written = stream.len();
        let (mut verified, mut damaged) = sums.as_ref().map_or((written, false), |sums| verified_bytes(&stream, sums));
        let mut rows_written = None;
        if let (Some(sums), false) = (&sums, damaged || verified == written) {
            let later = read_sums(directory, name)?.unwrap_or_default();
            verified += verified_bytes(&stream[verified..], later.get(sums.len()..).unwrap_or_default()).0;
            rows_written = without_panic(|| Self::decode_stream(stream.clone())).ok().map(|all| all.t_ns.len());
        }
        stream.truncate(verified);
        let ended = verified == written && stream.ends_with(&END);
        // Without checksums, the library may be given what contradicts itself, on which it panics.
        let samples = without_panic(|| Self::decode_stream(stream))?;
        // A writer that is killed leaves one message without its checksum.
        damaged |= rows_written.is_some_and(|rows| rows > samples.t_ns.len() + 1);
        Ok(Self { truncated: !ended || samples.truncated, damaged, ..samples.in_order() })
    }

    fn decode_stream(stream: Vec<u8>) -> Result<Self, SamplesError> {
        let (mut decoder, mut left) = (StreamDecoder::new(), Buffer::from_vec(stream));
        let mut samples: Option<Self> = None;
        // The decoder takes up a schema once something follows it.
        let mut end = Some(Buffer::from_vec(END.to_vec()));
        loop {
            let batch = decoder.decode(&mut left);
            if samples.is_none() {
                samples = decoder.schema().map(|schema| Self::of_schema(&schema)).transpose()?;
            }
            match (batch, &mut samples) {
                (Ok(Some(batch)), Some(samples)) => samples.extend(&batch)?,
                (Err(error), None) => return Err(error.into()),
                (_, None) => match end.take() {
                    Some(end) => left = end,
                    None => return Err(SamplesError::Format("it is cut off within its header".to_owned())),
                },
                (batch, Some(samples)) => {
                    samples.truncated = batch.is_err();
                    return Ok(std::mem::take(samples));
                }
            }
        }
    }

    /// Reads a Parquet file written by [`Self::write_parquet`].
    ///
    /// # Errors
    /// The file cannot be read, or is not a sample series.
    pub fn read_parquet(file: File) -> Result<Self, SamplesError> {
        Self::read_parquet_columns(file, |_| true)
    }

    /// Reads the columns of a Parquet file for which `is_wanted` holds: the others take no memory.
    ///
    /// # Errors
    /// As those of [`Self::read_parquet`].
    pub fn read_parquet_columns(file: File, is_wanted: impl Fn(&str) -> bool) -> Result<Self, SamplesError> {
        without_panic(|| Self::decode_parquet(file, is_wanted, |_| ()))
    }

    /// Whether all of a Parquet file can be read; keeps none of it in memory.
    ///
    /// # Errors
    /// As those of [`Self::read_parquet`].
    pub fn check_parquet(file: File) -> Result<(), SamplesError> {
        without_panic(|| Self::decode_parquet(file, |_| true, Self::forget_rows)).map(drop)
    }

    fn forget_rows(&mut self) {
        self.t_ns.clear();
        self.values.iter_mut().for_each(Vec::clear);
    }

    /// Does `after` each batch.
    fn decode_parquet(
        file: File,
        is_wanted: impl Fn(&str) -> bool,
        after: impl Fn(&mut Self),
    ) -> Result<Self, SamplesError> {
        let format = |error: parquet::errors::ParquetError| SamplesError::Format(error.to_string());
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(format)?;
        let fields = reader.schema().fields().iter().enumerate();
        let wanted = fields.filter(|(at, field)| *at == 0 || is_wanted(field.name())).map(|(at, _)| at);
        let wanted = ProjectionMask::roots(reader.parquet_schema(), wanted);
        let mut samples = Self::of_schema(reader.schema())?;
        samples.retain_columns(&is_wanted);
        let reader = reader.with_projection(wanted);
        for batch in reader.build().map_err(format)? {
            samples.extend(&batch?)?;
            after(&mut samples);
        }
        Ok(samples.in_order())
    }

    /// Keeps the columns for which `is_wanted` holds.
    pub(crate) fn retain_columns(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let columns = std::mem::take(&mut self.columns).into_iter().zip(std::mem::take(&mut self.values));
        (self.columns, self.values) = columns.filter(|(column, _)| is_wanted(&column.name)).unzip();
    }

    /// Writes the whole series as Parquet to the empty `file`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_parquet(&self, file: File) -> Result<(), SamplesError> {
        let format = |error: parquet::errors::ParquetError| SamplesError::Format(error.to_string());
        let mut fields = vec![Field::new(TIME, DataType::UInt64, false)];
        fields.extend(self.columns.iter().map(field));
        let schema = Arc::new(Schema::new(fields));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(self.t_ns.clone()))];
        columns.extend(self.values.iter().map(|column| Arc::new(Float64Array::from(column.clone())) as ArrayRef));
        let batch = RecordBatch::try_new(schema.clone(), columns)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(format)?;
        writer.write(&batch).map_err(format)?;
        let file = writer.into_inner().map_err(format)?;
        Ok(file.sync_all()?)
    }

    /// The same with its rows in the order of their times.
    fn in_order(self) -> Self {
        if self.t_ns.is_sorted() {
            return self;
        }
        let mut rows: Vec<usize> = (0..self.t_ns.len()).collect();
        rows.sort_by_key(|row| self.t_ns[*row]);
        self.rows(&rows)
    }

    /// The same with the rows of the indices `rows`, in their order.
    #[must_use]
    pub fn rows(&self, rows: &[usize]) -> Self {
        let of_column = |column: &Vec<Option<f64>>| rows.iter().map(|row| column[*row]).collect();
        Self {
            t_ns: rows.iter().map(|row| self.t_ns[*row]).collect(),
            columns: self.columns.clone(),
            values: self.values.iter().map(of_column).collect(),
            truncated: self.truncated,
            damaged: self.damaged,
        }
    }

    fn of_schema(schema: &Schema) -> Result<Self, SamplesError> {
        let mut fields = schema.fields().iter();
        let time = fields.next().is_some_and(|field| field.name() == TIME && *field.data_type() == DataType::UInt64);
        if !time {
            return Err(SamplesError::Format(format!("the first column is not `{TIME}` of unsigned 64 bits")));
        }
        let columns = fields
            .map(|field| match field.data_type() {
                DataType::Float64 => Ok(column(field)),
                other => Err(SamplesError::Format(format!("column `{}` holds {other}, not Float64", field.name()))),
            })
            .collect::<Result<Vec<Column>, _>>()?;
        let mut names = BTreeSet::from([TIME]);
        if let Some(twice) = columns.iter().find(|column| !names.insert(column.name.as_str())) {
            return Err(SamplesError::Format(format!("the column `{}` is there twice", twice.name)));
        }
        let values = vec![Vec::new(); columns.len()];
        Ok(Self { columns, values, ..Self::default() })
    }

    fn extend(&mut self, batch: &RecordBatch) -> Result<(), SamplesError> {
        let wrong = || SamplesError::Format("a batch does not match its schema".to_owned());
        let time = batch.column(0).as_any().downcast_ref::<UInt64Array>().ok_or_else(wrong)?;
        if time.null_count() > 0 {
            return Err(SamplesError::Format(format!("a row has no `{TIME}`")));
        }
        self.t_ns.extend(time.values());
        for (values, column) in self.values.iter_mut().zip(&batch.columns()[1..]) {
            let column = column.as_any().downcast_ref::<Float64Array>().ok_or_else(wrong)?;
            values.extend(column.iter());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod tests;
