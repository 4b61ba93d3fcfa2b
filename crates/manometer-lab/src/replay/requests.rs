//! Block requests, as host and guest exchange them.

use std::fs;
use std::path::Path;

use manometer_cache::tier::workload::{BlockOperation, TraceRequest};

use crate::LabError;

/// Direct requests are multiples of this, and so are the blocks of bcache.
const ALIGNMENT: u64 = 4096;

/// Of one request in the file: offset, bytes, and whether it writes.
const RECORD_BYTES: usize = 16;

/// A request to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRequest {
    /// The start address, a multiple of 4 KiB.
    pub offset: u64,
    /// The length, a multiple of 4 KiB.
    pub bytes: u32,
    /// Whether it writes.
    pub is_write: bool,
}

/// The requests of a trace, widened to whole 4 KiB and cut at the bounds of the cache's blocks, as dm-cache itself cuts
/// them: so that each concerns one block, and simulation and kernel count the same. Discards are left out.
pub fn cut(trace: &[TraceRequest], block: u64) -> Vec<BlockRequest> {
    let mut requests = Vec::new();
    for request in trace.iter().filter(|request| request.kind != BlockOperation::Discard) {
        let mut at = request.offset / ALIGNMENT * ALIGNMENT;
        let end = (request.offset + u64::from(request.bytes)).next_multiple_of(ALIGNMENT);
        while at < end {
            let to = end.min((at / block + 1) * block);
            let is_write = request.kind == BlockOperation::Write;
            requests.push(BlockRequest { offset: at, bytes: (to - at) as u32, is_write });
            at = to;
        }
    }
    requests
}

/// Writes requests to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, requests: &[BlockRequest]) -> Result<(), LabError> {
    let mut bytes = Vec::with_capacity(requests.len() * RECORD_BYTES);
    for request in requests {
        bytes.extend(request.offset.to_le_bytes());
        bytes.extend(request.bytes.to_le_bytes());
        bytes.extend(u32::from(request.is_write).to_le_bytes());
    }
    fs::write(path, bytes).map_err(LabError::at(path))
}

/// Reads requests from a file.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> Result<Vec<BlockRequest>, LabError> {
    let bytes = fs::read(path).map_err(LabError::at(path))?;
    let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
    let request = |record: &[u8; RECORD_BYTES]| {
        let number = u128::from_le_bytes(*record);
        BlockRequest { offset: number as u64, bytes: (number >> 64) as u32, is_write: number >> 96 != 0 }
    };
    Ok(records.iter().map(request).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(offset: u64, bytes: u32, kind: BlockOperation) -> TraceRequest {
        TraceRequest { time_ns: 0, offset, bytes, stream: 0, kind }
    }

    #[test]
    fn requests_are_widened_and_cut_at_blocks() {
        let trace = [
            request(512, 512, BlockOperation::Read),
            request(30 << 10, 8 << 10, BlockOperation::Write),
            request(0, 4096, BlockOperation::Discard),
        ];
        let cut = cut(&trace, 32 << 10);
        let fields: Vec<_> =
            cut.iter().map(|request| (request.offset >> 10, request.bytes >> 10, request.is_write)).collect();
        assert_eq!(fields, [(0, 4, false), (28, 4, true), (32, 8, true)]);
    }

    #[test]
    fn requests_survive_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests");
        let requests = [
            BlockRequest { offset: 1 << 40, bytes: 1 << 30, is_write: true },
            BlockRequest { offset: 4096, bytes: 8192, is_write: false },
        ];
        write(&path, &requests).unwrap();
        assert_eq!(read(&path).unwrap(), requests);
    }
}
