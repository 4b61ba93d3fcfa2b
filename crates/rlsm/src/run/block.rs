//! Blocks: the unit that is read, checked and cached.
//!
//! On disk: length of the stored body, compression, (length before compression,) body, checksum, zeros up to 16 bytes.
//! If few more zeros complete a page after a block of entries, its length in the index includes them.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::entries::{EntrySlot, MalformedBlock};
use super::file::{DataFile, Extent};
use super::slots;
use super::value::Value;
use crate::codec::ByteReader;
use crate::entry::SequenceNumber;
use crate::error::Result;

/// Blocks begin and end at multiples of this many bytes.
pub(crate) const UNIT_BYTES: u64 = 16;
/// The unit of the device and of the page cache: a block within one page costs one page read.
const PAGE_BYTES: u64 = 4096;
/// Padding up to a page boundary is at most this fraction of what it aligns.
const GAP_PART: u64 = 16;
/// The longest header, in bytes.
pub(crate) const HEADER_BYTES_MAX: usize = 9;
const CHECKSUM_BYTES: usize = 4;
/// What an uncompressed block takes in addition to its body and padding, in bytes.
pub(crate) const FRAME_BYTES: usize = 5 + CHECKSUM_BYTES;
/// The largest body: the largest entry after the most that a block may hold before it.
const BODY_BYTES_MAX: u64 = (1 << 30) + (1 << 24);
/// The fastest level: most of the gain of higher ones.
const ZSTD_LEVEL: i32 = 1;

/// The compression of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// LZ4: fast.
    Lz4,
    /// Zstandard: smaller.
    Zstd,
}

impl Compression {
    fn tag(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
            Self::Zstd => 2,
        }
    }
}

/// The place of a block in its file. A length of 0 means that the block's header has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHandle {
    pub offset: u64,
    pub len: u64,
}

impl BlockHandle {
    /// Whether a length in an index is that of this block, with or without padding to a page.
    pub fn matches_index_len(self, len: u64) -> bool {
        [0, self.len, with_gap(self.offset, self.len)].contains(&len)
    }
}

/// A block in memory, checked and decompressed. A clone shares the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// The body, then the slot table, if there is one.
    bytes: Arc<[u8]>,
    len: u32,
}

impl Block {
    pub fn body(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }

    /// Finds the newest version of `key` that `snapshot` sees, in a block of entries.
    #[inline]
    pub fn search(
        &self,
        base: SequenceNumber,
        key: &[u8],
        snapshot: SequenceNumber,
    ) -> std::result::Result<Option<EntrySlot>, MalformedBlock> {
        let (body, table) = self.bytes.split_at(self.len as usize);
        slots::search(body, table, base, key, snapshot)
    }

    /// The entry with this number, in a block of entries.
    pub fn slot(&self, base: SequenceNumber, number: u32) -> std::result::Result<EntrySlot, MalformedBlock> {
        let (body, table) = self.bytes.split_at(self.len as usize);
        slots::nth(body, table, base, number)
    }

    /// A part of the body, which keeps the block alive.
    pub fn value(self, start: u32, len: u32) -> Value {
        Value::part(self.bytes, start, len)
    }

    /// Its memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// A block of `body`, without a slot table.
    pub fn of(body: Vec<u8>) -> Self {
        Self { len: body.len() as u32, bytes: body.into() }
    }

    /// Reads and checks an index page or permutation page.
    pub fn read_page(file: &DataFile, handle: BlockHandle) -> Result<Self> {
        Ok(Self::of(read_body(file, handle)?))
    }

    /// Reads and checks a block of entries.
    pub fn read_entries(file: &DataFile, handle: BlockHandle, base: SequenceNumber) -> Result<Self> {
        let mut body = read_body(file, handle)?;
        let malformed = |_| file.corrupt(handle.offset, MalformedBlock::WHAT);
        let len = slots::append_table(&mut body, base).map_err(malformed)?;
        Ok(Self { len: len as u32, bytes: body.into() })
    }
}

