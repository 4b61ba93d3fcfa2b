//! Power cuts of a recorded device.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::recording::{Entry, Kind, Recording, Told};

/// What becomes of the writes that no flush has followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// All were done, but for the last, which is torn.
    Done,
    /// None was.
    Lost,
    /// Each was done, lost, or torn.
    Any,
}

#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// How many entries of the recording came before it.
    pub after: usize,
    pub fate: Fate,
    /// Chooses which writes and which sectors those are.
    pub seed: u64,
}

/// A device that is replayed from cut to cut.
pub struct Replay<'a> {
    entries: &'a [Entry],
    /// What is on the device whatever happens, and the entries that have come to it.
    image: Vec<u8>,
    flushed: usize,
    /// The last batch that was acknowledged before those entries were all.
    acknowledged: u64,
}

impl<'a> Replay<'a> {
    /// Begins with the image that the recording began with, and the number of the last batch in that.
    pub fn new(recording: &'a Recording, image: Vec<u8>, acknowledged: u64) -> Self {
        Self { entries: &recording.entries, image, flushed: 0, acknowledged }
    }

    /// The device as a cut leaves it, and the number of the last batch that was acknowledged until then. No cut may
    /// come after a later one.
    pub fn cut(&mut self, cut: &Cut) -> (Vec<u8>, u64) {
        self.go_to(cut.after);
        let mut image = self.image.clone();
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(cut.seed);
        let open = &self.entries[self.flushed..cut.after];
        for (index, entry) in open.iter().enumerate() {
            match (entry.kind, cut.fate) {
                (Kind::Through, _) => apply(entry, &mut image),
                (_, Fate::Done) if index + 1 < open.len() => apply(entry, &mut image),
                (_, Fate::Done) => tear(entry, &mut image, &mut chance),
                (_, Fate::Lost) => {}
                (_, Fate::Any) => match chance.random_range(0..3) {
                    0 => apply(entry, &mut image),
                    1 => tear(entry, &mut image, &mut chance),
                    _ => {}
                },
            }
        }
        // One that would have been on the device with its answer, which it has not got.
        if let Some(entry) = self.entries.get(cut.after).filter(|entry| entry.kind == Kind::Through) {
            tear(entry, &mut image, &mut chance);
        }
        (image, self.acknowledged_at(cut.after))
    }

    /// Takes in what the last flush before `after` has put on the device for good.
    fn go_to(&mut self, after: usize) {
        let flushes = |entry: &Entry| entry.kind == Kind::Flush;
        let Some(last) = self.entries[self.flushed..after].iter().rposition(flushes) else { return };
        let end = self.flushed + last + 1;
        for entry in &self.entries[self.flushed..end] {
            apply(entry, &mut self.image);
            if let Some(Told::Acknowledged(number)) = entry.told {
                self.acknowledged = number;
            }
        }
        self.flushed = end;
    }

    /// A plain write is recorded with the flush that follows it, behind all writes through the cache that were answered
    /// before. So a batch was acknowledged before the plain writes of its flush begin, and counts for a cut among them.
    fn acknowledged_at(&self, after: usize) -> u64 {
        let rest = &self.entries[self.flushed..];
        let open = &rest[..rest.iter().position(|entry| entry.kind == Kind::Flush).unwrap_or(rest.len())];
        let through = open.iter().rposition(|entry| entry.kind == Kind::Through).map_or(0, |last| last + 1);
        let newest = open.iter().rev().find_map(|entry| match entry.told {
            Some(Told::Acknowledged(number)) => Some(number),
            _ => None,
        });
        newest.filter(|_| self.flushed + through <= after).unwrap_or(self.acknowledged)
    }
}

fn apply(entry: &Entry, image: &mut [u8]) {
    image[entry.offset as usize..][..entry.data.len()].copy_from_slice(&entry.data);
}

/// Applies any parts of an entry.
fn tear(entry: &Entry, image: &mut [u8], chance: &mut Xoshiro256PlusPlus) {
    for (index, atom) in entry.data.chunks(entry.atom_bytes).enumerate() {
        if chance.random() {
            image[entry.offset as usize + index * entry.atom_bytes..][..atom.len()].copy_from_slice(atom);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    fn write(kind: Kind, sector: u64, sectors: usize, byte: u8) -> Entry {
        Entry { kind, offset: sector * 512, data: vec![byte; sectors * 512], atom_bytes: 512, told: None }
    }

    fn acknowledgement(number: u64) -> Entry {
        Entry { told: Some(Told::Acknowledged(number)), ..write(Kind::Plain, 4, 1, b'!') }
    }

    fn flush() -> Entry {
        write(Kind::Flush, 0, 0, 0)
    }

    /// The first byte of each of the sectors that the entries below write, over many cuts, and what was acknowledged.
    fn cuts(after: usize, fate: Fate) -> (BTreeSet<[u8; 4]>, u64) {
        let recording = Recording {
            entries: vec![
                write(Kind::Plain, 0, 1, b'a'),
                acknowledgement(1),
                flush(),
                write(Kind::Through, 1, 1, b'b'),
                write(Kind::Plain, 2, 2, b'c'),
                acknowledgement(2),
                flush(),
            ],
        };
        let mut acknowledged = 0;
        let images = (0..100).map(|seed| {
            let (image, number) = Replay::new(&recording, vec![b'-'; 5 * 512], 0).cut(&Cut { after, fate, seed });
            acknowledged = number;
            [0, 512, 1024, 1536].map(|at| image[at])
        });
        (images.collect(), acknowledged)
    }

    fn all(states: &[&[u8; 4]]) -> BTreeSet<[u8; 4]> {
        states.iter().map(|state| **state).collect()
    }

    #[test]
    fn what_a_flush_has_followed_is_kept_and_the_rest_in_any_part() {
        assert_eq!(cuts(0, Fate::Any), (all(&[b"----"]), 1));
        assert_eq!(cuts(1, Fate::Any), (all(&[b"----", b"a---"]), 1));
        assert_eq!(cuts(2, Fate::Lost), (all(&[b"----"]), 1));
        assert_eq!(cuts(2, Fate::Done), (all(&[b"a---"]), 1));
        // On its way to the device, and there.
        assert_eq!(cuts(3, Fate::Any), (all(&[b"a---", b"ab--"]), 1));
        assert_eq!(cuts(4, Fate::Lost), (all(&[b"ab--"]), 2));
        assert_eq!(cuts(5, Fate::Done), (all(&[b"ab--", b"abc-", b"ab-c", b"abcc"]), 2));
        assert_eq!(cuts(6, Fate::Any), (all(&[b"ab--", b"abc-", b"ab-c", b"abcc"]), 2));
        assert_eq!(cuts(6, Fate::Done), (all(&[b"abcc"]), 2));
        assert_eq!(cuts(7, Fate::Lost), (all(&[b"abcc"]), 2));
    }
}
