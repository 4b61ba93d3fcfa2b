//! The flash translation layer of an SSD: page mapping, writes in order into open blocks, and greedy garbage collection
//! of the full block with the fewest valid pages.

/// The size of a page in bytes.
pub const PAGE: u64 = 4096;
/// Pages per block.
const BLOCK_PAGES: u32 = 256;
/// Blocks kept free for garbage collection.
const FREE_MIN: usize = 3;
/// The value of an unmapped entry: 0, so that tables of unwritten pages take no memory. Other entries are stored plus
/// one.
const NONE: u32 = 0;

/// Flash pages and their mapping.
#[derive(Debug)]
pub struct Flash {
    /// The physical page of each logical page, plus one.
    places: Vec<u32>,
    /// The logical page of each physical page, plus one.
    pages: Vec<u32>,
    valid: Vec<u16>,
    is_full: Vec<bool>,
    free: Vec<u32>,
    /// The open blocks, for host writes and for garbage collection.
    open: [OpenBlock; 2],
    /// Pages written by the host.
    written: u64,
    /// Pages moved by garbage collection.
    moved: u64,
    erased: u64,
}

#[derive(Debug, Clone, Copy)]
struct OpenBlock {
    block: u32,
    filled: u32,
}

const HOST: usize = 0;
const CLEANER: usize = 1;

impl Flash {
    /// Flash for `capacity` bytes, with the share `spare` as overprovisioning.
    pub fn new(capacity: u64, spare: f64) -> Self {
        let logical = capacity.div_ceil(PAGE) as usize;
        let blocks = (logical as f64 * (1.0 + spare) / f64::from(BLOCK_PAGES)).ceil() as usize + FREE_MIN + 2;
        let open = [0, 1].map(|block| OpenBlock { block, filled: 0 });
        Self {
            places: vec![NONE; logical],
            pages: vec![NONE; blocks * BLOCK_PAGES as usize],
            valid: vec![0; blocks],
            is_full: vec![false; blocks],
            free: (2..blocks as u32).rev().collect(),
            open,
            written: 0,
            moved: 0,
            erased: 0,
        }
    }

    /// Writes the pages that a request touches. Returns the number of flash pages written, including moved ones.
    pub fn write(&mut self, offset: u64, bytes: u64) -> u64 {
        let moved = self.moved;
        let end = (offset + bytes).div_ceil(PAGE).min(self.places.len() as u64) as u32;
        let mut page = (offset / PAGE).min(u64::from(end)) as u32;
        let count = u64::from(end - page);
        while page < end {
            page += self.put_run(page, end);
        }
        self.written += count;
        count + self.moved - moved
    }

    /// Discards the whole pages within a range.
    pub fn trim(&mut self, offset: u64, bytes: u64) {
        for page in offset.div_ceil(PAGE)..((offset + bytes) / PAGE).min(self.places.len() as u64) {
            self.invalidate(page as u32);
        }
    }

