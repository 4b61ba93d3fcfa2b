//! Parquet, the interchange form: everything that a record holds, a column each (the table is in `docs/traces.md`).

use std::fs::File;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{ArrayRef, BinaryArray, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::{Losses, OutputFormat, TraceWriter};
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::record::Record;

/// The rows that are held in memory before they are written.
const ROW_GROUP_ROWS: usize = 128 << 10;

/// The format's entry in the list.
pub(crate) static FORMAT: OutputFormat = OutputFormat {
    name: "parquet",
    about: "Parquet with all that a record holds, zstd",
    extensions: &[".parquet"],
    create: |file| {
        let compression = Compression::ZSTD(Default::default());
        let properties =
            WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
        let writer = ArrowWriter::try_new(file, schema(), Some(properties.build())).map_err(failed)?;
        Ok(Box::new(Parquet { writer }))
    },
};

struct Parquet {
    writer: ArrowWriter<File>,
}

impl TraceWriter for Parquet {
    fn write(&mut self, records: &[Record], keys: Option<&KeyTable>) -> Result<(), TraceError> {
        let batch = RecordBatch::try_new(schema(), columns(records, keys)).map_err(|error| failed(error.into()))?;
        self.writer.write(&batch).map_err(failed)
    }

    fn finish(self: Box<Self>) -> Result<Losses, TraceError> {
        self.writer.close().map_err(failed)?;
        Ok(Losses::default())
    }
}

fn failed(error: ::parquet::errors::ParquetError) -> TraceError {
    super::failed(std::io::Error::other(error))
}

fn schema() -> SchemaRef {
    let field = |name: &str, kind, nullable| Field::new(name, kind, nullable);
    Arc::new(Schema::new(vec![
        field("time_ns", DataType::UInt64, true),
        field("op", DataType::Utf8, false),
        field("key", DataType::UInt64, false),
        field("key_text", DataType::Binary, true),
        field("key_size", DataType::UInt32, true),
        field("value_size", DataType::UInt64, true),
        field("client", DataType::UInt64, true),
        field("ttl_s", DataType::UInt32, true),
        field("offset", DataType::UInt64, true),
        field("device", DataType::UInt32, false),
        field("succeeded", DataType::Boolean, true),
    ]))
}

/// The columns in the schema's order.
fn columns(records: &[Record], keys: Option<&KeyTable>) -> Vec<ArrayRef> {
    let wide = |field: fn(&Record) -> Option<u64>| -> ArrayRef {
        Arc::new(records.iter().map(field).collect::<UInt64Array>())
    };
    let narrow = |field: fn(&Record) -> Option<u32>| -> ArrayRef {
        Arc::new(records.iter().map(field).collect::<UInt32Array>())
    };
    let texts = records.iter().map(|record| keys.and_then(|keys| keys.text(record.key)));
    vec![
        wide(|record| record.time_ns),
        Arc::new(records.iter().map(|record| Some(record.operation.name())).collect::<StringArray>()),
        wide(|record| Some(record.key)),
        Arc::new(texts.collect::<BinaryArray>()),
        narrow(|record| record.key_size),
        wide(|record| record.value_size),
        wide(|record| record.client),
        narrow(|record| record.ttl_s),
        wide(|record| record.offset),
        narrow(|record| Some(record.device)),
        Arc::new(records.iter().map(|record| record.succeeded).collect::<BooleanArray>()),
    ]
}
