//! Most recently used: evicts the object requested last, which suits loops longer than the cache.

use super::queue::{QueueDiscipline, QueueEntries, QueuePolicy};
use super::{CacheConfig, PolicyKind};
use crate::arena::Slot;
use crate::request::RequestFields;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "mru",
    about: "evicts the most recently used object",
    source: "Chou and DeWitt, VLDB 1985",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Mru),
};

type Mru<W> = QueuePolicy<W, ReverseRecencyOrder>;

struct ReverseRecencyOrder;

impl QueueDiscipline for ReverseRecencyOrder {
    type Mark = ();

    fn new(_: &CacheConfig<'_>) -> Self {
        Self
    }

    fn on_hit<W: Weight>(&mut self, entries: &mut QueueEntries<(), W>, slot: Slot) {
        entries.move_to_newest(slot);
    }

    fn select_victim<W: Weight>(&mut self, entries: &mut QueueEntries<(), W>) -> Option<Slot> {
        entries.newest()
    }
}
