//! Data files of arbitrary content with valid checksums, so that a reader gets past those.

use super::block::padded;
use super::{file, footer};
use crate::codec::{ByteReader, u16_at};

/// A block that says it is larger after decompression would need too much memory for a fuzzer.
const BODY_BYTES_MAX: u32 = 1 << 20;

/// A data file of one run; `None` if a block is too large. The content is the length of the blocks as two bytes, the
/// blocks, and the footer without its trailer.
pub(crate) fn data_file(content: &[u8]) -> Option<Vec<u8>> {
    let (len, content) = content.split_at_checked(2)?;
    let (blocks, footer) = content.split_at_checked(usize::from(u16_at(len, 0)))?;
    let mut file = file::header().to_vec();
    let mut blocks = blocks.to_vec();
    blocks.resize(padded(blocks.len() as u64) as usize, 0);
    let mut rest = &mut *blocks;
    while let Some((block, tail)) = rest.split_at_mut_checked(block_bytes(rest)?) {
        if block.is_empty() {
            break;
        }
        seal_block(block);
        rest = tail;
    }
    file.extend_from_slice(&blocks);
    file.extend_from_slice(&footer::seal(footer.to_vec()));
    Some(file)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| ByteReader::new(rest).u32()).unwrap_or(0)
}

fn end_of_body(block: &[u8]) -> usize {
    let start = if block.get(4) == Some(&0) { 5 } else { 9 };
    start + word(block, 0) as usize
}

/// The length of the block at the front of `bytes`; 0 if it is incomplete.
fn block_bytes(bytes: &[u8]) -> Option<usize> {
    let is_compressed = bytes.get(4).is_some_and(|compression| *compression != 0);
    if is_compressed && word(bytes, 5) > BODY_BYTES_MAX {
        return None;
    }
    let len = padded(end_of_body(bytes) as u64 + 4) as usize;
    Some(if len <= bytes.len() { len } else { 0 })
}

fn seal_block(block: &mut [u8]) {
    let end = end_of_body(block);
    let checksum = crc32c::crc32c(&block[..end]);
    block[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
}
