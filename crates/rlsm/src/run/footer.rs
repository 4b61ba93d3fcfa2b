//! Footers: everything that is needed to open a run.

use super::fences::Fences;
use super::file::{self, DataFile, Extent};
use super::hashes::HashColumn;
use super::key_index::KeyIndex;
use super::log_index::ITEM_BYTES;
use super::permutation::Permutation;
use super::{Order, block};
use crate::codec::{ByteReader, put_bytes, put_varint};
use crate::entry::{NUMBER_LIMIT, RangeTombstone, SequenceNumber};
use crate::error::Result;

const MAGIC: &[u8; 8] = b"rlsmfoot";
/// Length in units, checksum, magic.
const TRAILER_BYTES: u64 = 16;
const HAS_PERMUTATION: u8 = 1;
/// The size of reads in a search for footers.
const SCAN_BYTES: u64 = 1 << 20;

/// The content of a footer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub order: Order,
    pub entries: u64,
    pub deletes: u64,
    pub user_bytes: u64,
    /// What the sequence numbers of entries are relative to.
    pub base: SequenceNumber,
    /// The lowest and the highest sequence number of entries and range tombstones.
    pub sequences: (SequenceNumber, SequenceNumber),
    pub low: Box<[u8]>,
    pub high: Box<[u8]>,
    pub range_tombstones: Box<[RangeTombstone]>,
    /// The extents of the blocks, in order.
    pub pieces: Box<[Extent]>,
    pub permutation: Option<Permutation>,
    /// The index pages of a log run.
    pub index: Option<Extent>,
    /// The fence pointers of a hash-ordered run's blocks, or of a log run's index pages.
    pub fences: Fences,
    /// The index of a key-ordered run.
    pub key_index: KeyIndex,
}

impl Footer {
    /// The pages between the blocks and the footer.
    pub fn pages(&self) -> Option<Extent> {
        match (&self.permutation, self.key_index.blocks()) {
            _ if self.index.is_some() => self.index,
            (Some(permutation), _) => Some(permutation.pages),
            (None, 0) => None,
            (None, _) => Some(self.key_index.extent()),
        }
    }

    /// Encodes the footer, for this offset in the file.
    pub fn encode(&self, offset: u64, hashes: &HashColumn) -> Vec<u8> {
        let mut out = vec![self.order.tag(), if self.permutation.is_some() { HAS_PERMUTATION } else { 0 }];
        put_varint(&mut out, offset);
        for number in [self.entries, self.deletes, self.user_bytes, self.base, self.sequences.0, self.sequences.1] {
            put_varint(&mut out, number);
        }
        put_bytes(&mut out, &self.low);
        put_bytes(&mut out, &self.high);
        put_varint(&mut out, self.range_tombstones.len() as u64);
        for range_delete in &self.range_tombstones {
            put_bytes(&mut out, &range_delete.low);
            put_bytes(&mut out, &range_delete.high);
            put_varint(&mut out, range_delete.sequence);
        }
        put_varint(&mut out, self.pieces.len() as u64);
        for piece in &self.pieces {
            put_varint(&mut out, piece.offset);
            put_varint(&mut out, piece.len);
        }
        if let Some(permutation) = &self.permutation {
            permutation.encode(&mut out);
        }
        match self.order {
            Order::Hash => self.fences.encode(&mut out),
            Order::Log => {
                let index = self.index.unwrap_or(Extent { offset, len: 0 });
                put_varint(&mut out, index.offset);
                put_varint(&mut out, index.len);
                self.fences.encode(&mut out);
            }
            Order::Key => self.key_index.encode(&mut out),
        }
        let mut column = Vec::new();
        hashes.encode(&mut column);
        put_bytes(&mut out, &column);
        seal(out)
    }

    /// Reads the footer in `extent` of `file`.
    pub fn read(file: &DataFile, extent: Extent) -> Result<(Self, HashColumn)> {
        file.check_bounds(extent)?;
        let mut bytes = vec![0; extent.len as usize];
        file.read(&mut bytes, extent.offset)?;
        let content = unseal(&bytes).map_err(|problem| file.corrupt(extent.offset, problem))?;
        let malformed = || file.corrupt(extent.offset, "the footer's checksum is right, but its content is invalid");
        Self::decode(content, extent.offset).ok_or_else(malformed)
    }

