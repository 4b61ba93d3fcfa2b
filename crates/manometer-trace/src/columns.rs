//! Records as Arrow columns, one for each field (the table is in `docs/traces.md`).

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::details::RequestDetails;
use crate::key::KeyTable;
use crate::record::Record;
use crate::trace_batch::TraceBatch;

/// The records as a batch; `keys` holds their key texts, if wanted.
pub fn record_batch(records: &[Record], keys: Option<&KeyTable>) -> RecordBatch {
    RecordBatch::try_new(schema(), columns(records, keys)).expect("the columns are those of the schema")
}

/// The columns of every batch.
fn schema() -> SchemaRef {
    Arc::new(Schema::new(fields()))
}

fn fields() -> Vec<Field> {
    let field = |name: &str, kind, nullable| Field::new(name, kind, nullable);
    vec![
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
    ]
}

/// The columns of a batch with details.
pub(crate) fn detailed_schema() -> SchemaRef {
    let mut fields = fields();
    fields.extend([
        Field::new("scan_length", DataType::UInt32, true),
        Field::new("scan_end", DataType::Binary, true),
        Field::new("scan_backward", DataType::Boolean, true),
        Field::new("command", DataType::Binary, true),
        Field::new("joined", DataType::Boolean, true),
    ]);
    Arc::new(Schema::new(fields))
}

/// The records as a batch, with what the trace records of them beyond.
pub(crate) fn detailed_batch(batch: &TraceBatch<'_>) -> RecordBatch {
    let TraceBatch { records, keys, details } = *batch;
    let requests: Vec<RequestDetails<'_>> =
        (0..records.len()).map(|at| details.map(|details| details.of(at)).unwrap_or_default()).collect();
    let if_so = |is_so: bool| is_so.then_some(true);
    let mut columns = columns(records, keys);
    columns.extend::<[ArrayRef; 5]>([
        Arc::new(requests.iter().map(|one| one.scan_length).collect::<UInt32Array>()),
        Arc::new(requests.iter().map(|one| one.scan_end).collect::<BinaryArray>()),
        Arc::new(requests.iter().map(|one| if_so(one.is_backward)).collect::<BooleanArray>()),
        Arc::new(requests.iter().map(|one| one.command).collect::<BinaryArray>()),
        Arc::new(requests.iter().map(|one| if_so(one.is_joined)).collect::<BooleanArray>()),
    ]);
    RecordBatch::try_new(detailed_schema(), columns).expect("the columns are those of the schema")
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
