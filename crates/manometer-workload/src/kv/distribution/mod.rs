//! Distributions of requests over records, one per file.
//!
//! None keeps state per record: its memory does not depend on the number of records.

mod exponential;
mod harmonic;
mod hotspot;
mod integer;
mod latest;
mod permutation;
mod popularity;
mod scattered_zipf;
mod sequential;
mod uniform;
mod ycsb_zipfian;
mod zipf;
mod zipf_steps;

use rand_xoshiro::Xoshiro256PlusPlus;

pub use exponential::{Exponential, rate};
pub use harmonic::harmonic;
pub use hotspot::{Hotspot, hot_records};
pub use integer::IntegerDistribution;
pub use latest::Latest;
pub use permutation::Permutation;
pub use popularity::PopularityDistribution;
pub use scattered_zipf::ScatteredZipf;
pub use sequential::Sequential;
pub use uniform::Uniform;
pub use ycsb_zipfian::YcsbZipfian;
pub use zipf::ZipfDistribution;
pub use zipf_steps::ZipfSteps;

/// The generator of every random choice; fast, small, and the same on every machine.
pub type Random = Xoshiro256PlusPlus;

/// YCSB's exponent.
pub const EXPONENT: f64 = 0.99;

/// The records to draw from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpace {
    /// Records that exist at the start.
    pub records: u64,
    /// Records that are expected at the end.
    pub expected: u64,
    /// The thread that draws.
    pub thread: u32,
    /// How many threads draw.
    pub threads: u32,
}

/// Draws records by their place among those that exist: the first is 0, the newest the last.
#[derive(Debug, Clone)]
pub enum KeyChooser {
    /// Uniform.
    Uniform(Uniform),
    /// Exact Zipf, scattered.
    Zipfian(ScatteredZipf),
    /// YCSB's scrambled zipfian.
    YcsbZipfian(YcsbZipfian),
    /// The last ones most often.
    Latest(Latest),
    /// A hot set and the rest.
    Hotspot(Hotspot),
    /// Exponential over age.
    Exponential(Exponential),
    /// One after the other.
    Sequential(Sequential),
}

impl KeyChooser {
    /// The distribution `popularity` over `space`; `seed` decides which records are popular.
    pub fn new(popularity: PopularityDistribution, space: KeySpace, seed: u64) -> Self {
        let KeySpace { records, expected, thread, threads } = space;
        match popularity {
            PopularityDistribution::Uniform => Self::Uniform(Uniform::new(records)),
            PopularityDistribution::Zipfian { exponent } => Self::Zipfian(ScatteredZipf::new(expected, exponent, seed)),
            PopularityDistribution::YcsbZipfian => Self::YcsbZipfian(YcsbZipfian::new(expected)),
            PopularityDistribution::Latest { exponent } => Self::Latest(Latest::new(records, exponent)),
            PopularityDistribution::Hotspot { records: hot, requests } => {
                Self::Hotspot(Hotspot::new(records, hot, requests))
            }
            PopularityDistribution::Exponential { percentile, fraction } => {
                Self::Exponential(Exponential::new(rate(records, percentile, fraction)))
            }
            PopularityDistribution::Sequential => Self::Sequential(Sequential::new(records, thread, threads)),
        }
    }

    /// The place of the next record, below `there`, the number of existing records. A record that is expected but does not
    /// exist yet is drawn again, as in YCSB.
    #[inline]
    pub fn draw(&mut self, there: u64, random: &mut Random) -> u64 {
        match self {
            Self::Uniform(uniform) => uniform.draw(random),
            Self::Zipfian(zipf) => loop {
                let place = zipf.draw(random);
                if place < there {
                    return place;
                }
            },
            Self::YcsbZipfian(zipf) => loop {
                let place = zipf.draw(random);
                if place < there {
                    return place;
                }
            },
            Self::Latest(latest) => latest.draw(there, random),
            Self::Hotspot(hotspot) => hotspot.draw(random),
            Self::Exponential(exponential) => exponential.draw(there, random),
            Self::Sequential(sequential) => sequential.draw(),
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
