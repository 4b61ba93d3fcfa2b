//! Sorting keys by numbers: most comparisons end there, and need not go to where the keys lie.

use std::cmp::Ordering;

/// A part of a key that orders as the key does, or is equal, and the key's number.
pub(crate) type Part = (u64, u32);

/// The parts of `len` keys, as `key` tells them.
pub(crate) fn parts<'a>(len: u32, key: impl Fn(u32) -> &'a [u8]) -> Vec<Part> {
    let shared = shared_prefix((0..len).map(&key));
    (0..len).map(|number| (part(key(number), shared), number)).collect()
}

/// The numbers of `len` keys, as `key` tells them, in their order; `then` orders those of equal keys.
pub(crate) fn sorted<'a>(len: u32, key: impl Fn(u32) -> &'a [u8], then: impl Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let mut sorted = parts(len, &key);
    sorted.sort_unstable_by(|&(part, one), &(other_part, other)| {
        part.cmp(&other_part).then_with(|| key(one).cmp(key(other))).then_with(|| then(one, other))
    });
    sorted.into_iter().map(|(_, number)| number).collect()
}

/// How many bytes all keys begin with.
fn shared_prefix<'a>(mut keys: impl Iterator<Item = &'a [u8]>) -> usize {
    let Some(first) = keys.next() else { return 0 };
    let with_first = |key: &[u8]| first.iter().zip(key).take_while(|(one, other)| one == other).count();
    keys.fold(first.len(), |shared, key| if key.starts_with(&first[..shared]) { shared } else { with_first(key) })
}

/// The 8 bytes of `key` from `from` on, as a number that orders as they do; zeros where there are none.
fn part(key: &[u8], from: usize) -> u64 {
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
