//! A block: the unit that is read, checked and cached.
//!
//! On disk: length of the stored body, compression, (length before compression,) body, checksum, zeros up to 16 bytes.
//! Where few more zeros take a block of entries to the end of a page, the index counts them to it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::entries::{Malformed, Slot};
use super::file::{DataFile, Extent};
use super::slots;
use super::value::Value;
use crate::codec::Input;
use crate::entry::Sequence;
use crate::error::Result;

/// Blocks begin and end at multiples of this, in bytes.
pub(crate) const UNIT_BYTES: u64 = 16;
/// What a device is read in and what the system caches, in bytes: a block that lies in one page costs one of them.
const PAGE_BYTES: u64 = 4096;
/// What is left empty so that something begins a page is at most such a part of what is beside it.
const GAP_PART: u64 = 16;
/// The longest header, in bytes.
pub(crate) const HEADER_BYTES_MAX: usize = 9;
const CHECKSUM_BYTES: usize = 4;
/// What a block that is not compressed takes beside its body and the zeros behind it, in bytes.
pub(crate) const FRAME_BYTES: usize = 5 + CHECKSUM_BYTES;
/// The largest body: the largest entry and what may have been in the block before it.
const BODY_BYTES_MAX: u64 = (1 << 30) + (1 << 24);
/// Level 1 of zstd: most of what higher levels gain, at a third of their time.
const ZSTD_LEVEL: i32 = 1;

/// How blocks are made smaller on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
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

/// Where a block lies; a length of 0 means that its header tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub offset: u64,
    pub len: u64,
}

impl Location {
    /// Whether an index that says `len` means this block, gap and all.
    pub fn is_told_by(self, len: u64) -> bool {
        [0, self.len, with_gap(self.offset, self.len)].contains(&len)
    }
}

/// A block in memory, checked, its body as it was before compression. A clone shares the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// The body, then the table of its entries, if it has one.
    bytes: Arc<[u8]>,
    len: u32,
}

impl Block {
    pub fn body(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }

    /// The newest version of `key` up to `snapshot`, in a block of entries.
    #[inline]
    pub fn search(
        &self,
        base: Sequence,
        key: &[u8],
        snapshot: Sequence,
    ) -> std::result::Result<Option<Slot>, Malformed> {
        let (body, table) = self.bytes.split_at(self.len as usize);
        slots::search(body, table, base, key, snapshot)
    }

    /// An entry by its number, in a block of entries.
    pub fn slot(&self, base: Sequence, number: u32) -> std::result::Result<Slot, Malformed> {
        let (body, table) = self.bytes.split_at(self.len as usize);
        slots::nth(body, table, base, number)
    }

    /// A part of the body that lives as long as its holder wants.
    pub fn value(self, start: u32, len: u32) -> Value {
        Value::part(self.bytes, start, len)
    }

    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// A block that holds just `body`.
    pub fn of(body: Vec<u8>) -> Self {
        Self { len: body.len() as u32, bytes: body.into() }
    }

    /// Reads the page at `location` and checks it.
    pub fn read_page(file: &DataFile, location: Location) -> Result<Self> {
        Ok(Self::of(read_body(file, location)?))
    }

    /// Reads the block of entries at `location` and checks it.
    pub fn read_entries(file: &DataFile, location: Location, base: Sequence) -> Result<Self> {
        let mut body = read_body(file, location)?;
        let malformed = |_| file.corrupt(location.offset, Malformed::WHAT);
        let len = slots::append_table(&mut body, base).map_err(malformed)?;
        Ok(Self { len: len as u32, bytes: body.into() })
    }
}

