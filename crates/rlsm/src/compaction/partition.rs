//! Partitioning a range at its medians by selection, without sorting (Song 2018, section 3.3.1).

use std::cmp::Ordering;

use super::entry_buffer::{BufferedEntry, EntryBuffer};
use crate::key_prefix::{self, KeyPrefix};

/// Divides sorted entries into `parts` of about equal number, by key; each part keeps the order. All versions of a key
/// stay together, so there may be fewer parts.
pub(crate) fn partition(buffer: &EntryBuffer, items: &[BufferedEntry], parts: usize) -> Vec<Vec<BufferedEntry>> {
    if parts < 2 {
        return if items.is_empty() { Vec::new() } else { vec![items.to_vec()] };
    }
    let key = |number: u32| buffer.key(&items[number as usize]);
    let compare = |one: &KeyPrefix, other: &KeyPrefix| one.0.cmp(&other.0).then_with(|| key(one.1).cmp(key(other.1)));
    let all = key_prefix::prefixes(items.len() as u32, key);
    let mut pivots = Vec::new();
    select(&mut all.clone(), parts, compare, &mut pivots);
    pivots.sort_unstable_by(compare);
    let room = items.len() / parts.max(1) + 1;
    let mut divided: Vec<Vec<BufferedEntry>> = (0..=pivots.len()).map(|_| Vec::with_capacity(room)).collect();
    for (own, item) in all.iter().zip(items) {
        // The pivot is the highest key of the lower part.
        let number = pivots.partition_point(|pivot| compare(pivot, own).is_lt());
        divided[number].push(*item);
    }
    divided.retain(|part| !part.is_empty());
    divided
}

/// Selects the highest entry of every part but the last, by recursive halving.
fn select(
    items: &mut [KeyPrefix],
    parts: usize,
    compare: impl Fn(&KeyPrefix, &KeyPrefix) -> Ordering + Copy,
    pivots: &mut Vec<KeyPrefix>,
) {
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
    use crate::EntryKind;
    use crate::entry::Entry;
    use crate::retention::RetentionFilter;

    fn sorted_buffer(keys: &[u8]) -> EntryBuffer {
        let mut buffer = EntryBuffer::default();
        for (sequence, key) in keys.iter().enumerate() {
            buffer.push(&Entry { key: &[*key], sequence: sequence as u64 + 1, kind: EntryKind::Put, value: b"v" });
        }
        buffer.sort_and_retain(RetentionFilter::new(0, &[], false));
        buffer
    }

    fn spans(buffer: &EntryBuffer, parts: &[Vec<BufferedEntry>]) -> Vec<(u8, u8)> {
        parts.iter().map(|part| buffer.span(part).unwrap()).map(|span| (span.low[0], span.high[0])).collect()
    }

    #[test]
    fn the_example_of_the_thesis_is_divided_at_its_fifth_key() {
        // Song 2018, Figure 3.5: ten keys from 1 to 29, of which 5 is the fifth, become [1-5] and [6-29].
        let buffer = sorted_buffer(&[29, 4, 1, 17, 5, 2, 22, 3, 6, 11]);
        let parts = partition(&buffer, buffer.items(), 2);
        assert_eq!(spans(&buffer, &parts), [(1, 5), (6, 29)]);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
    }

    #[test]
    fn one_key_is_not_divided() {
        let buffer = sorted_buffer(&[7; 20]);
        assert_eq!(partition(&buffer, buffer.items(), 4).len(), 1);
    }

    proptest! {
        #[test]
        fn parts_hold_all_in_order_and_share_no_key(keys in prop::collection::vec(any::<u8>(), 1..300), parts in 1_usize..9) {
            let buffer = sorted_buffer(&keys);
            let divided = partition(&buffer, buffer.items(), parts);
            prop_assert!(divided.len() <= parts);
            prop_assert_eq!(divided.iter().map(Vec::len).sum::<usize>(), keys.len());
            let spans = spans(&buffer, &divided);
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{spans:?}");
            for part in &divided {
                prop_assert!(part.windows(2).all(|pair| pair[0].hash <= pair[1].hash));
            }
        }
    }
}
