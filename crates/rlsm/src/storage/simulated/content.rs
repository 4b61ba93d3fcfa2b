//! What is in a file, as a process sees it and as the device has it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::chance::Chance;

/// The system writes a file back in pages of this many bytes.
pub(super) const PAGE_BYTES: usize = 4096;

/// What is in a file.
///
/// A page is *dirty* from a change until the system writes it to the device. A sync that fails leaves the pages clean
/// although the device does not have them, as Linux does: later syncs do not write them.
#[derive(Debug, Default)]
pub(super) struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
    /// The shortest that the file has been since its length was synced: what a crash leaves is no shorter.
    shortest: usize,
}

impl Content {
    /// A file all of which is on the device.
    pub fn durable(bytes: Vec<u8>) -> Self {
        Self { seen: bytes.clone(), shortest: bytes.len(), durable: bytes, dirty: BTreeSet::new() }
    }

    pub fn seen(&self) -> &[u8] {
        &self.seen
    }

    pub fn append(&mut self, bytes: &[u8]) {
        let start = self.seen.len();
        self.seen.extend_from_slice(bytes);
        self.dirty.extend(pages(start..self.seen.len()));
    }

    pub fn truncate(&mut self, len: usize) {
        let before = self.seen.len();
        self.seen.resize(len, 0);
        self.shortest = self.shortest.min(len);
        self.dirty.split_off(&len.div_ceil(PAGE_BYTES));
        self.dirty.extend(pages(before.min(len)..len));
    }

    pub fn punch(&mut self, offset: usize, len: usize) {
        let end = offset.saturating_add(len).min(self.seen.len());
        let range = offset.min(end)..end;
        self.seen[range.clone()].fill(0);
        self.dirty.extend(pages(range));
    }

    pub fn sync(&mut self) {
        self.durable.resize(self.seen.len(), 0);
        for page in std::mem::take(&mut self.dirty) {
            let range = page_within(page, self.seen.len());
            self.durable[range.clone()].copy_from_slice(&self.seen[range]);
        }
        self.shortest = self.seen.len();
    }

    /// Loses some of the dirty pages, at least the first.
    pub fn fail_to_sync(&mut self, chance: &mut Chance) {
        for page in std::mem::take(&mut self.dirty).into_iter().skip(1) {
            if !chance.one_in(4) {
                continue;
            }
            let range = page_within(page, self.seen.len());
            self.durable.resize(self.durable.len().max(range.end), 0);
            self.durable[range.clone()].copy_from_slice(&self.seen[range]);
        }
    }

    pub fn flip_bit(&mut self, offset: usize, bit: u8) -> bool {
        for bytes in [&mut self.seen, &mut self.durable] {
            if let Some(byte) = bytes.get_mut(offset) {
                *byte ^= 1 << bit;
            }
        }
        offset < self.seen.len()
    }

    /// What the device has after a crash.
    pub fn survivor(&self, chance: &mut Chance) -> Vec<u8> {
        match chance.between(0, 3) {
            0 => self.durable.clone(),
            1 => self.survivor_of(self.seen.len(), |_, _| Fate::Written),
            2 => {
                let len = chance.between(self.shortest, self.seen.len());
                self.survivor_of(len, |_, _| Fate::Written)
            }
            _ => {
                let len =
                    if chance.one_in(2) { self.seen.len() } else { chance.between(self.shortest, self.seen.len()) };
                self.survivor_of(len, |_, bytes| match chance.between(0, 3) {
                    0 => Fate::Lost,
                    1 => Fate::Torn(chance.between(0, bytes)),
                    _ => Fate::Written,
                })
            }
        }
    }

    fn survivor_of(&self, len: usize, mut fate: impl FnMut(usize, usize) -> Fate) -> Vec<u8> {
        let mut image = self.durable.clone();
        image.resize(len, 0);
        for page in self.dirty.iter().copied().take_while(|page| page * PAGE_BYTES < len) {
            let range = page_within(page, len);
            let written = match fate(page, range.len()) {
                Fate::Written => range,
                Fate::Torn(bytes) => range.start..range.start + bytes,
                Fate::Lost => continue,
            };
            image[written.clone()].copy_from_slice(&self.seen[written]);
        }
        image
    }
}

/// What a crash does to a dirty page.
enum Fate {
    Written,
    Lost,
    /// So many bytes of it are written.
    Torn(usize),
}

fn pages(bytes: Range<usize>) -> Range<usize> {
    if bytes.is_empty() {
        return 0..0;
    }
    bytes.start / PAGE_BYTES..bytes.end.div_ceil(PAGE_BYTES)
}

fn page_within(page: usize, len: usize) -> Range<usize> {
    page * PAGE_BYTES..len.min((page + 1) * PAGE_BYTES)
}
