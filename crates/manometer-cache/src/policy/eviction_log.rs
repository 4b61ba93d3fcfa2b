//! A log of evicted objects, for users that keep state per cached object.

use crate::key_id::KeyId;

/// The objects that left a cache, if recorded.
#[derive(Debug, Default)]
pub struct EvictionLog(Option<Vec<KeyId>>);

impl EvictionLog {
    /// Starts recording.
    pub fn enable(&mut self) {
        self.0.get_or_insert_default();
    }

    /// Records that an object has left.
    #[inline]
    pub fn record(&mut self, id: KeyId) {
        if self.0.is_some() {
            self.push(id);
        }
    }

    /// A separate function, which keeps policies without recording as small as before.
    #[cold]
    fn push(&mut self, id: KeyId) {
        self.0.get_or_insert_default().push(id);
    }

    /// Moves the recorded objects to the end of `into`.
    pub fn drain_into(&mut self, into: &mut Vec<KeyId>) {
        if let Some(ids) = &mut self.0 {
            into.append(ids);
        }
    }
}
