//! Least recently used: evicts the object whose last request is the oldest.

use super::queue::{QueueDiscipline, QueueEntries, QueuePolicy};
use super::{CacheConfig, PolicyKind};
use crate::arena::Slot;
use crate::request::RequestFields;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "lru",
    about: "evicts the least recently used object",
    source: "Mattson et al., IBM Systems Journal 1970; cache thesis 3.2",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Lru),
};

type Lru<W> = QueuePolicy<W, RecencyOrder>;

struct RecencyOrder;

impl QueueDiscipline for RecencyOrder {
    type Mark = ();

    fn new(_: &CacheConfig<'_>) -> Self {
        Self
    }

    fn on_hit<W: Weight>(&mut self, entries: &mut QueueEntries<(), W>, slot: Slot) {
        entries.move_to_newest(slot);
    }
}
