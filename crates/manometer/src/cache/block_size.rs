//! Traces of devices, block by block.

use manometer_measure::ByteSize;
use manometer_trace::transform::blocks::Blocks;
use manometer_trace::{TraceError, TraceReader};

use crate::trace::input::Input;

/// What the keys of requests to devices are.
#[derive(Debug, clap::Args)]
pub struct BlockSize {
    /// Ask for each block of this size that a request to a device touches; else each request asks for one key, that of
    /// the place where it begins.
    #[arg(long, value_name = "BYTES")]
    block_size: Option<ByteSize>,
}

impl BlockSize {
    /// Opens a trace.
    pub fn open(&self, input: &Input) -> Result<Box<dyn TraceReader>, TraceError> {
        let trace = input.open_keeping(false)?;
        match self.block_size {
            None => Ok(trace.reader),
            Some(ByteSize(bytes)) => Ok(Box::new(Blocks::new(trace.reader, bytes)?)),
        }
    }

    /// The bytes of a block, where requests are taken apart.
    pub fn bytes(&self) -> Option<u64> {
        self.block_size.map(|ByteSize(bytes)| bytes)
    }
}
