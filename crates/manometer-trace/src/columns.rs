//! Records as Arrow columns, one for each field (the table is in `docs/traces.md`).

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::key::KeyTable;
use crate::record::Record;

/// The records as a batch; `keys` holds their key texts, if wanted.
pub fn record_batch(records: &[Record], keys: Option<&KeyTable>) -> RecordBatch {
    RecordBatch::try_new(schema(), columns(records, keys)).expect("the columns are those of the schema")
}

/// The columns of every batch.
pub(crate) fn schema() -> SchemaRef {
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
