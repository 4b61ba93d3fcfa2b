//! Dividing a range at its median by selection, without sorting (seed 002, section 3.3.1).

use std::cmp::Ordering;

use super::pile::{Item, Pile};
use crate::prefix::{self, Part};

/// Divides settled items into `parts` of about as many each, by key; each part keeps their order. All versions of a key
/// stay together, so there may be fewer parts.
pub(crate) fn partition(pile: &Pile, items: &[Item], parts: usize) -> Vec<Vec<Item>> {
    if parts < 2 {
        return if items.is_empty() { Vec::new() } else { vec![items.to_vec()] };
    }
    let key = |number: u32| pile.key(&items[number as usize]);
    let compare = |one: &Part, other: &Part| one.0.cmp(&other.0).then_with(|| key(one.1).cmp(key(other.1)));
    let all = prefix::parts(items.len() as u32, key);
    let mut pivots = Vec::new();
    select(&mut all.clone(), parts, compare, &mut pivots);
    pivots.sort_unstable_by(compare);
    let room = items.len() / parts.max(1) + 1;
    let mut divided: Vec<Vec<Item>> = (0..=pivots.len()).map(|_| Vec::with_capacity(room)).collect();
    for (own, item) in all.iter().zip(items) {
        // The pivot is the highest key of the lower part.
        let number = pivots.partition_point(|pivot| compare(pivot, own).is_lt());
        divided[number].push(*item);
    }
    divided.retain(|part| !part.is_empty());
    divided
}

/// Finds the highest items of all parts but the last, halving again and again.
fn select(items: &mut [Part], parts: usize, compare: impl Fn(&Part, &Part) -> Ordering + Copy, pivots: &mut Vec<Part>) {
    if parts < 2 || items.len() < 2 {
        return;
    }
    let lower_parts = parts / 2;
    let last_below = (items.len() * lower_parts / parts).saturating_sub(1);
    let (_, pivot, _) = items.select_nth_unstable_by(last_below, compare);
    pivots.push(*pivot);
    let (lower, upper) = items.split_at_mut(last_below + 1);
    select(lower, lower_parts, compare, pivots);
    select(upper, parts - lower_parts, compare, pivots);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Kind;
    use crate::entry::Entry;
    use crate::keep::Keep;

    fn settled(keys: &[u8]) -> Pile {
        let mut pile = Pile::default();
        for (sequence, key) in keys.iter().enumerate() {
            pile.push(&Entry { key: &[*key], sequence: sequence as u64 + 1, kind: Kind::Put, value: b"v" });
        }
        pile.settle(Keep::new(0, &[], false));
        pile
    }

    fn spans(pile: &Pile, parts: &[Vec<Item>]) -> Vec<(u8, u8)> {
        parts.iter().map(|part| pile.span(part).unwrap()).map(|span| (span.low[0], span.high[0])).collect()
    }

    #[test]
    fn the_seed_s_example_is_divided_at_its_fifth_key() {
        // Seed 002, Figure 3.5: ten keys from 1 to 29, of which 5 is the fifth, become [1-5] and [6-29].
        let pile = settled(&[29, 4, 1, 17, 5, 2, 22, 3, 6, 11]);
        let parts = partition(&pile, pile.items(), 2);
        assert_eq!(spans(&pile, &parts), [(1, 5), (6, 29)]);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
    }

    #[test]
    fn one_key_is_not_divided() {
        let pile = settled(&[7; 20]);
        assert_eq!(partition(&pile, pile.items(), 4).len(), 1);
    }

    proptest! {
        #[test]
        fn parts_hold_all_in_order_and_share_no_key(keys in prop::collection::vec(any::<u8>(), 1..300), parts in 1_usize..9) {
            let pile = settled(&keys);
            let divided = partition(&pile, pile.items(), parts);
            prop_assert!(divided.len() <= parts);
            prop_assert_eq!(divided.iter().map(Vec::len).sum::<usize>(), keys.len());
            let spans = spans(&pile, &divided);
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{spans:?}");
            for part in &divided {
                prop_assert!(part.windows(2).all(|pair| pair[0].hash <= pair[1].hash));
            }
        }
    }
}
