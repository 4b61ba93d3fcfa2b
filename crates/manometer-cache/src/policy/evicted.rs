//! Which objects left a cache: whoever keeps something for each of them has to know.

use crate::number::Id;

/// The objects that left a cache, once they are to be told.
#[derive(Debug, Default)]
pub struct Evicted(Option<Vec<Id>>);

impl Evicted {
    /// Notes objects from now on.
    pub fn tell(&mut self) {
        self.0.get_or_insert_default();
    }

    /// An object has left.
    #[inline]
    pub fn note(&mut self, id: Id) {
        if self.0.is_some() {
            self.keep(id);
        }
    }

    /// Apart, so that policies whose evictions nobody asks for stay as small as without it.
    #[cold]
    fn keep(&mut self, id: Id) {
        self.0.get_or_insert_default().push(id);
    }

    /// Moves what was noted to the end of `into`.
    pub fn take(&mut self, into: &mut Vec<Id>) {
        if let Some(ids) = &mut self.0 {
            into.append(ids);
        }
    }
}
