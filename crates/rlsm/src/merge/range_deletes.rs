//! Deleted ranges, arranged so that a short search tells what a key has to fear, however many of them overlap.

use std::sync::Arc;

use crate::entry::{RangeDelete, Sequence};

/// A set of deleted ranges. Cloning shares what they hold.
///
/// Each level is a whole of its own, more than as large as the next: a range that is added makes a new, small level and
/// is merged with those before it that are no larger. So each range is arranged anew only a few times.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeDeletes {
    levels: Vec<Arc<Level>>,
}

/// Ranges over a tree of pieces: each range is noted at the few nodes that together are just its keys.
#[derive(Debug)]
struct Level {
    /// By sequence.
    deletes: Vec<Arc<RangeDelete>>,
    /// Where a range begins or ends, in order: piece `i` holds the keys from here up to the next.
    cuts: Vec<Box<[u8]>>,
    /// The sequences noted, ascending: at node 1 for all pieces, at `2 i` and `2 i + 1` for the two parts of node `i`,
    /// at the last half of the nodes for the pieces.
    nodes: Vec<Vec<Sequence>>,
    /// The memory it takes.
    bytes: u64,
}

impl RangeDeletes {
    /// Adds a range. One that holds no key changes nothing.
    pub fn add(&mut self, delete: RangeDelete) {
        if delete.low >= delete.high {
            return;
        }
        let mut added = vec![Arc::new(delete)];
        while let Some(level) = self.levels.pop_if(|level| level.deletes.len() <= added.len()) {
            added.extend(level.deletes.iter().cloned());
        }
        self.levels.push(Arc::new(Level::new(added)));
    }

    /// The newest delete of `key` that `snapshot` sees; it hides every version before it.
    pub fn newest_over(&self, key: &[u8], snapshot: Sequence) -> Option<Sequence> {
        self.levels.iter().filter_map(|level| level.newest_over(key, snapshot)).max()
    }

    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The ranges, without those that hold no key.
    pub fn iter(&self) -> impl Iterator<Item = &RangeDelete> {
        self.levels.iter().flat_map(|level| level.deletes.iter().map(|delete| &**delete))
    }

    /// The memory they take.
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).sum()
    }
}

impl<'a> Extend<&'a RangeDelete> for RangeDeletes {
    fn extend<I: IntoIterator<Item = &'a RangeDelete>>(&mut self, deletes: I) {
        let added = deletes.into_iter().filter(|delete| delete.low < delete.high).cloned().map(Arc::new);
        let all: Vec<_> = self.levels.drain(..).flat_map(|level| level.deletes.clone()).chain(added).collect();
        if !all.is_empty() {
            self.levels.push(Arc::new(Level::new(all)));
        }
    }
}

impl Level {
    fn new(mut deletes: Vec<Arc<RangeDelete>>) -> Self {
        deletes.sort_by_key(|delete| delete.sequence);
        let mut cuts: Vec<&[u8]> = deletes.iter().flat_map(|delete| [&*delete.low, &*delete.high]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut nodes = vec![Vec::new(); 2 * cuts.len()];
        for delete in &deletes {
            let piece = |key: &[u8]| cuts.partition_point(|cut| *cut < key);
            note(&mut nodes, piece(&delete.low), piece(&delete.high), delete.sequence);
        }
        let cuts: Vec<Box<[u8]>> = cuts.into_iter().map(Box::from).collect();
        let bytes = memory_bytes(&deletes, &cuts, &nodes);
        Self { deletes, cuts, nodes, bytes }
    }

    fn newest_over(&self, key: &[u8], snapshot: Sequence) -> Option<Sequence> {
        let piece = self.cuts.partition_point(|cut| **cut <= *key).checked_sub(1)?;
        let leaf = piece + self.cuts.len();
        let path = std::iter::successors(Some(leaf), |node| (*node > 1).then_some(node / 2));
        path.filter_map(|node| {
            let noted = &self.nodes[node];
            Some(noted[noted.partition_point(|&sequence| sequence <= snapshot).checked_sub(1)?])
        })
        .max()
    }
}

fn memory_bytes(deletes: &[Arc<RangeDelete>], cuts: &[Box<[u8]>], nodes: &[Vec<Sequence>]) -> u64 {
    let deletes = deletes.iter().map(|delete| {
        size_of::<Arc<RangeDelete>>()
            + 2 * size_of::<usize>()
            + size_of::<RangeDelete>()
            + delete.low.len()
            + delete.high.len()
    });
    let cuts = cuts.iter().map(|cut| size_of::<Box<[u8]>>() + cut.len());
    let nodes = nodes.iter().map(|noted| size_of::<Vec<Sequence>>() + noted.capacity() * size_of::<Sequence>());
    (deletes.sum::<usize>() + cuts.sum::<usize>() + nodes.sum::<usize>()) as u64
}

/// Notes a sequence at the nodes that are the pieces from `low` up to `high`.
fn note(nodes: &mut [Vec<Sequence>], low: usize, high: usize, sequence: Sequence) {
    let leaves = nodes.len() / 2;
    let (mut low, mut high) = (low + leaves, high + leaves);
    while low < high {
        if low % 2 == 1 {
            nodes[low].push(sequence);
            low += 1;
        }
        if high % 2 == 1 {
            high -= 1;
            nodes[high].push(sequence);
        }
        low /= 2;
        high /= 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(0_u8..4, 0..3)
    }

    proptest! {
        #[test]
        fn the_newest_delete_over_a_key_is_found(
            ranges in prop::collection::vec((key(), key(), 1_u64..50), 0..20),
            together in any::<prop::sample::Index>(),
            asked in prop::collection::vec((key(), 0_u64..60), 50),
        ) {
            let mut deletes = RangeDeletes::default();
            let given: Vec<RangeDelete> = ranges
                .into_iter()
                .map(|(low, high, sequence)| RangeDelete { low: low.into(), high: high.into(), sequence })
                .collect();
            let (one_by_one, together) = given.split_at(together.index(given.len() + 1));
            one_by_one.iter().for_each(|delete| deletes.add(delete.clone()));
            if !together.is_empty() {
                deletes.extend(together);
            }
            prop_assert_eq!(deletes.is_empty(), given.iter().all(|delete| delete.low >= delete.high));
            for (key, snapshot) in asked {
                let over = given.iter().filter(|d| *d.low <= key[..] && key[..] < *d.high && d.sequence <= snapshot);
                let newest = over.map(|delete| delete.sequence).max();
                prop_assert_eq!(deletes.newest_over(&key, snapshot), newest);
            }
        }
    }

    /// As who trims a log from its beginning, again and again.
    #[test]
    fn ranges_that_all_overlap_take_little_more_than_their_own_bytes() {
        let mut deletes = RangeDeletes::default();
        for number in 0..10_000_u32 {
            let high = Box::new(number.to_be_bytes());
            deletes.add(RangeDelete { low: Box::default(), high, sequence: number.into() });
        }
        assert!(deletes.bytes() < 10_000 * 400, "{}", deletes.bytes());
        assert_eq!(deletes.iter().count(), 10_000);
        assert_eq!(deletes.newest_over(&5_000_u32.to_be_bytes(), Sequence::MAX), Some(9_999));
        assert_eq!(deletes.newest_over(&5_000_u32.to_be_bytes(), 7_000), Some(7_000));
        assert_eq!(deletes.newest_over(&5_000_u32.to_be_bytes(), 5_001), Some(5_001));
        assert_eq!(deletes.newest_over(&5_000_u32.to_be_bytes(), 5_000), None);
    }
}
