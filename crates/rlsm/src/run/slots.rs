//! The table beside a cached block's body that finds an entry without walking over those before it: a walk touches all
//! their memory, which costs more than anything else in a look-up.
//!
//! For each entry a tag, eight bits of its key; then for each the number of the entry that has its lengths; then for
//! each a u16, where it begins. It is made when a block is read and only in memory. Bodies too long for it, which have
//! few entries, do without.

use super::entries::{Malformed, Scan, Slot};
use crate::codec::{Input, varint};
use crate::entry::Sequence;

/// Bytes of a table per entry.
const ENTRY_BYTES: usize = 4;
const BODY_BYTES_MAX: usize = u16::MAX as usize;

/// Appends to `body` its table and tells where that begins.
pub(crate) fn append_table(body: &mut Vec<u8>, base: Sequence) -> Result<usize, Malformed> {
    let len = body.len();
    let (mut tags, mut shapes, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut scan, mut shape) = (Scan::new(base), 0);
    loop {
        let start = scan.position();
        let Some(slot) = scan.next(body)? else { break };
        let Ok(number) = u8::try_from(tags.len()) else { return Err(Malformed) };
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

/// Spreads the last bytes of a key, in which keys that lie together differ most.
fn tag(key: &[u8]) -> u8 {
    let last = match key.last_chunk() {
        Some(last) => u64::from_le_bytes(*last),
        None => key.iter().fold(key.len() as u64, |all, byte| all << 8 | u64::from(*byte)),
    };
    (last.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// The first entry of `key` with a sequence up to `snapshot`: the newest, since versions are ordered newest first.
#[inline]
pub(crate) fn search(
    body: &[u8],
    table: &[u8],
    base: Sequence,
    key: &[u8],
    snapshot: Sequence,
) -> Result<Option<Slot>, Malformed> {
    if table.is_empty() {
        return walk(body, base, key, snapshot);
    }
    let wanted = tag(key);
    for (number, _) in table[..table.len() / ENTRY_BYTES].iter().enumerate().filter(|(_, tag)| **tag == wanted) {
        let slot = slot(body, table, base, number).ok_or(Malformed)?;
        if slot.key(body) == key && slot.sequence <= snapshot {
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

fn walk(body: &[u8], base: Sequence, key: &[u8], snapshot: Sequence) -> Result<Option<Slot>, Malformed> {
    let mut scan = Scan::new(base);
    while let Some(slot) = scan.next(body)? {
        if slot.key(body) == key && slot.sequence <= snapshot {
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

/// An entry by its number in the block.
pub(crate) fn nth(body: &[u8], table: &[u8], base: Sequence, number: u32) -> Result<Slot, Malformed> {
    if table.is_empty() {
        return Scan::new(base).nth(body, number)?.ok_or(Malformed);
    }
    slot(body, table, base, number as usize).ok_or(Malformed)
}

fn slot(body: &[u8], table: &[u8], base: Sequence, number: usize) -> Option<Slot> {
    let count = table.len() / ENTRY_BYTES;
    let (shapes, starts) = (table.get(count..2 * count)?, table.get(2 * count..)?);
    let start = |number: usize| Input::new(starts.get(2 * number..)?).u16().map(usize::from);
    let shape = usize::from(*shapes.get(number)?);
    let mut scan = Scan::at(start(shape)?, base);
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
    use crate::entry::{Entry, Kind};
    use crate::run::entries::EntryEncoder;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn a_first_entry_without_lengths_is_malformed() {
        for body in [&[0][..], &[0, 0], &[0, 1, 0, 0]] {
            assert!(append_table(&mut body.to_vec(), 0).is_err());
            assert!(walk(body, 0, b"", u64::MAX).is_err());
        }
    }

    proptest! {
        #[test]
        fn the_table_finds_what_a_walk_finds(
            entries in vec((vec(0u8..3, 0..12), 5u64..900, proptest::option::of(vec(any::<u8>(), 0..4))), 0..200),
        ) {
            let (mut body, mut encoder) = (Vec::new(), EntryEncoder::default());
            for (key, sequence, value) in &entries {
                let kind = if value.is_some() { Kind::Put } else { Kind::Delete };
                encoder.push(&mut body, &Entry { key, sequence: *sequence, kind, value: value.as_deref().unwrap_or_default() }, 5);
            }
            let len = append_table(&mut body, 5).unwrap();
            prop_assert_eq!(body.len(), len + entries.len() * ENTRY_BYTES);
            let (body, table) = body.split_at(len);
            for (number, (key, sequence, _)) in entries.iter().enumerate() {
                for snapshot in [*sequence, 450, 899] {
                    let walked = walk(body, 5, key, snapshot).unwrap();
                    prop_assert_eq!(search(body, table, 5, key, snapshot).unwrap(), walked);
                }
                let slot = nth(body, table, 5, number as u32).unwrap();
                prop_assert_eq!((slot.key(body), slot.sequence), (&key[..], *sequence));
                prop_assert_eq!(Scan::new(5).nth(body, number as u32).unwrap(), Some(slot));
            }
            prop_assert!(nth(body, table, 5, entries.len() as u32).is_err());
        }

        #[test]
        fn any_bytes_are_taken_without_panic(mut body in vec(any::<u8>(), 0..200), key in vec(any::<u8>(), 0..3)) {
            if let Ok(len) = append_table(&mut body, 0) {
                let (body, table) = body.split_at(len);
                search(body, table, 0, &key, u64::MAX).unwrap();
            }
        }
    }
}
