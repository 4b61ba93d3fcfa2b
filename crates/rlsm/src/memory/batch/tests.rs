use proptest::prelude::*;

use super::*;

/// Operations: kind, key or lower bound, value or upper bound.
type Writes = Vec<(u64, Vec<u8>, Vec<u8>)>;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

fn writes() -> impl Strategy<Value = Writes> {
    let write = prop_oneof![
        (Just(PUT), bytes(300), bytes(300)),
        (Just(DELETE), bytes(40), Just(Vec::new())),
        (Just(DELETE_RANGE), bytes(40), bytes(40))
            .prop_filter("the range is empty", |(_, low, high)| low != high)
            .prop_map(|(kind, one, other)| (kind, one.clone().min(other.clone()), one.max(other))),
    ];
    prop::collection::vec(write, 0..20)
}

fn operations(writes: &Writes) -> Vec<BatchOperation<'_>> {
    let mut operations = Vec::new();
    for (kind, key, more) in writes {
        operations.push(match *kind {
            PUT => BatchOperation::Put { key, value: more },
            DELETE => BatchOperation::Delete { key },
            _ => BatchOperation::DeleteRange { low: key, high: more },
        });
    }
    operations
}

fn batch_of(writes: &Writes) -> Batch {
    let mut batch = Batch::new();
    for operation in operations(writes) {
        let added = match operation {
            BatchOperation::Put { key, value } => batch.put(key, value),
            BatchOperation::Delete { key } => batch.delete(key),
            BatchOperation::DeleteRange { low, high } => batch.delete_range(low, high),
        };
        added.unwrap();
    }
    batch
}

proptest! {
    #[test]
    fn a_batch_survives_encoding(writes in writes(), first in 0_u64..1 << 62) {
        let batch = batch_of(&writes);
        let mut payload = Vec::new();
        batch.encode(first, &mut payload);
        prop_assert!(payload.len() <= batch.max_encoded_len());
        let decoded = decode(&payload, "wal-000001", 0).unwrap();
        prop_assert_eq!((decoded.first, decoded.len as usize), (first, writes.len()));
        prop_assert_eq!(decoded.next_sequence(), first + writes.len() as u64);
        let expected = operations(&writes);
        prop_assert_eq!(decoded.operations().collect::<Vec<_>>(), expected.clone());
        prop_assert_eq!(batch.operations().collect::<Vec<_>>(), expected.clone());
        for (number, operation) in (0..).zip(expected) {
            let one = decode_one(&payload, number, "wal-000001", 0).unwrap();
            prop_assert_eq!(one, Some((first + u64::from(number), operation)));
        }
        prop_assert_eq!(decode_one(&payload, writes.len() as u16, "wal-000001", 0).unwrap(), None);
        prop_assert_eq!((batch.len(), batch.is_empty()), (writes.len(), writes.is_empty()));
    }

    #[test]
    fn a_truncated_payload_is_refused(writes in writes(), cut in any::<prop::sample::Index>()) {
        let mut payload = Vec::new();
        batch_of(&writes).encode(1 << 40, &mut payload);
        let cut = cut.index(payload.len());
        let error = decode(&payload[..cut], "wal-000001", 100).unwrap_err();
        let Error::Corrupt { file, offset, .. } = &error else { panic!("{error}") };
        prop_assert_eq!(file, "wal-000001");
        prop_assert!((100..=100 + cut as u64).contains(offset), "{}", error);
        payload.push(0);
        prop_assert!(decode(&payload, "wal-000001", 0).is_err());
    }

    #[test]
    fn random_bytes_are_read_or_refused(
        payload in prop::collection::vec(prop_oneof![any::<u8>(), 0_u8..12, Just(255)], 0..60),
    ) {
        let one = decode_one(&payload, 1, "wal-000001", 0);
        if let Ok(decoded) = decode(&payload, "wal-000001", 0) {
            prop_assert_eq!(decoded.operations().count(), decoded.len as usize);
            prop_assert_eq!(one.unwrap().map(|(_, operation)| operation), decoded.operations().nth(1));
        }
    }
}

#[test]
fn a_refused_operation_leaves_the_batch_unchanged() {
    let mut batch = Batch::new();
    batch.put(&[7; KEY_BYTES_MAX], b"").unwrap();
    let before = batch.clone();
    let long = [7; KEY_BYTES_MAX + 1];
    let refused = [
        (batch.put(&long, b""), "the key has 65536 bytes; at most 65535 can be stored"),
        (batch.delete(&long), "the key has 65536 bytes; at most 65535 can be stored"),
        (batch.delete_range(&long, b"z"), "the lower bound has 65536 bytes; at most 65535 can be stored"),
        (batch.delete_range(b"", &long), "the upper bound has 65536 bytes; at most 65535 can be stored"),
        (batch.delete_range(b"b", b"b"), "the range to delete is empty: the lower bound must be below the upper bound"),
        (batch.delete_range(b"b", b"a"), "the range to delete is empty: the lower bound must be below the upper bound"),
        (batch.put(b"k", &vec![0; VALUE_BYTES_MAX + 1]), "the value has 1073741825 bytes; at most 1 GiB can be stored"),
    ];
    for (refused, text) in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }));
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(batch, before);
}

#[test]
fn a_cleared_batch_equals_a_new_one() {
    let mut batch = Batch::new();
    batch.put(b"key", b"value").unwrap();
    batch.delete_range(b"a", b"bc").unwrap();
    assert_eq!((batch.len(), batch.user_bytes()), (2, 11));
    batch.clear();
    assert!(batch.is_empty());
    assert_eq!(batch, Batch::new());
}

#[test]
fn a_put_of_116_bytes_takes_12_more_in_the_wal() {
    // A record takes 4 bytes for the checksum and 1 for the length of a payload below 128 bytes.
    const FRAME_BYTES: usize = 5;
    let mut batch = Batch::new();
    batch.put(&[1; 16], &[2; 100]).unwrap();
    let mut payload = Vec::new();
    batch.encode(16_000_000_000, &mut payload);
    assert!(payload.len() < 128);
    assert_eq!(payload.len() + FRAME_BYTES - 116, 12);
}

#[test]
fn every_fault_of_a_payload_is_named() {
    let faults: [(&[u8], u64, &str); 12] = [
        (&[], 0, "cut off"),
        (&[0xff; 9], 9, "cut off"),
        (&[0xff; 10], 10, "64 bits"),
        (&[1, 0xff, 0xff, 0xff, 0xff, 0x10], 6, "4 billion"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 1, 1], 11, "63 bits"),
        (&[3, 3, 1, 1], 4, "fewer"),
        (&[3, 2, 1, 1, 1], 4, "after the last"),
        (&[2, 3], 2, "unknown kind"),
        (&[2, 1 << 2, 5, b'k'], 4, "beyond the end"),
        (&[2, 0x80, 0x80, 0x10, 0], 4, "65535"),
        (&[2, 0, 0x81, 0x80, 0x80, 0x80, 4], 7, "1 GiB"),
        (&[2, 1 << 2 | 2, 1, b'b', b'b'], 5, "empty range"),
    ];
    for (payload, offset, text) in faults {
        let error = decode(payload, "wal-000001", 0).unwrap_err();
        let Error::Corrupt { offset: at, problem, .. } = &error else { panic!("{error}") };
        assert!(problem.contains(text), "{payload:?}: {error}");
        assert_eq!(*at, offset, "{payload:?}: {error}");
    }
    assert!(decode(&[3, 0], "wal-000001", 0).is_ok_and(|batch| batch.len == 0));
}
