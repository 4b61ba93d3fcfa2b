//! Parquet, the interchange format: every field of a record is a column (the table is in `docs/traces.md`).

use std::fs::File;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;

use super::{DroppedFields, OutputFormat, TraceWriter};
use crate::columns::{record_batch, schema};
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::record::Record;

/// Rows that are buffered before they are written.
const ROW_GROUP_ROWS: usize = 128 << 10;

/// The entry in the registry.
pub(crate) static FORMAT: OutputFormat = OutputFormat {
    name: "parquet",
    about: "Parquet with all fields, compressed with zstd",
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
        self.writer.write(&record_batch(records, keys)).map_err(failed)
    }

    fn finish(self: Box<Self>) -> Result<DroppedFields, TraceError> {
        self.writer.close().map_err(failed)?;
        Ok(DroppedFields::default())
    }
}

fn failed(error: ::parquet::errors::ParquetError) -> TraceError {
    super::failed(std::io::Error::other(error))
}