fn read_body(file: &DataFile, handle: BlockHandle) -> Result<Vec<u8>> {
    let len = match handle.len {
        0 => block_len_from_header(file, handle.offset)?,
        len => len,
    };
    file.check_bounds(Extent { offset: handle.offset, len })?;
    let mut bytes = vec![0; len as usize];
    file.read(&mut bytes, handle.offset)?;
    let corrupt = |problem| file.corrupt(handle.offset, problem);
    let frame = BlockFrame::parse(&bytes).map_err(corrupt)?;
    if !(BlockHandle { len: frame.block_bytes, ..handle }).matches_index_len(len) {
        return Err(corrupt(format!("the block has {} bytes, the index says {len}", frame.block_bytes)));
    }
    match frame.plain_body() {
        Some(range) => {
            bytes.truncate(range.end);
            bytes.drain(..range.start);
            Ok(bytes)
        }
        None => {
            let mut body = Vec::new();
            frame.expand(&bytes, &mut body).map_err(corrupt)?;
            Ok(body)
        }
    }
}

fn block_len_from_header(file: &DataFile, offset: u64) -> Result<u64> {
    let mut header = [0; HEADER_BYTES_MAX];
    file.read(&mut header, offset)?;
    Ok(BlockFrame::parse_header(&header).map_err(|problem| file.corrupt(offset, problem))?.block_bytes)
}

/// The header of a block.
pub(crate) struct BlockFrame {
    compression: Compression,
    /// The offset of the stored body in the block.
    start: usize,
    stored_bytes: usize,
    /// The length of the body before compression.
    body_bytes: u32,
    /// The length of the block on disk, with padding to 16 bytes.
    pub block_bytes: u64,
}

impl BlockFrame {
    /// Parses the header, which no checksum has confirmed yet.
    pub fn parse_header(bytes: &[u8]) -> std::result::Result<Self, String> {
        let mut input = ByteReader::new(bytes);
        let cut = || "the block's header is cut off".to_owned();
        let stored = input.u32().ok_or_else(cut)?;
        let compression = match input.u8().ok_or_else(cut)? {
            0 => Compression::None,
            1 => Compression::Lz4,
            2 => Compression::Zstd,
            other => return Err(format!("the block's compression is {other}; expected 0, 1 or 2")),
        };
        let (start, body_bytes) = match compression {
            Compression::None => (5, stored),
            _ => (HEADER_BYTES_MAX, input.u32().ok_or_else(cut)?),
        };
        if u64::from(body_bytes.max(stored)) > BODY_BYTES_MAX {
            return Err(format!(
                "the block says it holds {body_bytes} bytes in {stored}; at most {BODY_BYTES_MAX} are allowed"
            ));
        }
        let block_bytes = padded(start as u64 + u64::from(stored) + CHECKSUM_BYTES as u64);
        Ok(Self { compression, start, stored_bytes: stored as usize, body_bytes, block_bytes })
    }

    /// Parses the header and checks the checksum.
    pub fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let frame = Self::parse_header(bytes)?;
        let end = frame.start + frame.stored_bytes;
        let Some(checksum) = bytes.get(end..end + CHECKSUM_BYTES) else {
            return Err(format!("the block says it has {} bytes; {} are left", frame.block_bytes, bytes.len()));
        };
        if crc32c::crc32c(&bytes[..end]).to_le_bytes() != checksum {
            return Err("the block's checksum is wrong".to_owned());
        }
        Ok(frame)
    }

    /// Where the body is in the block, if it is not compressed.
    pub fn plain_body(&self) -> Option<Range<usize>> {
        (self.compression == Compression::None).then_some(self.start..self.start + self.stored_bytes)
    }

    /// Decompresses the body of `bytes`, which `parse` has accepted.
    pub fn expand(&self, bytes: &[u8], body: &mut Vec<u8>) -> std::result::Result<(), String> {
        body.resize(self.body_bytes as usize, 0);
        expand(self, bytes, body)
    }
}

