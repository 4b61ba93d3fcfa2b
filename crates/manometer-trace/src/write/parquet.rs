//! Parquet, the interchange format: every field of a record, and what a trace records beyond, is a column (the table is in `docs/traces.md`).

use std::fs::File;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;

use super::{DroppedFields, OutputFormat, TraceBatch, TraceWriter};
use crate::columns::{detailed_batch, detailed_schema};
use crate::error::TraceError;

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
        let writer = ArrowWriter::try_new(file, detailed_schema(), Some(properties.build())).map_err(failed)?;
        Ok(Box::new(Parquet { writer }))
    },
};

struct Parquet {
    writer: ArrowWriter<File>,
}

impl TraceWriter for Parquet {
    fn write(&mut self, batch: &TraceBatch<'_>) -> Result<(), TraceError> {
        self.writer.write(&detailed_batch(batch)).map_err(failed)
    }

    fn holds_details(&self) -> bool {
        true
    }

    fn finish(self: Box<Self>) -> Result<DroppedFields, TraceError> {
        self.writer.close().map_err(failed)?;
        Ok(DroppedFields::default())
    }
}

fn failed(error: ::parquet::errors::ParquetError) -> TraceError {
    super::failed(std::io::Error::other(error))
}
