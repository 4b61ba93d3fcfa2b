//! Cursors against the sorted list, in both directions: by permutation, by sorted view, by key order.

use crate::merge::Cursor;
use crate::merge::model::{CursorMove, movement};
use std::sync::Arc;

use proptest::prelude::*;

use super::model::*;
use crate::run::{BlockCache, Order, Run};

fn target() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0u32..45).prop_map(|number| format!("key {number}").into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..4),
        proptest::collection::vec(0u8..2, 0..7),
        Just(vec![1; 65_535]),
    ]
}

/// Movements, each with a number of repetitions.
fn moves() -> impl Strategy<Value = Vec<(CursorMove, u8)>> {
    proptest::collection::vec((movement(target), 1_u8..30), 1..40)
}

fn check(run: &Arc<Run>, cache: &Arc<BlockCache>, sorted: &[Owned], moves: &[(CursorMove, u8)]) {
    let (mut cursor, mut at) = (run.cursor(cache).unwrap(), None);
    assert!(cursor.entry().is_none());
    for (movement, times) in moves {
        let times = if matches!(movement, CursorMove::Next | CursorMove::Previous) { *times } else { 1 };
        for _ in 0..times {
            movement.make(&mut cursor).unwrap();
            at = movement.lead(sorted, |entry| &entry.key, at);
            let expected: Option<&Owned> = at.map(|at| &sorted[at]);
            assert_eq!(cursor.entry(), expected.map(Owned::entry), "{movement:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn cursors_agree_with_a_sorted_list(
        (order, entries) in order().prop_flat_map(|order| (Just(order), entries(order, false, 400))),
        moves in moves(),
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
        let ends = [(CursorMove::First, CursorMove::Next), (CursorMove::Last, CursorMove::Previous)];
        let moves: Vec<(CursorMove, u8)> =
            ends.into_iter().flat_map(|(end, step)| [vec![(end, 1)], vec![(step, 100); 300]].concat()).collect();
        written.runs.iter().for_each(|run| check(run, &cache, &sorted, &moves));
        // Without memory for the run, it is read block by block.
        let no_room = Arc::new(BlockCache::new(0, 1 << 20));
        written.runs.iter().for_each(|run| check(run, &no_room, &sorted, &moves));
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
