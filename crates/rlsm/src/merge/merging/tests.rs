use proptest::prelude::*;

use super::super::model::{CursorMove, ListCursor, Version, key, live, movement, versions};
use super::*;
use crate::entry::RangeTombstone;

fn moves() -> impl Strategy<Value = Vec<CursorMove>> {
    prop::collection::vec(movement(key), 0..60)
}

fn bounds() -> impl Strategy<Value = KeyBounds> {
    prop_oneof![
        Just(KeyBounds::default()),
        key().prop_map(|prefix| KeyBounds::prefix(&prefix)),
        (key(), key()).prop_map(|(low, high)| KeyBounds::new(&low[..]..&high[..])),
        (key(), key()).prop_map(|(low, high)| KeyBounds::new(&low[..]..=&high[..])),
        key().prop_map(|low| KeyBounds::new(&low[..]..)),
        key().prop_map(|high| KeyBounds::new(..&high[..])),
    ]
}

fn key_of(version: &Version) -> &[u8] {
    &version.key
}

/// Distributes versions over sources, and some of them to a second one.
fn deal(versions: &[Version], to: &[usize], sources: usize, twice: &[usize]) -> Vec<ListCursor> {
    let mut dealt = vec![Vec::new(); sources];
    for (version, to) in versions.iter().zip(to.iter().cycle()) {
        dealt[to % sources].push(version.clone());
    }
    for (version, to) in twice.iter().filter_map(|which| Some((versions.get(which % 100)?, which / 100 % sources))) {
        if !dealt[to].contains(version) {
            dealt[to].push(version.clone());
        }
    }
    dealt.into_iter().map(ListCursor::new).collect()
}

fn range_tombstones(ranges: Vec<(Vec<u8>, Vec<u8>, SequenceNumber)>) -> Vec<RangeTombstone> {
    // Versions have even sequence numbers, so that range tombstones have their own.
    ranges
        .into_iter()
        .map(|(low, high, sequence)| RangeTombstone { low: low.into(), high: high.into(), sequence: 2 * sequence + 1 })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_merging_cursor_agrees_with_a_flat_list(
        mut versions in versions(80),
        to in prop::collection::vec(any::<usize>(), 1..80),
        sources in prop_oneof![Just(1_usize), 1..6_usize, Just(100)],
        twice in prop::collection::vec(any::<usize>(), 0..20),
        ranges in prop::collection::vec((key(), key(), 0_u64..80), 0..4),
        snapshot in 0_u64..200,
        bounds in bounds(),
        moves in moves(),
    ) {
        versions.iter_mut().for_each(|version| version.sequence *= 2);
        let ranges = range_tombstones(ranges);
        let mut list = live(&versions, &ranges, snapshot);
        list.retain(|version| !bounds.is_before_start(&version.key) && !bounds.is_past_end(&version.key));
        let mut deletes = RangeTombstones::default();
        deletes.extend(&ranges);
        let mut merged = MergingCursor::new(deal(&versions, &to, sources, &twice), Arc::new(deletes), bounds, snapshot);
        let mut at = None;
        prop_assert_eq!(merged.entry(), None);
        for to in &moves {
            to.make(&mut merged)?;
            at = to.lead(&list, key_of, at);
            prop_assert_eq!(merged.entry(), at.map(|at| list[at].entry()), "after {:?}", to);
        }
    }

    #[test]
    fn an_error_is_returned_and_leaves_no_entry(
        versions in versions(40),
        to in prop::collection::vec(any::<usize>(), 1..40),
        moves in moves(),
        fails in (0_usize..3, 0_usize..30),
    ) {
        let mut sources = deal(&versions, &to, 3, &[]);
        sources[fails.0].moves_before_failure = Some(fails.1);
        let mut merged = MergingCursor::new(sources, Arc::default(), KeyBounds::default(), 100);
        let list = live(&versions, &[], 100);
        let mut at = None;
        for to in &moves {
            let moved = to.make(&mut merged);
            at = if moved.is_ok() { to.lead(&list, key_of, at) } else { None };
            prop_assert_eq!(merged.entry(), at.map(|at| list[at].entry()));
        }
    }
}
