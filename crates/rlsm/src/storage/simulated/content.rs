//! The content of a file: the current one, and the durable one.

use std::collections::BTreeSet;
use std::ops::Range;

use super::rng::SeededRng;

/// The size of the pages in which the system writes a file back.
pub(super) const PAGE_BYTES: usize = 4096;

/// The content of a file.
///
/// A page is *dirty* from a change until the system writes it to the device. A failed sync leaves pages clean although
/// the device does not have them, as Linux does: later syncs do not write them.
#[derive(Debug, Default)]
pub(super) struct FileContent {
    current: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
    /// The shortest length since the length was synced: a crash leaves at least this much.
    shortest: usize,
}

impl FileContent {
    /// A file that is durable.
    pub fn durable(bytes: Vec<u8>) -> Self {
        Self { current: bytes.clone(), shortest: bytes.len(), durable: bytes, dirty: BTreeSet::new() }
    }

    pub fn current(&self) -> &[u8] {
        &self.current
    }

    pub fn append(&mut self, bytes: &[u8]) {
        let start = self.current.len();
        self.current.extend_from_slice(bytes);
        self.dirty.extend(pages(start..self.current.len()));
    }

    pub fn truncate(&mut self, len: usize) {
        let before = self.current.len();
        self.current.resize(len, 0);
        self.shortest = self.shortest.min(len);
        self.dirty.split_off(&len.div_ceil(PAGE_BYTES));
        self.dirty.extend(pages(before.min(len)..len));
    }

    pub fn punch(&mut self, offset: usize, len: usize) {
        let end = offset.saturating_add(len).min(self.current.len());
        let range = offset.min(end)..end;
        self.current[range.clone()].fill(0);
        self.dirty.extend(pages(range));
    }

    pub fn sync(&mut self) {
        self.durable.resize(self.current.len(), 0);
        for page in std::mem::take(&mut self.dirty) {
            let range = page_within(page, self.current.len());
            self.durable[range.clone()].copy_from_slice(&self.current[range]);
        }
        self.shortest = self.current.len();
    }

    /// Loses some of the dirty pages, at least the first.
    pub fn fail_to_sync(&mut self, rng: &mut SeededRng) {
        for page in std::mem::take(&mut self.dirty).into_iter().skip(1) {
            if !rng.one_in(4) {
                continue;
            }
            let range = page_within(page, self.current.len());
            self.durable.resize(self.durable.len().max(range.end), 0);
            self.durable[range.clone()].copy_from_slice(&self.current[range]);
        }
    }

    pub fn flip_bit(&mut self, offset: usize, bit: u8) -> bool {
        for bytes in [&mut self.current, &mut self.durable] {
            if let Some(byte) = bytes.get_mut(offset) {
                *byte ^= 1 << bit;
            }
        }
        offset < self.current.len()
    }

    /// The content on the device after a crash.
    pub fn after_crash(&self, rng: &mut SeededRng) -> Vec<u8> {
        match rng.between(0, 3) {
            0 => self.durable.clone(),
            1 => self.image_after_crash(self.current.len(), |_, _| PageFate::Written),
            2 => {
                let len = rng.between(self.shortest, self.current.len());
                self.image_after_crash(len, |_, _| PageFate::Written)
            }
            _ => {
                let len =
                    if rng.one_in(2) { self.current.len() } else { rng.between(self.shortest, self.current.len()) };
                self.image_after_crash(len, |_, bytes| match rng.between(0, 3) {
                    0 => PageFate::Lost,
                    1 => PageFate::Torn(rng.between(0, bytes)),
                    _ => PageFate::Written,
                })
            }
        }
    }

    fn image_after_crash(&self, len: usize, mut fate: impl FnMut(usize, usize) -> PageFate) -> Vec<u8> {
        let mut image = self.durable.clone();
        image.resize(len, 0);
        for page in self.dirty.iter().copied().take_while(|page| page * PAGE_BYTES < len) {
            let range = page_within(page, len);
            let written = match fate(page, range.len()) {
                PageFate::Written => range,
                PageFate::Torn(bytes) => range.start..range.start + bytes,
                PageFate::Lost => continue,
            };
            image[written.clone()].copy_from_slice(&self.current[written]);
        }
        image
    }
}

/// What a crash does to a dirty page.
enum PageFate {
    Written,
    Lost,
    /// This many bytes of it are written.
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
