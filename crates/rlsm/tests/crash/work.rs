//! Random work.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::support::Write;

#[derive(Debug)]
pub enum Step {
    Write(Vec<Write>),
    Sync,
    Flush,
    Compact,
    Settle,
    Snapshot,
    Release,
    Look,
    /// So many scans that the ranges are sorted.
    Scan,
}

/// Draws steps. Keys come from all over, from a narrow place for a while, and from places apart, so that
/// runs are divided, linked and moved down.
pub struct Work {
    place: Place,
    /// Counts values, so that no two are equal.
    written: u64,
    /// How many places apart there have been.
    places: u32,
    /// What comes before anything is drawn, the last first.
    next: Vec<Step>,
}

#[derive(Clone, Copy)]
enum Place {
    Anywhere,
    Near(u32),
    Apart(u32),
}

/// Keys are numbers below this, but for those in places of their own.
const KEYS: u32 = 400;

impl Work {
    pub fn new() -> Self {
        Self { place: Place::Anywhere, written: 0, places: 0, next: Vec::new() }
    }

    pub fn step(&mut self, chance: &mut Xoshiro256PlusPlus) -> Step {
        if let Some(step) = self.next.pop() {
            return step;
        }
        if chance.random_ratio(1, 12) {
            self.place = self.new_place(chance);
        }
        match chance.random_range(0..100) {
            0..50 => Step::Write(vec![self.write(chance)]),
            50..78 => Step::Write((0..chance.random_range(1..30)).map(|_| self.write(chance)).collect()),
            78..82 => Step::Sync,
            82..87 => Step::Flush,
            87..89 => Step::Compact,
            89..91 => Step::Settle,
            91..94 => Step::Snapshot,
            94..95 => Step::Release,
            95..96 => {
                self.next.push(Step::Settle);
                Step::Scan
            }
            _ => Step::Look,
        }
    }

    fn new_place(&mut self, chance: &mut Xoshiro256PlusPlus) -> Place {
        match chance.random_range(0..4) {
            0 | 1 => Place::Anywhere,
            2 => Place::Near(chance.random_range(0..KEYS)),
            _ => self.move_apart(chance),
        }
    }

    /// Fills a run with keys of a place behind all others, where it can be moved down.
    fn move_apart(&mut self, chance: &mut Xoshiro256PlusPlus) -> Place {
        self.places += 1;
        let place = Place::Apart(self.places);
        self.place = place;
        self.next.push(Step::Compact);
        for _ in 0..chance.random_range(1..40) {
            let write = self.write(chance);
            self.next.push(Step::Write(vec![write]));
        }
        self.next.push(Step::Compact);
        place
    }

    fn write(&mut self, chance: &mut Xoshiro256PlusPlus) -> Write {
        match chance.random_range(0..40) {
            0..32 => Write::Put(self.key(chance), self.value(chance)),
            32..39 => Write::Delete(self.key(chance)),
            _ => {
                let (one, other) = (self.key(chance), self.key(chance));
                let (low, mut high) = if one < other { (one, other) } else { (other, one) };
                high.push(b'~');
                Write::DeleteRange(low, high)
            }
        }
    }

    fn key(&self, chance: &mut Xoshiro256PlusPlus) -> Vec<u8> {
        match self.place {
            Place::Anywhere => format!("key{:05}", chance.random_range(0..KEYS)).into_bytes(),
            Place::Near(low) => format!("key{:05}", low + chance.random_range(0..10)).into_bytes(),
            Place::Apart(place) => format!("place{place:05}-{:03}", chance.random_range(0..20)).into_bytes(),
        }
    }

    fn value(&mut self, chance: &mut Xoshiro256PlusPlus) -> Vec<u8> {
        self.written += 1;
        let mut value = format!("{:08} ", self.written).into_bytes();
        value.resize(9 + chance.random_range(0..1200), self.written as u8);
        value
    }
}
