//! The hash column: the top 32 bits of the hashes of a run's entries, from which its maplet is rebuilt when it is
//! opened.

use crate::codec::{put_varint, varint};

/// The top 32 bits of the hashes of all entries, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HashColumn(pub Vec<u32>);

impl HashColumn {
    /// The part of a hash that is in the column.
    pub fn top(hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    /// Encodes the distance of each hash from the one before, as varints.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut before = 0;
        for hash in &self.0 {
            put_varint(out, u64::from(hash - before));
            before = *hash;
        }
    }

    /// `None` if the bytes are not the column of `count` entries.
    pub fn decode(bytes: &[u8], count: usize) -> Option<Self> {
        if count > bytes.len() {
            return None;
        }
        let (mut at, mut before) = (0, 0u32);
        let mut hashes = Vec::with_capacity(count);
        for _ in 0..count {
            let distance = u32::try_from(varint(bytes, &mut at).ok()?).ok()?;
            before = before.checked_add(distance)?;
            hashes.push(before);
        }
        (at == bytes.len()).then_some(Self(hashes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_column_survives_encoding(mut hashes in proptest::collection::vec(any::<u32>(), 0..200)) {
            hashes.sort_unstable();
            let mut bytes = Vec::new();
            HashColumn(hashes.clone()).encode(&mut bytes);
            prop_assert_eq!(HashColumn::decode(&bytes, hashes.len()), Some(HashColumn(hashes.clone())));
            prop_assert_eq!(HashColumn::decode(&bytes, hashes.len() + 1), None);
        }
    }
}
