//! Sorting keys by a numeric prefix: most comparisons end there, without a memory access to the key.

use std::cmp::Ordering;

/// Eight bytes of a key as a number that orders as the keys do, and the key's index.
pub(crate) type KeyPrefix = (u64, u32);

/// The prefixes of `len` keys, after the bytes that all of them share.
pub(crate) fn prefixes<'a>(len: u32, key: impl Fn(u32) -> &'a [u8]) -> Vec<KeyPrefix> {
    let shared = shared_prefix((0..len).map(&key));
    (0..len).map(|number| (prefix(key(number), shared), number)).collect()
}

/// The indexes of `len` keys in key order; `then` orders equal keys.
pub(crate) fn sorted<'a>(len: u32, key: impl Fn(u32) -> &'a [u8], then: impl Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let mut sorted = prefixes(len, &key);
    sorted.sort_unstable_by(|&(prefix, one), &(other_prefix, other)| {
        prefix.cmp(&other_prefix).then_with(|| key(one).cmp(key(other))).then_with(|| then(one, other))
    });
    sorted.into_iter().map(|(_, number)| number).collect()
}

/// The number of leading bytes that all keys share.
fn shared_prefix<'a>(mut keys: impl Iterator<Item = &'a [u8]>) -> usize {
    let Some(first) = keys.next() else { return 0 };
    let with_first = |key: &[u8]| first.iter().zip(key).take_while(|(one, other)| one == other).count();
    keys.fold(first.len(), |shared, key| if key.starts_with(&first[..shared]) { shared } else { with_first(key) })
}

/// The 8 bytes of `key` from `from` on, padded with zeros, as a number that orders as they do.
fn prefix(key: &[u8], from: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = &key[from..];
    let len = rest.len().min(8);
    bytes[..len].copy_from_slice(&rest[..len]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_sorted(
            shared in proptest::collection::vec(any::<u8>(), 0..10),
            rests in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..12), 0..60),
        ) {
            let keys: Vec<Vec<u8>> = rests.iter().map(|rest| [&*shared, rest].concat()).collect();
            let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
            expected.sort_by_key(|number| &keys[*number as usize]);
            let found = sorted(keys.len() as u32, |number| &keys[number as usize], |one, other| one.cmp(&other));
            prop_assert_eq!(found, expected);
        }
    }
}
