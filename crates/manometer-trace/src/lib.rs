//! Traces: recorded sequences of requests.
//!
//! [`Record`] is one request. [`open`] reads the formats of [`FORMATS`], recognised by content; [`write`] writes them.
//! Readers stream: memory does not grow with the trace, except with key texts if they are kept. Transforms
//! ([`transform`]) are readers over readers, [`character`] characterises a trace, and [`synthesis`] generates similar
//! ones. Using a trace is left to other crates.
//!
//! ```
//! use std::io::Cursor;
//!
//! use manometer_trace::{TraceOperation, ReadOptions, open_stream};
//!
//! # fn main() -> Result<(), manometer_trace::TraceError> {
//! let text = "time,key,size,op\n1.5,apple,10,get\n2,pear,20,set\n";
//! let mut trace = open_stream(Box::new(Cursor::new(text)), &ReadOptions::default())?;
//! assert_eq!(trace.format.name, "csv");
//!
//! let mut batch = Vec::new();
//! assert_eq!(trace.reader.read(&mut batch)?, 2);
//! assert_eq!((batch[0].operation, batch[1].value_size), (TraceOperation::Get, Some(20)));
//! # Ok(())
//! # }
//! ```

pub mod character;
mod columns;
pub mod csv_columns;
pub mod details;
mod dropped_fields;
pub mod error;
pub mod form;
pub mod format;
pub mod key;
pub mod missing;
mod open;
mod parts;
pub mod read;
mod read_ahead;
pub mod reader;
pub mod record;
pub mod source;
pub mod summary;
pub mod synthesis;
mod text;
mod trace_batch;
pub mod transform;
pub mod write;

pub use columns::record_batch;
pub use details::{BatchDetails, RequestDetails};
pub use error::TraceError;
pub use form::TraceForm;
pub use format::{Format, ReadOptions};
pub use key::{KeyTable, key_id};
pub use open::{Trace, open, open_stream};
pub use parts::open_parts;
pub use read::FORMATS;
pub use reader::{BATCH_RECORDS, TraceReader, read_first};
pub use record::{Record, TraceOperation};
pub use summary::TraceSummary;
