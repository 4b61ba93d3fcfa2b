//! CLOCK: FIFO in which what was requested meanwhile gets another round.

use super::queue::{Order, Queue, Row};
use super::{Kind, Parameter, Setting, by_weight};
use crate::arena::Slot;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "clock",
    about: "first in, first out, but what was requested meanwhile gets another round",
    source: "Corbató, MIT Project MAC 1968",
    parameters: &[Parameter {
        name: "bits",
        meaning: "bits of the counter of hits; each round that an object is spared takes one hit off",
        default: 1.0,
        min: 1.0,
        max: 8.0,
        is_whole: true,
    }],
    details: Details::NONE,
    make: by_weight!(Clock),
};

type Clock<W> = Queue<W, Rounds>;

struct Rounds {
    hits_max: u8,
}

impl Order for Rounds {
    /// Hits that still spare the object a round each.
    type Mark = u8;

    fn new(setting: &Setting<'_>) -> Self {
        Self { hits_max: u8::MAX >> (8 - setting.parameters[0] as u32) }
    }

    fn hit<W: Weight>(&mut self, row: &mut Row<u8, W>, slot: Slot) {
        let hits = row.mark_mut(slot);
        *hits = hits.saturating_add(1).min(self.hits_max);
    }

    fn victim<W: Weight>(&mut self, row: &mut Row<u8, W>) -> Option<Slot> {
        loop {
            let slot = row.oldest()?;
            let hits = row.mark_mut(slot);
            if *hits == 0 {
                return Some(slot);
            }
            *hits -= 1;
            row.renew(slot);
        }
    }
}
