//! Data to write: cheap to generate, and neither compressible nor deduplicable by a device.
//!
//! A pool of random words is generated once. Every 4 KiB sector takes a random slice of it, XORed with a fresh random
//! word. A slice is random and so cannot be compressed, and two sectors, even of the same slice, share no run of
//! bytes that a compressor could find again. The first 16 bytes of each sector hold [`MAGIC`], which identifies files
//! of Manometer, and a number that is unique within a run: no two sectors are equal.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// The first eight bytes of every sector that Manometer writes.
pub const MAGIC: [u8; 8] = *b"MNMTRio1";

/// The unit of data with its own header, in bytes.
pub const SECTOR_BYTES: usize = 4096;

const WORD_BYTES: usize = 8;
const SECTOR_WORDS: usize = SECTOR_BYTES / WORD_BYTES;
/// 256 KiB: much larger than a sector, and small compared with the caches that the measured program needs.
const POOL_WORDS: usize = 32 * 1024;

/// An endless source of unique sectors, determined by its seed.
#[derive(Debug, Clone)]
pub struct DataGenerator {
    pool: Vec<u64>,
    random: Xoshiro256PlusPlus,
    number: u64,
}

impl DataGenerator {
    /// The source for `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let pool = (0..POOL_WORDS).map(|_| random.next_u64()).collect();
        let number = random.next_u64();
        Self { pool, random, number }
    }

    /// Fills `buffer`, whose length is a multiple of 16, with new bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        debug_assert_eq!(buffer.len() % 16, 0, "blocks are multiples of a device's sector");
        buffer.chunks_mut(SECTOR_BYTES).for_each(|sector| self.fill_sector(sector));
    }

    fn fill_sector(&mut self, sector: &mut [u8]) {
        let word = self.random.next_u64();
        let stretches = (POOL_WORDS - SECTOR_WORDS) as u64;
        let start = ((u128::from(self.random.next_u64()) * u128::from(stretches)) >> 64) as usize;
        let stretch = &self.pool[start..start + SECTOR_WORDS];
        for (bytes, random) in sector.chunks_exact_mut(WORD_BYTES).zip(stretch) {
            bytes.copy_from_slice(&(random ^ word).to_ne_bytes());
        }
        sector[..8].copy_from_slice(&MAGIC);
        sector[8..16].copy_from_slice(&self.number.to_ne_bytes());
        self.number = self.number.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_sectors_are_alike() {
        let mut data = DataGenerator::new(1);
        let mut seen = HashSet::new();
        let mut buffer = vec![0; 64 * SECTOR_BYTES];
        for _ in 0..64 {
            data.fill(&mut buffer);
            assert!(buffer.chunks(SECTOR_BYTES).all(|sector| seen.insert(sector.to_vec())));
        }
    }

    /// Equal runs of eight bytes: what a compressor with an unlimited window could find again.
    #[test]
    fn sectors_share_no_run_of_bytes() {
        let mut data = DataGenerator::new(2);
        let mut buffer = vec![0; 512 * SECTOR_BYTES];
        data.fill(&mut buffer);
        let mut seen = HashSet::new();
        for sector in buffer.chunks(SECTOR_BYTES) {
            let runs = sector[16..].chunks(WORD_BYTES);
            assert!(runs.into_iter().all(|run| seen.insert(run.to_vec())), "a run of bytes came again");
        }
    }

    #[test]
    fn bytes_are_evenly_spread() {
        let mut buffer = vec![0; 256 * SECTOR_BYTES];
        DataGenerator::new(3).fill(&mut buffer);
        let mut counts = [0u64; 256];
        let payload = buffer.chunks(SECTOR_BYTES).flat_map(|sector| &sector[16..]);
        payload.for_each(|byte| counts[usize::from(*byte)] += 1);
        let total: u64 = counts.iter().sum();
        let expected = total as f64 / 256.0;
        let chi_square: f64 = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: 0.999 of random bytes stay below 330.
        assert!(chi_square < 330.0, "{chi_square}");
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
        let filled = |seed| {
            let mut buffer = vec![0; 1024];
            DataGenerator::new(seed).fill(&mut buffer);
            buffer
        };
        assert_eq!(filled(7), filled(7));
        assert_ne!(filled(7), filled(8));
        assert_eq!(filled(7)[..8], MAGIC);
    }
}
