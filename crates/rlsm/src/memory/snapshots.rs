//! Which past states of the database someone still looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::entry::Sequence;
use crate::error::{Error, Result};

/// The sequences of all live snapshots, each with how many share it.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    live: Mutex<BTreeMap<Sequence, usize>>,
}

impl Snapshots {
    /// Takes a snapshot at what `current` says is the last visible sequence. It is asked where
    /// [`Snapshots::oldest`] cannot come between.
    pub fn take(self: &Arc<Self>, current: impl FnOnce() -> Sequence) -> Snapshot {
        let mut live = self.live.lock();
        let sequence = current();
        *live.entry(sequence).or_default() += 1;
        Snapshot { sequence, snapshots: Arc::clone(self) }
    }

    /// The oldest sequence that someone looks at or, as `current` does not fall, will look at: of the versions that it
    /// sees, none but the newest of each key is needed.
    pub fn oldest(&self, current: impl FnOnce() -> Sequence) -> Sequence {
        let live = self.live.lock();
        let current = current();
        live.first_key_value().map_or(current, |(&oldest, _)| oldest.min(current))
    }

    /// Fails unless `snapshot` was taken here: what it sees may not have been kept.
    pub fn check(self: &Arc<Self>, snapshot: &Snapshot) -> Result<()> {
        if Arc::ptr_eq(self, &snapshot.snapshots) {
            return Ok(());
        }
        let what = "the snapshot is of another database, or of before this one was opened; take one of this one";
        Err(Error::Invalid { what: what.to_owned() })
    }

    /// How many snapshots there are.
    pub fn len(&self) -> usize {
        self.live.lock().values().sum()
    }

    fn release(&self, sequence: Sequence) {
        let mut live = self.live.lock();
        if let Some(count) = live.get_mut(&sequence) {
            *count -= 1;
            if *count == 0 {
                live.remove(&sequence);
            }
        }
    }
}

/// The database as it was when this was taken: what is written later is not seen through it. While it lives, what it
/// sees is kept.
///
/// It may outlive its database, but only that one, open since, can be read through it: another one, or the same one
/// opened again, knows nothing of it and refuses it.
#[derive(Debug)]
pub struct Snapshot {
    sequence: Sequence,
    snapshots: Arc<Snapshots>,
}

impl Snapshot {
    /// The last write that it sees.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
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
            let snapshots = Arc::new(Snapshots::default());
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
