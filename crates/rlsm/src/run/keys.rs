//! A list of keys in one allocation.

use crate::codec::{ByteReader, put_bytes, put_varint};
use crate::key_prefix;

/// Keys by index, in insertion order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyList {
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl KeyList {
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len() as u64);
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[number] as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// The number of keys at the front that satisfy `is_before`. No key after them may.
    pub fn partition_point(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The indexes of the keys in key order; equal keys keep their order.
    pub fn sorted(&self) -> Vec<u32> {
        let key = |number: u32| self.get(number as usize);
        key_prefix::sorted(self.len() as u32, key, |one, other| one.cmp(&other))
    }

    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * size_of::<u64>()) as u64
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        self.iter().for_each(|key| put_bytes(out, key));
    }

    pub fn decode(input: &mut ByteReader<'_>) -> Option<Self> {
        let count = input.count()?;
        let mut keys = Self { bytes: Vec::new(), ends: Vec::with_capacity(count) };
        for _ in 0..count {
            keys.push(input.bytes()?);
        }
        keys.shrink();
        Some(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_sorted_and_survive_encoding(all in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..12), 0..60)) {
            let mut keys = KeyList::default();
            all.iter().for_each(|key| keys.push(key));
            let mut expected: Vec<u32> = (0..all.len() as u32).collect();
            expected.sort_by_key(|number| &all[*number as usize]);
            prop_assert_eq!(keys.sorted(), expected);
            let mut bytes = Vec::new();
            keys.encode(&mut bytes);
            prop_assert_eq!(KeyList::decode(&mut ByteReader::new(&bytes)), Some(keys));
        }
    }
}
