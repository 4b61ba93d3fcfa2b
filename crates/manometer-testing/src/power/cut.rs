//! Power cuts of a recorded device.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::recording::{Entry, Kind, Marker, Recording};

/// What happens to the writes since the last flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnflushedFate {
    /// All were done; the last one is torn.
    Done,
    /// None was done.
    Lost,
    /// Each was done, lost, or torn.
    Any,
}

/// A power cut.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// The number of recorded entries before the cut.
    pub after: usize,
    /// What happens to the writes since the last flush.
    pub fate: UnflushedFate,
    /// Chooses these writes and sectors.
    pub seed: u64,
}

/// A device that is replayed from cut to cut.
pub struct Replay<'a> {
    entries: &'a [Entry],
    /// What is durable on the device, and the number of entries that led to it.
    image: Vec<u8>,
    flushed: usize,
    /// What was acknowledged last before these entries.
    acknowledged: u64,
}

impl<'a> Replay<'a> {
    /// Starts with the image of the recording's start, and the number of what was acknowledged last in it.
    pub fn new(recording: &'a Recording, image: Vec<u8>, acknowledged: u64) -> Self {
        Self { entries: &recording.entries, image, flushed: 0, acknowledged }
    }

    /// The device after a cut, and the number of what was acknowledged last before. Cuts must come in order.
    pub fn cut(&mut self, cut: &Cut) -> (Vec<u8>, u64) {
        self.go_to(cut.after);
        let mut image = self.image.clone();
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(cut.seed);
        let open = &self.entries[self.flushed..cut.after];
        for (index, entry) in open.iter().enumerate() {
            match (entry.kind, cut.fate) {
                (Kind::Fua, _) => apply(entry, &mut image),
                (_, UnflushedFate::Done) if index + 1 < open.len() => apply(entry, &mut image),
                (_, UnflushedFate::Done) => tear(entry, &mut image, &mut chance),
                (_, UnflushedFate::Lost) => {}
                (_, UnflushedFate::Any) => match chance.random_range(0..3) {
                    0 => apply(entry, &mut image),
                    1 => tear(entry, &mut image, &mut chance),
                    _ => {}
                },
            }
        }
        // A FUA write that was under way.
        if let Some(entry) = self.entries.get(cut.after).filter(|entry| entry.kind == Kind::Fua) {
            tear(entry, &mut image, &mut chance);
        }
        (image, self.acknowledged_at(cut.after))
    }

    /// Applies all entries up to the last flush before `after`.
    fn go_to(&mut self, after: usize) {
        let flushes = |entry: &Entry| entry.kind == Kind::Flush;
        let Some(last) = self.entries[self.flushed..after].iter().rposition(flushes) else { return };
        let end = self.flushed + last + 1;
        for entry in &self.entries[self.flushed..end] {
            apply(entry, &mut self.image);
            if let Some(Marker::Acknowledged(number)) = entry.marker {
                self.acknowledged = number;
            }
        }
        self.flushed = end;
    }

    /// A plain write is recorded with the flush that follows it, after all FUA writes that completed before. So what
    /// is acknowledged was so before the plain writes of its flush begin, and counts for a cut among them.
    fn acknowledged_at(&self, after: usize) -> u64 {
        let rest = &self.entries[self.flushed..];
        let open = &rest[..rest.iter().position(|entry| entry.kind == Kind::Flush).unwrap_or(rest.len())];
        let through = open.iter().rposition(|entry| entry.kind == Kind::Fua).map_or(0, |last| last + 1);
        let newest = open.iter().rev().find_map(|entry| match entry.marker {
            Some(Marker::Acknowledged(number)) => Some(number),
            _ => None,
        });
        newest.filter(|_| self.flushed + through <= after).unwrap_or(self.acknowledged)
    }
}

fn apply(entry: &Entry, image: &mut [u8]) {
    image[entry.offset as usize..][..entry.data.len()].copy_from_slice(&entry.data);
}

/// Applies random parts of an entry.
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
        Entry { kind, offset: sector * 512, data: vec![byte; sectors * 512], atom_bytes: 512, marker: None }
    }

    fn acknowledgement(number: u64) -> Entry {
        Entry { marker: Some(Marker::Acknowledged(number)), ..write(Kind::Plain, 4, 1, b'!') }
    }

    fn flush() -> Entry {
        write(Kind::Flush, 0, 0, 0)
    }

    /// The first byte of each sector written below, over many cuts, and the number of acknowledged batches.
    fn cuts(after: usize, fate: UnflushedFate) -> (BTreeSet<[u8; 4]>, u64) {
        let recording = Recording {
            entries: vec![
                write(Kind::Plain, 0, 1, b'a'),
                acknowledgement(1),
                flush(),
                write(Kind::Fua, 1, 1, b'b'),
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
    fn flushed_writes_are_durable_and_others_survive_in_part() {
        assert_eq!(cuts(0, UnflushedFate::Any), (all(&[b"----"]), 1));
        assert_eq!(cuts(1, UnflushedFate::Any), (all(&[b"----", b"a---"]), 1));
        assert_eq!(cuts(2, UnflushedFate::Lost), (all(&[b"----"]), 1));
        assert_eq!(cuts(2, UnflushedFate::Done), (all(&[b"a---"]), 1));
        // Under way, and complete.
        assert_eq!(cuts(3, UnflushedFate::Any), (all(&[b"a---", b"ab--"]), 1));
        assert_eq!(cuts(4, UnflushedFate::Lost), (all(&[b"ab--"]), 2));
        assert_eq!(cuts(5, UnflushedFate::Done), (all(&[b"ab--", b"abc-", b"ab-c", b"abcc"]), 2));
        assert_eq!(cuts(6, UnflushedFate::Any), (all(&[b"ab--", b"abc-", b"ab-c", b"abcc"]), 2));
        assert_eq!(cuts(6, UnflushedFate::Done), (all(&[b"abcc"]), 2));
        assert_eq!(cuts(7, UnflushedFate::Lost), (all(&[b"abcc"]), 2));
    }
}
