//! Snapshots: the past states that readers still use.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::entry::SequenceNumber;
use crate::error::{Error, Result};

/// The sequence numbers of all live snapshots, with the number of snapshots at each.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    live: Mutex<BTreeMap<SequenceNumber, usize>>,
}

impl SnapshotList {
    /// Takes a snapshot at `current`, the last visible sequence number. `current` is called under the lock, so that
    /// [`SnapshotList::oldest`] cannot come between.
    pub fn take(self: &Arc<Self>, current: impl FnOnce() -> SequenceNumber) -> Snapshot {
        let mut live = self.live.lock();
        let sequence = current();
        *live.entry(sequence).or_default() += 1;
        Snapshot { sequence, snapshots: Arc::clone(self) }
    }

    /// The oldest sequence number that a reader uses or, since `current` never decreases, will use. Of the versions
    /// that it sees, only the newest of each key is needed.
    pub fn oldest(&self, current: impl FnOnce() -> SequenceNumber) -> SequenceNumber {
        let live = self.live.lock();
        let current = current();
        live.first_key_value().map_or(current, |(&oldest, _)| oldest.min(current))
    }

    /// Fails if `snapshot` is not of this list: what it sees may be gone.
    pub fn check(self: &Arc<Self>, snapshot: &Snapshot) -> Result<()> {
        if Arc::ptr_eq(self, &snapshot.snapshots) {
            return Ok(());
        }
        let problem = "the snapshot belongs to another database or to an earlier opening of this one; take one with `Database::snapshot`";
        Err(Error::Invalid { problem: problem.to_owned() })
    }

    /// The number of snapshots.
    pub fn len(&self) -> usize {
        self.live.lock().values().sum()
    }

    fn release(&self, sequence: SequenceNumber) {
        let mut live = self.live.lock();
        if let Some(count) = live.get_mut(&sequence) {
            *count -= 1;
            if *count == 0 {
                live.remove(&sequence);
            }
        }
    }
}

/// A snapshot: reads through it see the database as it was when the snapshot was taken. The versions that it sees are
/// retained while it lives.
///
/// It may outlive its database, but only the [`Database`](crate::Database) value that it was taken from accepts it:
/// another database, or the same one opened again, refuses it.
#[derive(Debug)]
pub struct Snapshot {
    sequence: SequenceNumber,
    snapshots: Arc<SnapshotList>,
}

impl Snapshot {
    /// The sequence number of the last write that it sees.
    #[must_use]
    pub fn sequence(&self) -> SequenceNumber {
        self.sequence
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        self.snapshots.take(|| self.sequence)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.snapshots.release(self.sequence);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_oldest_is_the_least_that_lives(steps in prop::collection::vec((0_u8..4, 0_usize..16), 0..200)) {
            let snapshots = Arc::new(SnapshotList::default());
            let mut held: Vec<Snapshot> = Vec::new();
            let mut current = 0;
            for (step, which) in steps {
                match step {
                    0 => current += 1,
                    1 => held.push(snapshots.take(|| current)),
                    2 if !held.is_empty() => drop(held.swap_remove(which % held.len())),
                    3 if !held.is_empty() => held.push(held[which % held.len()].clone()),
                    _ => {}
                }
                let least = held.iter().map(Snapshot::sequence).min().unwrap_or(current);
                prop_assert_eq!(snapshots.oldest(|| current), least);
                prop_assert_eq!(snapshots.len(), held.len());
            }
            drop(held);
            prop_assert_eq!(snapshots.len(), 0);
            prop_assert!(snapshots.live.lock().is_empty());
        }
    }
}