    /// Pages written by the host, pages written in total, and blocks erased.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.written, self.written + self.moved, self.erased)
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.valid.len() as u64
    }

    fn invalidate(&mut self, page: u32) {
        let noted = std::mem::replace(&mut self.places[page as usize], NONE);
        if let Some(place) = noted.checked_sub(1) {
            self.pages[place as usize] = NONE;
            self.valid[(place / BLOCK_PAGES) as usize] -= 1;
        }
    }

    /// Writes pages from `page` to `end` exclusive into the host's open block, as many as fit. Returns their number.
    fn put_run(&mut self, page: u32, end: u32) -> u32 {
        self.invalidate(page);
        if self.open[HOST].filled == BLOCK_PAGES {
            self.reopen(HOST);
        }
        let OpenBlock { block, filled } = &mut self.open[HOST];
        let count = (end - page).min(BLOCK_PAGES - *filled);
        let to = *block * BLOCK_PAGES + *filled;
        *filled += count;
        self.valid[*block as usize] += count as u16;
        for (place, new) in self.places[page as usize..(page + count) as usize].iter_mut().zip(to + 1..) {
            let noted = std::mem::replace(place, new);
            if let Some(old) = noted.checked_sub(1) {
                self.pages[old as usize] = NONE;
                self.valid[(old / BLOCK_PAGES) as usize] -= 1;
            }
        }
        let pages = &mut self.pages[to as usize..(to + count) as usize];
        pages.iter_mut().zip(page + 1..).for_each(|(at, page)| *at = page);
        count
    }

    fn put(&mut self, page: u32, by: usize) {
        self.invalidate(page);
        if self.open[by].filled == BLOCK_PAGES {
            self.reopen(by);
        }
        let OpenBlock { block, filled } = &mut self.open[by];
        let place = *block * BLOCK_PAGES + *filled;
        *filled += 1;
        self.places[page as usize] = place + 1;
        self.pages[place as usize] = page + 1;
        self.valid[(place / BLOCK_PAGES) as usize] += 1;
    }

    fn reopen(&mut self, by: usize) {
        self.is_full[self.open[by].block as usize] = true;
        if by == HOST {
            while self.free.len() < FREE_MIN {
                self.clean();
            }
        }
        // Garbage collection frees a block for each that it fills, so that one is always free.
        if let Some(block) = self.free.pop() {
            self.open[by] = OpenBlock { block, filled: 0 };
        }
    }

    /// Moves the valid pages of the block with the fewest, and erases it.
    fn clean(&mut self) {
        let full = self.is_full.iter().zip(&self.valid).enumerate().filter(|(_, (is_full, _))| **is_full);
        let Some((block, _)) = full.min_by_key(|(_, (_, valid))| **valid) else { return };
        self.is_full[block] = false;
        let from = block * BLOCK_PAGES as usize;
        for place in from..from + BLOCK_PAGES as usize {
            if let Some(page) = self.pages[place].checked_sub(1) {
                self.put(page, CLEANER);
                self.moved += 1;
            }
        }
        self.erased += 1;
        self.free.push(block as u32);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const CAPACITY: u64 = 64 << 20;

    fn consistent(flash: &Flash) {
        let mapped = flash.places.iter().filter(|place| **place != NONE).count() as u64;
        assert_eq!(flash.valid.iter().map(|valid| u64::from(*valid)).sum::<u64>(), mapped);
        for (page, place) in flash.places.iter().enumerate().filter(|(_, place)| **place != NONE) {
            assert_eq!(flash.pages[*place as usize - 1] as usize, page + 1);
        }
    }

    #[test]
    fn sequential_writes_are_not_amplified() {
        let mut flash = Flash::new(CAPACITY, 0.07);
        for _ in 0..5 {
            for at in (0..CAPACITY).step_by(1 << 16) {
                flash.write(at, 1 << 16);
            }
        }
        let (written, all, erased) = flash.counts();
        assert_eq!((written, all), (5 * CAPACITY / PAGE, written));
        assert!(erased > 0);
        consistent(&flash);
    }

    #[test]
    fn random_writes_are_amplified_less_with_more_room() {
        let amplified = |spare: f64, trims: bool| {
            let mut flash = Flash::new(CAPACITY, spare);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            for _ in 0..10 * CAPACITY / PAGE {
                let at = random.random_range(0..CAPACITY / PAGE) * PAGE;
                flash.write(at, PAGE);
                if trims {
                    flash.trim(random.random_range(0..CAPACITY / PAGE) * PAGE, PAGE);
                }
            }
            consistent(&flash);
            let (written, all, _) = flash.counts();
            let room = (flash.blocks() * u64::from(BLOCK_PAGES)) as f64 / (CAPACITY / PAGE) as f64 - 1.0;
            (all as f64 / written as f64, room)
        };
        for spare in [0.07, 0.28, 1.0] {
            let (amplified, room) = amplified(spare, false);
            // The write amplification of greedy garbage collection under uniform writes: Hu and others, SYSTOR 2009,
            // for little spare room.
            let expected = ((1.0 + room) / (2.0 * room)).max(1.0);
            assert!((0.85..1.2).contains(&(amplified / expected)), "{spare}: {amplified}, not {expected}");
        }
        assert!(amplified(0.07, true).0 < 0.5 * amplified(0.07, false).0);
    }

    #[test]
    fn what_lies_beyond_the_end_is_not_written() {
        let mut flash = Flash::new(PAGE, 0.1);
        assert_eq!(flash.write(0, 10 * PAGE), 1);
        flash.trim(0, 100 * PAGE);
        consistent(&flash);
    }
}
