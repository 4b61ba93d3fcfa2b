//! SIEVE: a hand moves from the oldest to the newest object, spares objects requested since it passed, and evicts the
//! first other. Objects never move.

use super::queue::{QueueDiscipline, QueueEntries, QueuePolicy};
use super::{CacheConfig, PolicyKind};
use crate::arena::Slot;
use crate::request::RequestFields;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "sieve",
    about: "a hand moves from old to new objects and evicts the first not requested since it passed",
    source: "Zhang et al., NSDI 2024",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Sieve),
};

type Sieve<W> = QueuePolicy<W, ClockHand>;

/// The object that the hand visits next; `None` for the oldest.
struct ClockHand(Option<Slot>);

impl QueueDiscipline for ClockHand {
    /// Whether the object was requested since the hand passed.
    type Mark = bool;

    fn new(_: &CacheConfig<'_>) -> Self {
        Self(None)
    }

    fn on_hit<W: Weight>(&mut self, entries: &mut QueueEntries<bool, W>, slot: Slot) {
        *entries.mark_mut(slot) = true;
    }

    fn select_victim<W: Weight>(&mut self, entries: &mut QueueEntries<bool, W>) -> Option<Slot> {
        loop {
            let slot = self.0.or(entries.oldest())?;
            self.0 = entries.newer(slot);
            if !std::mem::replace(entries.mark_mut(slot), false) {
                return Some(slot);
            }
        }
    }

    fn on_removal<W: Weight>(&mut self, entries: &QueueEntries<bool, W>, slot: Slot) {
        if self.0 == Some(slot) {
            self.0 = entries.newer(slot);
        }
    }
}
