//! Cursors against the sorted list, in both directions: by permutation, by sorted view, by key order.

use crate::merge::Cursor;
use std::sync::Arc;

use proptest::prelude::*;

use super::model::*;
use crate::run::{BlockCache, Order, Run, RunCursor};

#[derive(Debug, Clone)]
enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrevious(Vec<u8>),
    Next(u8),
    Previous(u8),
}

fn target() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0u32..45).prop_map(|number| format!("key {number}").into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..4),
        proptest::collection::vec(0u8..2, 0..7),
        Just(vec![1; 65_535]),
    ]
}

fn movement() -> impl Strategy<Value = Move> {
    prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        3 => target().prop_map(Move::Seek),
        3 => target().prop_map(Move::SeekForPrevious),
        4 => (1u8..30).prop_map(Move::Next),
        4 => (1u8..30).prop_map(Move::Previous),
    ]
}

/// Where the list's reader stands after a move.
fn moved(sorted: &[Owned], at: Option<usize>, movement: &Move) -> Option<usize> {
    let within = |at: usize| (at < sorted.len()).then_some(at);
    match movement {
        Move::First => within(0),
        Move::Last => sorted.len().checked_sub(1),
        Move::Seek(key) => within(sorted.partition_point(|entry| entry.key < *key)),
        Move::SeekForPrevious(key) => sorted.partition_point(|entry| entry.key <= *key).checked_sub(1),
        Move::Next(_) => at.and_then(|at| within(at + 1)),
        Move::Previous(_) => at.and_then(|at| at.checked_sub(1)),
    }
}

fn step(cursor: &mut RunCursor, movement: &Move) {
    match movement {
        Move::First => cursor.first(),
        Move::Last => cursor.last(),
        Move::Seek(key) => cursor.seek(key),
        Move::SeekForPrevious(key) => cursor.seek_for_previous(key),
        Move::Next(_) => cursor.next(),
        Move::Previous(_) => cursor.previous(),
    }
    .unwrap();
}

fn check(run: &Arc<Run>, cache: &Arc<BlockCache>, sorted: &[Owned], moves: &[Move]) {
    let (mut cursor, mut at) = (run.cursor(cache).unwrap(), None);
    assert!(cursor.entry().is_none());
    for movement in moves {
        let times = if let Move::Next(times) | Move::Previous(times) = movement { *times } else { 1 };
        for _ in 0..times {
            step(&mut cursor, movement);
            at = moved(sorted, at, movement);
            let expected: Option<&Owned> = at.map(|at| &sorted[at]);
            assert_eq!(cursor.entry(), expected.map(Owned::entry), "{movement:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn cursors_go_where_the_list_says(
        (order, entries) in order().prop_flat_map(|order| (Just(order), entries(order, false, 400))),
        moves in proptest::collection::vec(movement(), 1..40),
        options in options(),
    ) {
        let written = write(&options, &[(order, true, &entries), (order, false, &entries)]);
        let (sorted, cache) = (in_key_order(&entries), Arc::new(BlockCache::new(1 << 20, 1 << 20)));
        for run in &written.runs {
            check(run, &cache, &sorted, &moves);
        }
    }
}

#[test]
fn long_runs_are_walked_from_end_to_end() {
    for order in [Order::Hash, Order::Key] {
        let mut entries: Vec<Owned> = (0..30_000u32)
            .map(|i| Owned::new(format!("{:08}", i / 3), 1000 + u64::from(i % 3), Some(vec![])))
            .collect();
        arrange(order, &mut entries);
        let written = write(&super::model::small(), &[(order, true, &entries), (order, false, &entries)]);
        let (sorted, cache) = (in_key_order(&entries), Arc::new(BlockCache::new(1 << 20, 1 << 20)));
        let moves: Vec<Move> = [Move::First]
            .into_iter()
            .chain(vec![Move::Next(100); 300])
            .chain([Move::Last])
            .chain(vec![Move::Previous(100); 300])
            .collect();
        written.runs.iter().for_each(|run| check(run, &cache, &sorted, &moves));
    }
}

#[test]
fn a_view_is_built_once() {
    let mut entries: Vec<Owned> = (0..5_000u32).map(|i| Owned::new(i.to_be_bytes(), 1000, None)).collect();
    arrange(Order::Hash, &mut entries);
    let written = write(&Default::default(), &[(Order::Hash, false, &entries)]);
    let cache = Arc::new(BlockCache::new(0, 1 << 20));
    written.runs[0].cursor(&cache).unwrap();
    let memory = cache.memory_bytes();
    assert!((5_000 * 4..5_000 * 5).contains(&memory), "a view of 5000 entries takes {memory} bytes");
    let reads = || written.files.file("data-000007").reads.load(std::sync::atomic::Ordering::Relaxed);
    let before = reads();
    written.runs[0].cursor(&cache).unwrap();
    assert_eq!(reads(), before);
}
