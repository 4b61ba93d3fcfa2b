//! Random workloads.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Write;

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
    /// As many scans as it takes until ranges are sorted.
    Scan,
}

/// Draws steps. Keys come from the whole key space, from a narrow region for a while, or from disjoint regions, so that
/// runs are distributed, linked and moved trivially.
pub struct Workload {
    region: KeyRegion,
    /// Counts values, so that no two are equal.
    written: u64,
    /// The number of disjoint regions so far.
    regions: u32,
    /// Steps that come before the next drawn one, the last first.
    next: Vec<Step>,
}

#[derive(Clone, Copy)]
enum KeyRegion {
    Anywhere,
    Near(u32),
    Disjoint(u32),
}

/// Keys are numbers below this, except in disjoint regions.
const KEYS: u32 = 400;

impl Workload {
    pub fn new() -> Self {
        Self { region: KeyRegion::Anywhere, written: 0, regions: 0, next: Vec::new() }
    }

    pub fn step(&mut self, chance: &mut Xoshiro256PlusPlus) -> Step {
        if let Some(step) = self.next.pop() {
            return step;
        }
        if chance.random_ratio(1, 12) {
            self.region = self.new_region(chance);
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

    fn new_region(&mut self, chance: &mut Xoshiro256PlusPlus) -> KeyRegion {
        match chance.random_range(0..4) {
            0 | 1 => KeyRegion::Anywhere,
            2 => KeyRegion::Near(chance.random_range(0..KEYS)),
            _ => self.open_region(chance),
        }
    }

    /// Fills a run with keys of a region after all others, where it can be moved trivially.
    fn open_region(&mut self, chance: &mut Xoshiro256PlusPlus) -> KeyRegion {
        self.regions += 1;
        let region = KeyRegion::Disjoint(self.regions);
        self.region = region;
        self.next.push(Step::Compact);
        for _ in 0..chance.random_range(1..40) {
            let write = self.write(chance);
            self.next.push(Step::Write(vec![write]));
        }
        self.next.push(Step::Compact);
        region
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
        match self.region {
            KeyRegion::Anywhere => format!("key{:05}", chance.random_range(0..KEYS)).into_bytes(),
            KeyRegion::Near(low) => format!("key{:05}", low + chance.random_range(0..10)).into_bytes(),
            KeyRegion::Disjoint(region) => format!("place{region:05}-{:03}", chance.random_range(0..20)).into_bytes(),
        }
    }

    fn value(&mut self, chance: &mut Xoshiro256PlusPlus) -> Vec<u8> {
        self.written += 1;
        let mut value = format!("{:08} ", self.written).into_bytes();
        value.resize(9 + chance.random_range(0..1200), self.written as u8);
        value
    }
}
