//! The slot table of a cached block: it finds an entry without decoding those before it, whose memory accesses would
//! dominate a look-up.
//!
//! Three columns: a tag per entry, eight bits of its key; the number of the entry with its lengths; a u16 with its
//! offset. The table is built when a block is read and exists only in memory. Bodies longer than 64 KiB, which have few
//! entries, have none.

use super::entries::{EntryDecoder, EntrySlot, MalformedBlock};
use crate::codec::{ByteReader, varint};
use crate::entry::SequenceNumber;

/// Bytes of the table per entry.
const ENTRY_BYTES: usize = 4;
const BODY_BYTES_MAX: usize = u16::MAX as usize;

/// Appends the table to `body`. Returns where it begins.
pub(crate) fn append_table(body: &mut Vec<u8>, base: SequenceNumber) -> Result<usize, MalformedBlock> {
    let len = body.len();
    let (mut tags, mut shapes, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut scan, mut shape) = (EntryDecoder::new(base), 0);
    loop {
        let start = scan.position();
        let Some(slot) = scan.next(body)? else { break };
        let Ok(number) = u8::try_from(tags.len()) else { return Err(MalformedBlock) };
        if body[start] & 1 == 1 {
            shape = number;
        }
        tags.push(tag(slot.key(body)));
        shapes.push(shape);
        starts.extend_from_slice(&(start as u16).to_le_bytes());
    }
    if len <= BODY_BYTES_MAX {
        body.reserve_exact(tags.len() * ENTRY_BYTES);
        [tags, shapes, starts].iter().for_each(|column| body.extend_from_slice(column));
    }
    Ok(len)
}

/// A hash of a key's last bytes, in which adjacent keys differ most.
fn tag(key: &[u8]) -> u8 {
    let last = match key.last_chunk() {
        Some(last) => u64::from_le_bytes(*last),
        None => key.iter().fold(key.len() as u64, |all, byte| all << 8 | u64::from(*byte)),
    };
    (last.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// The first entry of `key` that `snapshot` sees. It is the newest, since versions are ordered newest first.
#[inline]
pub(crate) fn search(
    body: &[u8],
    table: &[u8],
    base: SequenceNumber,
    key: &[u8],
    snapshot: SequenceNumber,
) -> Result<Option<EntrySlot>, MalformedBlock> {
    if table.is_empty() {
        return linear_search(body, base, key, snapshot);
    }
    let wanted = tag(key);
    for (number, _) in table[..table.len() / ENTRY_BYTES].iter().enumerate().filter(|(_, tag)| **tag == wanted) {
        let slot = slot(body, table, base, number).ok_or(MalformedBlock)?;
        if slot.key(body) == key && slot.sequence <= snapshot {
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

fn linear_search(
    body: &[u8],
    base: SequenceNumber,
    key: &[u8],
    snapshot: SequenceNumber,
) -> Result<Option<EntrySlot>, MalformedBlock> {
    let mut scan = EntryDecoder::new(base);
    while let Some(slot) = scan.next(body)? {
        if slot.key(body) == key && slot.sequence <= snapshot {
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

/// The entry with this number in the block.
pub(crate) fn nth(body: &[u8], table: &[u8], base: SequenceNumber, number: u32) -> Result<EntrySlot, MalformedBlock> {
    if table.is_empty() {
        return EntryDecoder::new(base).nth(body, number)?.ok_or(MalformedBlock);
    }
    slot(body, table, base, number as usize).ok_or(MalformedBlock)
}

fn slot(body: &[u8], table: &[u8], base: SequenceNumber, number: usize) -> Option<EntrySlot> {
    let count = table.len() / ENTRY_BYTES;
    let (shapes, starts) = (table.get(count..2 * count)?, table.get(2 * count..)?);
    let start = |number: usize| ByteReader::new(starts.get(2 * number..)?).u16().map(usize::from);
    let shape = usize::from(*shapes.get(number)?);
    let mut scan = EntryDecoder::at(start(shape)?, base);
    if shape == number {
        return scan.next(body).ok()?;
    }
    let mut at = start(shape)?;
    varint(body, &mut at).ok()?;
    scan.take_shape(body, at, start(number)?)?;
    scan.next(body).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, EntryKind};
    use crate::run::entries::EntryEncoder;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn a_first_entry_without_lengths_is_malformed() {
        for body in [&[0][..], &[0, 0], &[0, 1, 0, 0]] {
            assert!(append_table(&mut body.to_vec(), 0).is_err());
            assert!(linear_search(body, 0, b"", u64::MAX).is_err());
        }
    }

    proptest! {
        #[test]
        fn the_table_and_a_linear_search_agree(
            entries in vec((vec(0u8..3, 0..12), 5u64..900, proptest::option::of(vec(any::<u8>(), 0..4))), 0..200),
        ) {
            let (mut body, mut encoder) = (Vec::new(), EntryEncoder::default());
            for (key, sequence, value) in &entries {
                let kind = if value.is_some() { EntryKind::Put } else { EntryKind::Delete };
                encoder.push(&mut body, &Entry { key, sequence: *sequence, kind, value: value.as_deref().unwrap_or_default() }, 5);
            }
            let len = append_table(&mut body, 5).unwrap();
            prop_assert_eq!(body.len(), len + entries.len() * ENTRY_BYTES);
            let (body, table) = body.split_at(len);
            for (number, (key, sequence, _)) in entries.iter().enumerate() {
                for snapshot in [*sequence, 450, 899] {
                    let walked = linear_search(body, 5, key, snapshot).unwrap();
                    prop_assert_eq!(search(body, table, 5, key, snapshot).unwrap(), walked);
                }
                let slot = nth(body, table, 5, number as u32).unwrap();
                prop_assert_eq!((slot.key(body), slot.sequence), (&key[..], *sequence));
                prop_assert_eq!(EntryDecoder::new(5).nth(body, number as u32).unwrap(), Some(slot));
            }
            prop_assert!(nth(body, table, 5, entries.len() as u32).is_err());
        }

        #[test]
        fn arbitrary_bytes_cause_no_panic(mut body in vec(any::<u8>(), 0..200), key in vec(any::<u8>(), 0..3)) {
            if let Ok(len) = append_table(&mut body, 0) {
                let (body, table) = body.split_at(len);
                search(body, table, 0, &key, u64::MAX).unwrap();
            }
        }
    }
}
