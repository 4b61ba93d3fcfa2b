//! Which record is asked for next: one distribution a file.

mod latest;
mod scatter;
mod uniform;
mod ycsb_zipfian;
mod zipf;

use rand_xoshiro::Xoshiro256PlusPlus;

pub use latest::Latest;
pub use scatter::Scatter;
pub use uniform::Uniform;
pub use ycsb_zipfian::YcsbZipfian;
pub use zipf::{ScatteredZipf, Zipf};

use super::settings::KeyDistribution;

/// The generator of every random choice; fast, small, and the same on every machine.
pub type Random = Xoshiro256PlusPlus;

/// YCSB's exponent.
pub const EXPONENT: f64 = 0.99;

/// A drawer of record numbers.
#[derive(Debug, Clone)]
pub enum Records {
    /// Every record alike.
    Uniform(Uniform),
    /// Exact Zipf, scattered.
    Zipfian(ScatteredZipf),
    /// YCSB's scrambled zipfian.
    YcsbZipfian(YcsbZipfian),
    /// The last ones most often.
    Latest(Latest),
}

impl Records {
    /// The distribution `kind` over `records` records; `seed` decides which ones are popular.
    pub fn new(kind: KeyDistribution, records: u64, seed: u64) -> Self {
        match kind {
            KeyDistribution::Uniform => Self::Uniform(Uniform::new(records)),
            KeyDistribution::Zipfian => Self::Zipfian(ScatteredZipf::new(records, EXPONENT, seed)),
            KeyDistribution::YcsbZipfian => Self::YcsbZipfian(YcsbZipfian::new(records)),
            KeyDistribution::Latest => Self::Latest(Latest::new(records, EXPONENT)),
        }
    }

    /// The next record's number, below the number of records.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform(uniform) => uniform.draw(random),
            Self::Zipfian(zipf) => zipf.draw(random),
            Self::YcsbZipfian(zipf) => zipf.draw(random),
            Self::Latest(latest) => latest.draw(random),
        }
    }
}

/// The random stream of thread `thread` of a run seeded with `seed`; streams do not overlap.
pub fn stream(seed: u64, thread: u32) -> Random {
    use rand_xoshiro::rand_core::SeedableRng as _;
    let mut random = Random::seed_from_u64(seed);
    for _ in 0..thread {
        random.jump();
    }
    random
}

#[cfg(test)]
#[path = "../distribution_tests.rs"]
mod tests;
