//! Block traces, read block by block.

use manometer_measure::ByteSize;
use manometer_trace::transform::blocks::Blocks;
use manometer_trace::{TraceError, TraceReader};

use crate::trace::input::Parts;

/// The keys of requests in block traces.
#[derive(Debug, clap::Args)]
pub struct BlockSize {
    /// Split requests to devices into blocks of this size, each a key; by default each request is one key, its offset.
    #[arg(long, value_name = "BYTES")]
    block_size: Option<ByteSize>,
}

impl BlockSize {
    /// Opens the trace; with `key_texts` the texts of keys are kept.
    pub fn open(&self, input: &Parts, key_texts: bool) -> Result<Box<dyn TraceReader>, TraceError> {
        let trace = input.open(key_texts)?;
        match self.block_size {
            None => Ok(trace.reader),
            Some(ByteSize(bytes)) => Ok(Box::new(Blocks::new(trace.reader, bytes)?)),
        }
    }

    /// The bytes of a block, where requests are split.
    pub fn bytes(&self) -> Option<u64> {
        self.block_size.map(|ByteSize(bytes)| bytes)
    }
}