/// The distance from `offset` to the next page boundary; 0 at a boundary.
pub(crate) fn bytes_to_page(offset: u64) -> u64 {
    (PAGE_BYTES - offset % PAGE_BYTES) % PAGE_BYTES
}

/// The length of a block of entries at `offset`, with padding to a page.
pub(crate) fn with_gap(offset: u64, block_bytes: u64) -> u64 {
    block_bytes + gap_to_page(offset + block_bytes, block_bytes)
}

/// The padding from `offset` to the next page boundary, for something of `len` bytes; 0 if it would be too much for
/// that.
pub(crate) fn gap_to_page(offset: u64, len: u64) -> u64 {
    let gap = bytes_to_page(offset);
    if gap <= len / GAP_PART { gap } else { 0 }
}

/// Rounds up to a multiple of [`UNIT_BYTES`].
pub(crate) fn padded(len: u64) -> u64 {
    len.next_multiple_of(UNIT_BYTES)
}

thread_local! {
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn expand(frame: &BlockFrame, bytes: &[u8], body: &mut [u8]) -> std::result::Result<(), String> {
    let stored = &bytes[frame.start..frame.start + frame.stored_bytes];
    let got = match frame.compression {
        Compression::None => return Err("the block is not compressed".to_owned()),
        Compression::Lz4 => lz4_flex::block::decompress_into(stored, body).map_err(|error| error.to_string()),
        Compression::Zstd => expand_zstd(stored, body).map_err(|error| error.to_string()),
    };
    match got {
        Ok(len) if len == body.len() => Ok(()),
        Ok(len) => Err(format!("the block has {len} bytes after decompression; expected {}", body.len())),
        Err(error) => Err(format!("the block cannot be decompressed: {error}")),
    }
}

fn expand_zstd(stored: &[u8], body: &mut [u8]) -> std::io::Result<usize> {
    ZSTD.with_borrow_mut(|decompressor| {
        if decompressor.is_none() {
            *decompressor = Some(zstd::bulk::Decompressor::new()?);
        }
        match decompressor {
            Some(decompressor) => decompressor.decompress_to_buffer(stored, body),
            None => unreachable!("it was created above"),
        }
    })
}

/// Encodes bodies as blocks.
pub(crate) struct BlockEncoder {
    compression: Compression,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl BlockEncoder {
    pub fn new(compression: Compression) -> std::io::Result<Self> {
        let zstd = match compression {
            Compression::Zstd => Some(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
            _ => None,
        };
        Ok(Self { compression, zstd })
    }

    /// Appends the block of `body` to `out`. Returns its length. A body that compression does not shrink is stored
    /// uncompressed.
    pub fn encode(&mut self, body: &[u8], out: &mut Vec<u8>) -> std::io::Result<u64> {
        debug_assert!(body.len() as u64 <= BODY_BYTES_MAX);
        let begin = out.len();
        let compressed = match (self.compression, &mut self.zstd) {
            (Compression::Lz4, _) => Some(lz4_flex::block::compress(body)),
            (Compression::Zstd, Some(zstd)) => Some(zstd.compress(body)?),
            _ => None,
        };
        let (tag, stored) = match &compressed {
            Some(stored) if padded(stored.len() as u64 + 4) < padded(body.len() as u64) => {
                (self.compression.tag(), &stored[..])
            }
            _ => (Compression::None.tag(), body),
        };
        out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        out.push(tag);
        if tag != Compression::None.tag() {
            out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        }
        out.extend_from_slice(stored);
        let checksum = crc32c::crc32c(&out[begin..]);
        out.extend_from_slice(&checksum.to_le_bytes());
        let len = padded((out.len() - begin) as u64);
        out.resize(begin + len as usize, 0);
        Ok(len)
    }
}