    fn decode(content: &[u8], offset: u64) -> Option<(Self, HashColumn)> {
        let mut input = ByteReader::new(content);
        let (order, flags) = (Order::of_tag(input.u8()?)?, input.u8()?);
        let own_offset = input.varint()?;
        let [entries, deletes, user_bytes, base, lowest, highest] = numbers(&mut input)?;
        let blocks = Extent { offset: file::HEADER_BYTES, len: offset.checked_sub(file::HEADER_BYTES)? };
        // An entry takes an index item in a log run, at least a byte of the hash column otherwise.
        let entries_max = if order == Order::Log { blocks.len / ITEM_BYTES as u64 } else { content.len() as u64 };
        if entries > entries_max || highest >= NUMBER_LIMIT {
            return None;
        }
        let (low, high) = (input.bytes()?.into(), input.bytes()?.into());
        let range_tombstones = decode_range_deletes(&mut input)?;
        let pieces = decode_pieces(&mut input, blocks)?;
        let permutation = match flags {
            0 => None,
            HAS_PERMUTATION => Some(Permutation::decode(&mut input, entries)?),
            _ => return None,
        };
        let (mut fences, mut key_index, mut index) = (Fences::default(), KeyIndex::default(), None);
        match order {
            Order::Hash => fences = Fences::decode(&mut input, blocks)?,
            Order::Log => {
                index = Some(Extent { offset: input.varint()?, len: input.varint()? });
                fences = Fences::decode(&mut input, blocks)?;
            }
            Order::Key => key_index = KeyIndex::decode(&mut input)?,
        }
        // The index of a log run has the hashes already.
        let in_column = if order == Order::Log { 0 } else { usize::try_from(entries).ok()? };
        let hashes = HashColumn::decode(input.bytes()?, in_column)?;
        let sequences = (lowest, highest);
        let footer = Self {
            order,
            entries,
            deletes,
            user_bytes,
            base,
            sequences,
            low,
            high,
            range_tombstones,
            pieces,
            permutation,
            index,
            fences,
            key_index,
        };
        (own_offset == offset && footer.pages().is_none_or(|pages| pages.end() == Some(offset)))
            .then_some((footer, hashes))
    }
}

fn numbers<const N: usize>(input: &mut ByteReader<'_>) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = input.varint()?;
    }
    Some(numbers)
}

fn decode_range_deletes(input: &mut ByteReader<'_>) -> Option<Box<[RangeTombstone]>> {
    let decode_one = |input: &mut ByteReader<'_>| {
        Some(RangeTombstone { low: input.bytes()?.into(), high: input.bytes()?.into(), sequence: input.varint()? })
    };
    (0..input.count()?).map(|_| decode_one(input)).collect()
}

fn decode_pieces(input: &mut ByteReader<'_>, blocks: Extent) -> Option<Box<[Extent]>> {
    let mut free = blocks.offset;
    let decode_one = |input: &mut ByteReader<'_>| {
        let piece = Extent { offset: input.varint()?, len: input.varint()? };
        let lies_right = piece.offset >= free && piece.len > 0 && piece.end()? <= blocks.end()?;
        free = piece.end()?;
        lies_right.then_some(piece)
    };
    let mut decode_one = decode_one;
    (0..input.count()?).map(|_| decode_one(input)).collect()
}

/// Pads, and appends length, checksum and magic.
pub(super) fn seal(mut out: Vec<u8>) -> Vec<u8> {
    let len = block::padded(out.len() as u64 + TRAILER_BYTES);
    out.resize((len - TRAILER_BYTES) as usize, 0);
    out.extend_from_slice(&((len / block::UNIT_BYTES) as u32).to_le_bytes());
    let checksum = crc32c::crc32c(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(MAGIC);
    out
}

/// The length of the footer that ends with `trailer`.
fn len_in_trailer(trailer: &[u8]) -> Option<u64> {
    let units = ByteReader::new(trailer).u32()?;
    (trailer.get(8..) == Some(&MAGIC[..])).then_some(u64::from(units) * block::UNIT_BYTES)
}

fn unseal(bytes: &[u8]) -> std::result::Result<&[u8], String> {
    let end = bytes.len().checked_sub(TRAILER_BYTES as usize).ok_or("the footer is cut off")?;
    match len_in_trailer(&bytes[end..]) {
        None => return Err("this is not a footer: it does not end with `rlsmfoot`".to_owned()),
        Some(len) if len != bytes.len() as u64 => {
            return Err(format!("the footer says it has {len} bytes; expected {}", bytes.len()));
        }
        Some(_) => {}
    }
    if crc32c::crc32c(&bytes[..end + 4]).to_le_bytes() != bytes[end + 4..end + 8] {
        return Err("the footer's checksum is wrong".to_owned());
    }
    Ok(&bytes[..end])
}

/// Finds all valid footers of a file, in order, when no manifest refers to them: searches for their trailers from the
/// end of the file.
pub(crate) fn find(file: &DataFile) -> Result<Vec<Extent>> {
    let mut found = Vec::new();
    let mut window = Vec::new();
    let (mut window_start, mut end) = (u64::MAX, file.len / block::UNIT_BYTES * block::UNIT_BYTES);
    while end >= file::HEADER_BYTES + TRAILER_BYTES {
        let trailer = end - TRAILER_BYTES;
        if trailer < window_start {
            window_start = end.saturating_sub(SCAN_BYTES);
            window.resize((end - window_start) as usize, 0);
            file.read(&mut window, window_start)?;
        }
        let at = (trailer - window_start) as usize;
        end = match footer_before(file, end, &window[at..at + TRAILER_BYTES as usize]) {
            Some(extent) => {
                found.push(extent);
                window_start = u64::MAX;
                extent.offset
            }
            None => trailer,
        };
    }
    found.reverse();
    Ok(found)
}

fn footer_before(file: &DataFile, end: u64, trailer: &[u8]) -> Option<Extent> {
    let len = len_in_trailer(trailer)?;
    let extent = Extent { offset: end.checked_sub(len).filter(|offset| *offset >= file::HEADER_BYTES)?, len };
    Footer::read(file, extent).is_ok().then_some(extent)
}
