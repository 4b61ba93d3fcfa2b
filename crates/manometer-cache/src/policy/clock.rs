//! CLOCK: FIFO in which a requested object gets another round.

use super::queue::{QueueDiscipline, QueueEntries, QueuePolicy};
use super::{CacheConfig, PolicyKind, PolicyParameter};
use crate::arena::Slot;
use crate::request::RequestFields;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "clock",
    about: "first in, first out; objects requested meanwhile get another round",
    source: "Corbató, MIT Project MAC 1968",
    parameters: &[PolicyParameter {
        name: "bits",
        meaning: "bits of the hit counter; each extra round decrements it",
        default: 1.0,
        min: 1.0,
        max: 8.0,
        is_whole: true,
    }],
    details: RequestFields::NONE,
    create: by_weight!(Clock),
};

type Clock<W> = QueuePolicy<W, SecondChance>;

struct SecondChance {
    hits_max: u8,
}

impl QueueDiscipline for SecondChance {
    /// The remaining rounds that hits have earned.
    type Mark = u8;

    fn new(setting: &CacheConfig<'_>) -> Self {
        Self { hits_max: u8::MAX >> (8 - setting.parameters[0] as u32) }
    }

    fn on_hit<W: Weight>(&mut self, entries: &mut QueueEntries<u8, W>, slot: Slot) {
        let hits = entries.mark_mut(slot);
        *hits = hits.saturating_add(1).min(self.hits_max);
    }

    fn select_victim<W: Weight>(&mut self, entries: &mut QueueEntries<u8, W>) -> Option<Slot> {
        loop {
            let slot = entries.oldest()?;
            let hits = entries.mark_mut(slot);
            if *hits == 0 {
                return Some(slot);
            }
            *hits -= 1;
            entries.move_to_newest(slot);
        }
    }
}
