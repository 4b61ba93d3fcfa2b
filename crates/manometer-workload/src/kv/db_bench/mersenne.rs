//! The 64-bit Mersenne Twister: db_bench scatters keys with it, and ours must fall on the same ones.

const WORDS: usize = 312;
const MIDDLE: usize = 156;
const UPPER: u64 = 0xFFFF_FFFF_8000_0000;

/// The generator that C++ calls `mt19937_64`.
#[derive(Debug)]
pub(super) struct MersenneTwister {
    words: [u64; WORDS],
    at: usize,
}

impl MersenneTwister {
    /// Seeded with `seed`.
    pub(super) fn new(seed: u64) -> Self {
        let mut words = [seed; WORDS];
        for place in 1..WORDS {
            words[place] = following(words[place - 1], place);
        }
        Self { words, at: 0 }
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        let at = self.at;
        self.at = (at + 1) % WORDS;
        self.words[at] = twist(self.words[at], self.words[self.at], self.words[(at + MIDDLE) % WORDS]);
        tempered(self.words[at])
    }
}

/// The first number of a generator seeded with `seed`: only three of its words matter for that.
#[inline]
pub(super) fn first_of(seed: u64) -> u64 {
    let second = following(seed, 1);
    let middle = (2..=MIDDLE).fold(second, following);
    tempered(twist(seed, second, middle))
}

#[inline]
fn following(word: u64, place: usize) -> u64 {
    (word ^ (word >> 62)).wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(place as u64)
}

#[inline]
fn twist(word: u64, next: u64, middle: u64) -> u64 {
    let mixed = (word & UPPER) | (next & !UPPER);
    middle ^ (mixed >> 1) ^ if mixed & 1 == 1 { 0xB502_6F5A_A966_19E9 } else { 0 }
}

#[inline]
fn tempered(mut word: u64) -> u64 {
    word ^= (word >> 29) & 0x5555_5555_5555_5555;
    word ^= (word << 17) & 0x71D6_7FFF_EDA6_0000;
    word ^= (word << 37) & 0xFFF7_EEE0_0000_0000;
    word ^ (word >> 43)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 10000th number is the one that the C++ standard names.
    #[test]
    fn it_is_the_standards() {
        let mut twister = MersenneTwister::new(5489);
        let numbers: Vec<u64> = (0..10_000).map(|_| twister.next()).collect();
        assert_eq!((numbers[0], numbers[9999]), (14_514_284_786_278_117_030, 9_981_545_732_273_789_042));
    }

    #[test]
    fn the_first_number_needs_no_whole_generator() {
        for (seed, first) in [
            (0, 2_947_667_278_772_165_694),
            (1, 2_469_588_189_546_311_528),
            (77, 4_348_287_218_229_133_952),
            (1 << 63, 13_862_022_292_079_395_497),
        ] {
            assert_eq!((first_of(seed), MersenneTwister::new(seed).next()), (first, first));
        }
    }
}
