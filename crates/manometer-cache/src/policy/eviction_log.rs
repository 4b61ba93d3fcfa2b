//! Which objects left a cache: whoever keeps something for each of them has to know.

use crate::key_id::KeyId;

/// The objects that left a cache, once somebody wants to know.
#[derive(Debug, Default)]
pub struct EvictionLog(Option<Vec<KeyId>>);

impl EvictionLog {
    /// Notes objects from now on.
    pub fn enable(&mut self) {
        self.0.get_or_insert_default();
    }

    /// An object has left.
    #[inline]
    pub fn record(&mut self, id: KeyId) {
        if self.0.is_some() {
            self.push(id);
        }
    }

    /// Apart, so that policies whose evictions nobody wants stay as small as without it.
    #[cold]
    fn push(&mut self, id: KeyId) {
        self.0.get_or_insert_default().push(id);
    }

    /// Moves what was noted to the end of `into`.
    pub fn drain_into(&mut self, into: &mut Vec<KeyId>) {
        if let Some(ids) = &mut self.0 {
            into.append(ids);
        }
    }
}
