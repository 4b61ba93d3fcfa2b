//! Range tombstones, indexed so that a look-up is short however many of them overlap.

use std::sync::Arc;

use crate::entry::{RangeTombstone, SequenceNumber};

/// A set of range tombstones. Clones share their content.
///
/// A logarithmic structure: each tree is more than as large as the next. A new tombstone makes a tree of one, which is
/// merged with all trees before it that are no larger. So a tombstone is indexed again only a logarithmic number of
/// times.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeTombstones {
    levels: Vec<Arc<TombstoneTree>>,
}

/// A segment tree: each tombstone is recorded at the few nodes that together cover its keys.
#[derive(Debug)]
struct TombstoneTree {
    /// Ordered by sequence number.
    deletes: Vec<Arc<RangeTombstone>>,
    /// The ends of all tombstones, in order: segment `i` holds the keys from here up to the next.
    boundaries: Vec<Box<[u8]>>,
    /// Ascending sequence numbers per node: node 1 covers all segments, nodes `2 i` and `2 i + 1` the halves of node
    /// `i`, and the last half of the nodes are the segments.
    nodes: Vec<Vec<SequenceNumber>>,
    /// Memory, in bytes.
    bytes: u64,
}

impl RangeTombstones {
    /// Adds a tombstone. An empty one is ignored.
    pub fn add(&mut self, delete: RangeTombstone) {
        if delete.low >= delete.high {
            return;
        }
        let mut added = vec![Arc::new(delete)];
        while let Some(level) = self.levels.pop_if(|level| level.deletes.len() <= added.len()) {
            added.extend(level.deletes.iter().cloned());
        }
        self.levels.push(Arc::new(TombstoneTree::new(added)));
    }

    /// The newest tombstone over `key` that `snapshot` sees. It deletes every version before it.
    pub fn newest_covering(&self, key: &[u8], snapshot: SequenceNumber) -> Option<SequenceNumber> {
        self.levels.iter().filter_map(|level| level.newest_covering(key, snapshot)).max()
    }

    /// Whether there is no tombstone.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// All tombstones.
    pub fn iter(&self) -> impl Iterator<Item = &RangeTombstone> {
        self.levels.iter().flat_map(|level| level.deletes.iter().map(|delete| &**delete))
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).sum()
    }
}

impl<'a> Extend<&'a RangeTombstone> for RangeTombstones {
    fn extend<I: IntoIterator<Item = &'a RangeTombstone>>(&mut self, deletes: I) {
        let added = deletes.into_iter().filter(|delete| delete.low < delete.high).cloned().map(Arc::new);
        let all: Vec<_> = self.levels.drain(..).flat_map(|level| level.deletes.clone()).chain(added).collect();
        if !all.is_empty() {
            self.levels.push(Arc::new(TombstoneTree::new(all)));
        }
    }
}

impl TombstoneTree {
    fn new(mut deletes: Vec<Arc<RangeTombstone>>) -> Self {
        deletes.sort_by_key(|delete| delete.sequence);
        let mut boundaries: Vec<&[u8]> = deletes.iter().flat_map(|delete| [&*delete.low, &*delete.high]).collect();
        boundaries.sort_unstable();
        boundaries.dedup();
        let mut nodes = vec![Vec::new(); 2 * boundaries.len()];
        for delete in &deletes {
            let segment = |key: &[u8]| boundaries.partition_point(|cut| *cut < key);
            record(&mut nodes, segment(&delete.low), segment(&delete.high), delete.sequence);
        }
        let boundaries: Vec<Box<[u8]>> = boundaries.into_iter().map(Box::from).collect();
        let bytes = memory_bytes(&deletes, &boundaries, &nodes);
        Self { deletes, boundaries, nodes, bytes }
    }

    fn newest_covering(&self, key: &[u8], snapshot: SequenceNumber) -> Option<SequenceNumber> {
        let piece = self.boundaries.partition_point(|cut| **cut <= *key).checked_sub(1)?;
        let leaf = piece + self.boundaries.len();
        let path = std::iter::successors(Some(leaf), |node| (*node > 1).then_some(node / 2));
        path.filter_map(|node| {
            let noted = &self.nodes[node];
            Some(noted[noted.partition_point(|&sequence| sequence <= snapshot).checked_sub(1)?])
        })
        .max()
    }
}

fn memory_bytes(deletes: &[Arc<RangeTombstone>], boundaries: &[Box<[u8]>], nodes: &[Vec<SequenceNumber>]) -> u64 {
    let deletes = deletes.iter().map(|delete| {
        size_of::<Arc<RangeTombstone>>()
            + 2 * size_of::<usize>()
            + size_of::<RangeTombstone>()
            + delete.low.len()
            + delete.high.len()
    });
    let boundaries = boundaries.iter().map(|cut| size_of::<Box<[u8]>>() + cut.len());
    let nodes =
        nodes.iter().map(|noted| size_of::<Vec<SequenceNumber>>() + noted.capacity() * size_of::<SequenceNumber>());
    (deletes.sum::<usize>() + boundaries.sum::<usize>() + nodes.sum::<usize>()) as u64
}

/// Records a sequence number at the nodes that cover the segments from `low` up to `high`.
fn record(nodes: &mut [Vec<SequenceNumber>], low: usize, high: usize, sequence: SequenceNumber) {
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
            look_ups in prop::collection::vec((key(), 0_u64..60), 50),
        ) {
            let mut deletes = RangeTombstones::default();
            let given: Vec<RangeTombstone> = ranges
                .into_iter()
                .map(|(low, high, sequence)| RangeTombstone { low: low.into(), high: high.into(), sequence })
                .collect();
            let (one_by_one, together) = given.split_at(together.index(given.len() + 1));
            one_by_one.iter().for_each(|delete| deletes.add(delete.clone()));
            if !together.is_empty() {
                deletes.extend(together);
            }
            prop_assert_eq!(deletes.is_empty(), given.iter().all(|delete| delete.low >= delete.high));
            for (key, snapshot) in look_ups {
                let over = given.iter().filter(|d| *d.low <= key[..] && key[..] < *d.high && d.sequence <= snapshot);
                let newest = over.map(|delete| delete.sequence).max();
                prop_assert_eq!(deletes.newest_covering(&key, snapshot), newest);
            }
        }
    }

    /// The pattern of a log that is trimmed from its beginning again and again.
    #[test]
    fn overlapping_tombstones_take_little_more_than_their_own_bytes() {
        let mut deletes = RangeTombstones::default();
        for number in 0..10_000_u32 {
            let high = Box::new(number.to_be_bytes());
            deletes.add(RangeTombstone { low: Box::default(), high, sequence: number.into() });
        }
        assert!(deletes.bytes() < 10_000 * 400, "{}", deletes.bytes());
        assert_eq!(deletes.iter().count(), 10_000);
        assert_eq!(deletes.newest_covering(&5_000_u32.to_be_bytes(), SequenceNumber::MAX), Some(9_999));
        assert_eq!(deletes.newest_covering(&5_000_u32.to_be_bytes(), 7_000), Some(7_000));
        assert_eq!(deletes.newest_covering(&5_000_u32.to_be_bytes(), 5_001), Some(5_001));
        assert_eq!(deletes.newest_covering(&5_000_u32.to_be_bytes(), 5_000), None);
    }
}
