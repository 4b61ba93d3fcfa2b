//! The pattern of requests. The k-th request of a seed is the same on every device.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::IoSettings;
use super::request::BlockRequest;

/// The blocks of all files, numbered through, and the random generator.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    random: Xoshiro256PlusPlus,
    write_ratio: f64,
    random_ratio: f64,
    block_bytes: u64,
    parts_each: u64,
    parts: u64,
    /// The block of the next sequential request.
    following: u64,
}

impl Pattern {
    pub(super) fn new(seed: u64, settings: &IoSettings) -> Self {
        let mut pattern = Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            write_ratio: 0.0,
            random_ratio: 0.0,
            block_bytes: settings.block_size.0,
            parts_each: 1,
            parts: 1,
            following: 0,
        };
        pattern.change(settings);
        pattern
    }

    /// Continues under other settings, from the same place of the same file.
    pub(super) fn change(&mut self, settings: &IoSettings) {
        let (file, offset) = self.place(self.following);
        self.write_ratio = settings.write_ratio;
        self.random_ratio = settings.random_ratio;
        self.block_bytes = settings.block_size.0;
        self.parts_each = settings.bytes_each() / self.block_bytes;
        self.parts = self.parts_each * u64::from(settings.files);
        let within = (offset / self.block_bytes).min(self.parts_each - 1);
        self.following = u64::from(file) * self.parts_each + within;
    }

    pub(super) fn next(&mut self) -> BlockRequest {
        let write = self.chance(self.write_ratio);
        let part = if self.chance(self.random_ratio) { self.random_part() } else { self.following };
        self.following = if part + 1 == self.parts { 0 } else { part + 1 };
        let (file, offset) = self.place(part);
        BlockRequest { write, file, offset, length: self.block_bytes as u32 }
    }

    fn place(&self, part: u64) -> (u32, u64) {
        if part < self.parts_each {
            return (0, part * self.block_bytes);
        }
        ((part / self.parts_each) as u32, part % self.parts_each * self.block_bytes)
    }

    /// True with probability `ratio`; draws nothing for 0 and 1.
    fn chance(&mut self, ratio: f64) -> bool {
        if ratio <= 0.0 || ratio >= 1.0 {
            return ratio >= 1.0;
        }
        // The upper 53 bits are a uniform number from 0 to 1, 1 excluded.
        ((self.random.next_u64() >> 11) as f64) < ratio * (1u64 << 53) as f64
    }

    /// A uniformly random block, up to a bias of parts / 2^64.
    fn random_part(&mut self) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(self.parts)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::ByteSize;
    use proptest::prelude::*;

    use super::*;

    fn settings(write_ratio: f64, random_ratio: f64) -> IoSettings {
        IoSettings { file_size: ByteSize(64 << 12), files: 2, write_ratio, random_ratio, ..IoSettings::default() }
    }

    fn requests(pattern: &mut Pattern, count: usize) -> Vec<BlockRequest> {
        (0..count).map(|_| pattern.next()).collect()
    }

    #[test]
    fn ratios_are_kept_within_chance() {
        const COUNT: usize = 100_000;
        for seed in 0..4 {
            for ratio in [0.0, 0.1, 0.5, 0.9, 1.0] {
                let mut pattern = Pattern::new(seed, &settings(ratio, ratio));
                let requests = requests(&mut pattern, COUNT);
                let writes = requests.iter().filter(|next| next.write).count() as f64;
                let jumps = requests.windows(2).filter(|pair| part(&pair[1]) != (part(&pair[0]) + 1) % 64).count();
                // A random part is the following one once in 64 times.
                let expected = COUNT as f64 * ratio;
                let slack = 4.0 * (COUNT as f64 * ratio * (1.0 - ratio)).sqrt();
                assert!((writes - expected).abs() <= slack, "{writes} writes at {ratio}, seed {seed}");
                let jumps = jumps as f64 * 64.0 / 63.0;
                assert!((jumps - expected).abs() <= slack + 4.0 * 40.0, "{jumps} jumps at {ratio}, seed {seed}");
            }
        }
    }

    #[test]
    fn random_parts_are_uniform() {
        let mut counts = [0u32; 64];
        let mut pattern = Pattern::new(11, &settings(0.0, 1.0));
        requests(&mut pattern, 64_000).iter().for_each(|next| counts[part(next) as usize] += 1);
        let chi_square: f64 = counts.iter().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum();
        // 63 degrees of freedom: 0.999 of fair dice stay below 103.
        assert!(chi_square < 103.0, "{chi_square}");
    }

    #[test]
    fn sequential_requests_go_through_every_file_and_wrap() {
        let mut pattern = Pattern::new(1, &settings(1.0, 0.0));
        let requests = requests(&mut pattern, 130);
        assert!(requests.iter().enumerate().all(|(index, next)| part(next) == index as u64 % 64));
        assert!(requests.iter().all(|next| next.write));
        assert_eq!(requests[32], BlockRequest { write: true, file: 1, offset: 0, length: 4096 });
    }

    #[test]
    fn other_blocks_go_on_at_the_same_place() {
        let mut pattern = Pattern::new(1, &settings(0.0, 0.0));
        requests(&mut pattern, 40);
        pattern.change(&IoSettings { block_size: ByteSize(8192), ..settings(0.0, 0.0) });
        assert_eq!(pattern.next(), BlockRequest { write: false, file: 1, offset: 8 * 4096, length: 8192 });
        pattern.change(&settings(0.0, 0.0));
        assert_eq!(pattern.next(), BlockRequest { write: false, file: 1, offset: 10 * 4096, length: 4096 });
    }

    #[test]
    fn a_seed_repeats() {
        let twice = [5, 5].map(|seed| requests(&mut Pattern::new(seed, &settings(0.3, 0.7)), 1000));
        assert_eq!(twice[0], twice[1]);
    }

    fn part(next: &BlockRequest) -> u64 {
        u64::from(next.file) * 32 + next.offset / 4096
    }

    proptest! {
        #[test]
        fn requests_are_aligned_and_within_their_file(
            seed in any::<u64>(),
            files in 1u32..5,
            blocks in 1u64..9,
            spare in 0u64..8,
            factor in 1u64..9,
            random in 0.0..=1.0,
        ) {
            let block = 4096 * factor;
            let settings = IoSettings {
                file_size: ByteSize(u64::from(files) * (block * blocks + 512 * spare)),
                files,
                block_size: ByteSize(block),
                write_ratio: 0.5,
                random_ratio: random,
                ..IoSettings::default()
            };
            let mut pattern = Pattern::new(seed, &settings);
            for _ in 0..200 {
                let next = pattern.next();
                prop_assert!(next.file < files);
                prop_assert_eq!(next.offset % block, 0);
                prop_assert!(next.offset + block <= settings.bytes_each());
            }
        }
    }
}
