use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::merge::model::{CursorMove, ListCursor, Version, key, live, movement, newest, versions};
use crate::merge::{KeyBounds, MergingCursor};

fn table_of(versions: &[Version]) -> Arc<Memtable> {
    let table = Arc::new(Memtable::new(0));
    versions.iter().for_each(|version| table.insert(version.entry()));
    table
}

/// Moves both cursors alike, and compares their entries.
fn walk(
    cursor: &mut MemtableCursor,
    model: &mut ListCursor,
    moves: &[CursorMove],
) -> std::result::Result<(), TestCaseError> {
    for movement in moves {
        movement.make(cursor)?;
        movement.make(model)?;
        prop_assert_eq!(cursor.entry(), model.entry(), "after {:?}", movement);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_look_up_finds_the_version_of_its_snapshot(versions in versions(100), look_ups in prop::collection::vec((key(), 0_u64..110), 50)) {
        let table = table_of(&versions);
        for (key, snapshot) in look_ups {
            let seen = versions.iter().rfind(|version| version.key == key && version.sequence <= snapshot);
            let expected = seen.map(|version| (version.sequence, version.kind, &version.value[..]));
            prop_assert_eq!(table.get(hash(&key), &key, snapshot), expected);
        }
        prop_assert_eq!(table.entries(), versions.len() as u64);
        prop_assert_eq!(table.user_bytes(), versions.iter().map(|version| version.entry().user_bytes()).sum::<u64>());
    }

    #[test]
    fn versions_are_handed_out_in_hash_order(mut versions in versions(200)) {
        let table = table_of(&versions);
        versions.sort_by_key(|version| (hash(&version.key), version.key.clone(), std::cmp::Reverse(version.sequence)));
        prop_assert_eq!(table.in_hash_order().map(Version::from).collect::<Vec<_>>(), versions);
    }

    #[test]
    fn a_cursor_agrees_with_a_sorted_list(
        versions in versions(60),
        before in 0_usize..60,
        snapshots in (0_u64..70, 0_u64..70),
        moves in prop::collection::vec(movement(key), 0..80),
    ) {
        let (before, after) = versions.split_at(before.min(versions.len()));
        let table = table_of(before);
        walk(&mut table.cursor(snapshots.0), &mut ListCursor::new(newest(before, snapshots.0)), &moves)?;
        after.iter().for_each(|version| table.insert(version.entry()));
        walk(&mut table.cursor(snapshots.1), &mut ListCursor::new(newest(&versions, snapshots.1)), &moves)?;
    }

    #[test]
    fn a_cursor_keeps_its_snapshot_during_inserts(
        versions in versions(100),
        before in 0_usize..100,
        moves in prop::collection::vec(movement(key), 0..80),
    ) {
        let (before, after) = versions.split_at(before.min(versions.len()));
        let table = table_of(before);
        let snapshot = before.len() as u64;
        let mut cursor = table.cursor(snapshot);
        let mut model = ListCursor::new(newest(before, snapshot));
        let mut after = after.iter();
        for movement in moves {
            walk(&mut cursor, &mut model, &[movement])?;
            after.next().into_iter().for_each(|version| table.insert(version.entry()));
        }
    }
}

proptest! {
    #[test]
    fn merged_memtables_agree_with_a_flat_list(versions in versions(100), cut in 0_usize..100, snapshot in 0_u64..110) {
        let (old, new) = versions.split_at(cut.min(versions.len()));
        let (newer, cursor) = (table_of(&[]), table_of(old).cursor(snapshot));
        let mut merged = MergingCursor::new(vec![newer.cursor(snapshot), cursor], Arc::default(), KeyBounds::default(), snapshot);
        new.iter().for_each(|version| newer.insert(version.entry()));
        let list = live(&versions, &[], snapshot);
        merged.first()?;
        for version in &list {
            prop_assert_eq!(merged.entry(), Some(version.entry()));
            merged.next()?;
        }
        prop_assert_eq!(merged.entry(), None);
        merged.last()?;
        for version in list.iter().rev() {
            prop_assert_eq!(merged.entry(), Some(version.entry()));
            merged.previous()?;
        }
        prop_assert_eq!(merged.entry(), None);
    }
}

#[test]
fn a_batch_is_applied_in_order() {
    let mut batch = super::super::Batch::new();
    batch.put(b"a", b"1").unwrap();
    batch.delete_range(b"a", b"c").unwrap();
    batch.delete(b"b").unwrap();
    let table = Memtable::new(1 << 20);
    assert!(table.is_empty());
    table.apply(7, batch.operations());
    assert_eq!(table.get(hash(b"a"), b"a", 7), Some((7, EntryKind::Put, &b"1"[..])));
    assert_eq!(table.get(hash(b"a"), b"a", 6), None);
    assert_eq!(table.get(hash(b"b"), b"b", 9), Some((9, EntryKind::Delete, &b""[..])));
    assert_eq!(table.range_tombstones().newest_covering(b"b", 9), Some(8));
    assert_eq!(table.range_tombstones().newest_covering(b"c", 9), None);
    assert!(!table.is_empty());
}

/// Runs `work` on a memtable, adds the memory it leaves allocated, and compares that with what the memtable counts. The
/// count includes the allocator's overhead and rounding, so it may be somewhat higher.
fn check_bytes(allocated: &mut i64, most: f64, work: impl FnOnce() -> Arc<Memtable>) -> Arc<Memtable> {
    let mut done = None;
    *allocated += allocation_counter::measure(|| done = Some(work())).bytes_current;
    let table = done.unwrap();
    let counted = table.bytes();
    let ratio = counted as f64 / *allocated as f64;
    assert!((0.99..most).contains(&ratio), "{counted} bytes counted, {allocated} allocated");
    table
}

#[test]
fn the_memory_count_matches_the_allocator() {
    for (value_len, most) in [(0, 1.35), (100, 1.2), (1_000, 1.05)] {
        let mut allocated = 0;
        let table = check_bytes(&mut allocated, most, || Arc::new(Memtable::new(1 << 20)));
        let table = check_bytes(&mut allocated, most, || {
            for number in 0..20_000 {
                let (key, value) = (key_of(number / 2), vec![0; value_len]);
                table.insert(Entry { key: &key, sequence: number, kind: EntryKind::Put, value: &value });
            }
            table
        });
        let table = check_bytes(&mut allocated, most, || {
            for number in 0..200 {
                let (low, high) = (Box::new([number / 2]), Box::new([number + 1]));
                table.delete_range(RangeTombstone { low, high, sequence: 50_000 });
            }
            table
        });
        check_bytes(&mut allocated, most, || {
            table.cursor(0);
            table
        });
    }
}

/// Spreads numbers over keys, so that successive numbers are not adjacent keys.
fn key_of(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// The write of a number, as key and number: every third one overwrites an earlier key.
fn write(number: u64) -> (u64, u64) {
    if number % 3 == 2 { (number / 3, number) } else { (number, number) }
}

#[test]
fn readers_find_all_versions_inserted_before_the_look_up() {
    const WRITES: u64 = 30_000;
    let table = Arc::new(Memtable::new(1 << 20));
    let published = AtomicU64::new(0);
    let start = Barrier::new(4);
    let look_up = |seed: u64| {
        start.wait();
        let mut state = seed;
        while published.load(Ordering::Acquire) < WRITES {
            let until = published.load(Ordering::Acquire);
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
            let number = (state >> 33) % (until + 1);
            let (key, value) = write(number.max(1));
            if number == 0 {
                continue;
            }
            let key = key_of(key);
            let found = table.get(hash(&key), &key, number);
            assert_eq!(found, Some((number, EntryKind::Put, &value.to_be_bytes()[..])));
        }
    };
    let keys: Vec<usize> = (0..=WRITES)
        .scan(HashSet::new(), |keys, number| {
            (number > 0).then(|| keys.insert(write(number).0));
            Some(keys.len())
        })
        .collect();
    let scan = || {
        start.wait();
        loop {
            let until = published.load(Ordering::Acquire);
            let mut cursor = table.cursor(until);
            let mut seen = Vec::new();
            cursor.first().unwrap();
            while let Some(entry) = cursor.entry() {
                assert!(entry.sequence <= until);
                seen.push(entry.key.to_vec());
                cursor.next().unwrap();
            }
            assert!(seen.is_sorted());
            assert_eq!(seen.len(), keys[until as usize]);
            if until == WRITES {
                break;
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| look_up(1));
        scope.spawn(|| look_up(3));
        scope.spawn(scan);
        start.wait();
        for number in 1..=WRITES {
            let (key, value) = write(number);
            let entry =
                Entry { key: &key_of(key), sequence: number, kind: EntryKind::Put, value: &value.to_be_bytes() };
            table.insert(entry);
            published.store(number, Ordering::Release);
        }
    });
}

#[test]
fn concurrent_first_cursors_build_one_order() {
    for _ in 0..20 {
        let table = Arc::new(Memtable::new(1 << 20));
        for number in 1..=5_000_u64 {
            table.insert(Entry { key: &key_of(number), sequence: number, kind: EntryKind::Put, value: &[] });
        }
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    start.wait();
                    let mut cursor = table.cursor(5_000);
                    cursor.last().unwrap();
                    let mut seen = 0;
                    while cursor.entry().is_some() {
                        seen += 1;
                        cursor.previous().unwrap();
                    }
                    assert_eq!(seen, 5_000);
                });
            }
            start.wait();
            for number in 5_001..=6_000_u64 {
                table.insert(Entry { key: &key_of(number), sequence: number, kind: EntryKind::Put, value: &[] });
            }
        });
        let mut cursor = table.cursor(SequenceNumber::MAX);
        cursor.first().unwrap();
        let all = std::iter::from_fn(|| {
            let sequence = cursor.entry()?.sequence;
            cursor.next().unwrap();
            Some(sequence)
        });
        assert_eq!(all.count(), 6_000);
    }
}