fn read_body(file: &DataFile, location: Location) -> Result<Vec<u8>> {
    let len = match location.len {
        0 => told_by_header(file, location.offset)?,
        len => len,
    };
    file.check_bounds(Extent { offset: location.offset, len })?;
    let mut bytes = vec![0; len as usize];
    file.read(&mut bytes, location.offset)?;
    let corrupt = |what| file.corrupt(location.offset, what);
    let frame = Frame::parse(&bytes).map_err(corrupt)?;
    if !(Location { len: frame.block_bytes, ..location }).is_told_by(len) {
        return Err(corrupt(format!("the block says it has {} bytes, its index {len}", frame.block_bytes)));
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

fn told_by_header(file: &DataFile, offset: u64) -> Result<u64> {
    let mut header = [0; HEADER_BYTES_MAX];
    file.read(&mut header, offset)?;
    Ok(Frame::parse_header(&header).map_err(|what| file.corrupt(offset, what))?.block_bytes)
}

/// What a block's header says.
pub(crate) struct Frame {
    compression: Compression,
    /// Where the stored body begins in the block.
    start: usize,
    stored_bytes: usize,
    /// The body's length before compression.
    body_bytes: u32,
    /// The whole block on disk, padding included.
    pub block_bytes: u64,
}

impl Frame {
    /// Reads the header alone, which no checksum covers yet; `bytes` hold at least its first 9 bytes.
    pub fn parse_header(bytes: &[u8]) -> std::result::Result<Self, String> {
        let mut input = Input::new(bytes);
        let cut = || "the block's header is cut".to_owned();
        let stored = input.u32().ok_or_else(cut)?;
        let compression = match input.u8().ok_or_else(cut)? {
            0 => Compression::None,
            1 => Compression::Lz4,
            2 => Compression::Zstd,
            other => return Err(format!("the block's compression is {other}; 0, 1 and 2 are known")),
        };
        let (start, body_bytes) = match compression {
            Compression::None => (5, stored),
            _ => (HEADER_BYTES_MAX, input.u32().ok_or_else(cut)?),
        };
        if u64::from(body_bytes.max(stored)) > BODY_BYTES_MAX {
            return Err(format!(
                "the block says it holds {body_bytes} bytes in {stored}; {BODY_BYTES_MAX} is the most"
            ));
        }
        let block_bytes = padded(start as u64 + u64::from(stored) + CHECKSUM_BYTES as u64);
        Ok(Self { compression, start, stored_bytes: stored as usize, body_bytes, block_bytes })
    }

    /// Reads the header and checks the checksum.
    pub fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let frame = Self::parse_header(bytes)?;
        let end = frame.start + frame.stored_bytes;
        let Some(checksum) = bytes.get(end..end + CHECKSUM_BYTES) else {
            return Err(format!("the block says it has {} bytes, but {} are there", frame.block_bytes, bytes.len()));
        };
        if crc32c::crc32c(&bytes[..end]).to_le_bytes() != checksum {
            return Err("the block's checksum is wrong".to_owned());
        }
        Ok(frame)
    }

    /// Where the body lies in the block, if it is not compressed.
    pub fn plain_body(&self) -> Option<Range<usize>> {
        (self.compression == Compression::None).then_some(self.start..self.start + self.stored_bytes)
    }

    /// Decompresses the body of the block in `bytes`, which `parse` has accepted.
    pub fn expand(&self, bytes: &[u8], body: &mut Vec<u8>) -> std::result::Result<(), String> {
        body.resize(self.body_bytes as usize, 0);
        expand(self, bytes, body)
    }
}

/// How many bytes there are from `offset` to where the next page begins, or it itself does.
pub(crate) fn bytes_to_page(offset: u64) -> u64 {
    (PAGE_BYTES - offset % PAGE_BYTES) % PAGE_BYTES
}

/// What a block of entries at `offset` takes, which has so many bytes itself.
pub(crate) fn with_gap(offset: u64, block_bytes: u64) -> u64 {
    block_bytes + gap_to_page(offset + block_bytes, block_bytes)
}

/// How many zeros there are between `offset` and the next page, beside something of `len` bytes; none if that would be
/// too many for it.
pub(crate) fn gap_to_page(offset: u64, len: u64) -> u64 {
    let gap = bytes_to_page(offset);
    if gap <= len / GAP_PART { gap } else { 0 }
}

/// Rounds up to whole units.
pub(crate) fn padded(len: u64) -> u64 {
    len.next_multiple_of(UNIT_BYTES)
}

thread_local! {
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn expand(frame: &Frame, bytes: &[u8], body: &mut [u8]) -> std::result::Result<(), String> {
    let stored = &bytes[frame.start..frame.start + frame.stored_bytes];
    let got = match frame.compression {
        Compression::None => return Err("the block is not compressed".to_owned()),
        Compression::Lz4 => lz4_flex::block::decompress_into(stored, body).map_err(|error| error.to_string()),
        Compression::Zstd => expand_zstd(stored, body).map_err(|error| error.to_string()),
    };
    match got {
        Ok(len) if len == body.len() => Ok(()),
        Ok(len) => Err(format!("the block holds {len} bytes after decompression instead of {}", body.len())),
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
            None => unreachable!("it was made above"),
        }
    })
}

/// Makes blocks of bodies.
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

    /// Appends the block of `body` to `out` and tells its length on disk, in bytes. What compression does not make
    /// smaller is stored as it is.
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
