use proptest::prelude::*;

use super::super::model::{ListCursor, Move, Version, key, live, movement, versions};
use super::*;
use crate::entry::RangeDelete;

fn moves() -> impl Strategy<Value = Vec<Move>> {
    prop::collection::vec(movement(key), 0..60)
}

fn bounds() -> impl Strategy<Value = Bounds> {
    prop_oneof![
        Just(Bounds::default()),
        key().prop_map(|prefix| Bounds::prefix(&prefix)),
        (key(), key()).prop_map(|(low, high)| Bounds::new(&low[..]..&high[..])),
        (key(), key()).prop_map(|(low, high)| Bounds::new(&low[..]..=&high[..])),
        key().prop_map(|low| Bounds::new(&low[..]..)),
        key().prop_map(|high| Bounds::new(..&high[..])),
    ]
}

fn key_of(version: &Version) -> &[u8] {
    &version.key
}

/// Deals versions out to sources, and some of them to a second one.
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

fn range_deletes(ranges: Vec<(Vec<u8>, Vec<u8>, Sequence)>) -> Vec<RangeDelete> {
    // Sequences between those of versions would be the same as one of them: every other one is taken here.
    ranges
        .into_iter()
        .map(|(low, high, sequence)| RangeDelete { low: low.into(), high: high.into(), sequence: 2 * sequence + 1 })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn merged_is_as_the_flat_list(
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
        let ranges = range_deletes(ranges);
        let mut list = live(&versions, &ranges, snapshot);
        list.retain(|version| !bounds.are_above(&version.key) && !bounds.are_below(&version.key));
        let mut deletes = RangeDeletes::default();
        deletes.extend(&ranges);
        let mut merged = Merged::new(deal(&versions, &to, sources, &twice), Arc::new(deletes), bounds, snapshot);
        let mut at = None;
        prop_assert_eq!(merged.entry(), None);
        for to in &moves {
            to.make(&mut merged)?;
            at = to.lead(&list, key_of, at);
            prop_assert_eq!(merged.entry(), at.map(|at| list[at].entry()), "after {:?}", to);
        }
    }

    #[test]
    fn a_failure_is_told_and_leaves_it_nowhere(
        versions in versions(40),
        to in prop::collection::vec(any::<usize>(), 1..40),
        moves in moves(),
        fails in (0_usize..3, 0_usize..30),
    ) {
        let mut sources = deal(&versions, &to, 3, &[]);
        sources[fails.0].moves_before_failure = Some(fails.1);
        let mut merged = Merged::new(sources, Arc::default(), Bounds::default(), 100);
        let list = live(&versions, &[], 100);
        let mut at = None;
        for to in &moves {
            let moved = to.make(&mut merged);
            at = if moved.is_ok() { to.lead(&list, key_of, at) } else { None };
            prop_assert_eq!(merged.entry(), at.map(|at| list[at].entry()));
        }
    }
}
