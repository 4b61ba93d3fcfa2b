//! Transforms of traces, one per file: readers over readers, so that they stream and compose.

pub mod anonymise;
pub mod blocks;
pub mod complete;
pub mod copies;
mod filtered;
pub mod intensify;
pub mod merge;
mod nameless;
mod rename;
pub mod sample;
pub mod scale;
pub mod slice;
pub mod span;
pub mod subtrace;

use crate::reader::TraceReader;

/// The input of a transform.
pub type Input = Box<dyn TraceReader>;
