//! The distributions of db_bench's value lengths.

use rand_xoshiro::rand_core::Rng as _;

use super::pareto::Pareto;
use crate::kv::distribution::Random;

/// mixgraph writes no value shorter than this.
const MIXGRAPH_BYTES_MIN: i64 = 10;

/// A distribution of lengths, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LengthDistribution {
    /// Uniform from `min` to `max`.
    Uniform {
        /// The shortest.
        min: usize,
        /// The longest.
        max: usize,
    },
    /// Normal around the middle, a sixth of the range its standard deviation, cut at both ends.
    Normal {
        /// The shortest.
        min: usize,
        /// The longest.
        max: usize,
    },
    /// mixgraph's.
    Pareto {
        /// The distribution.
        of: Pareto,
        /// The longest.
        max: usize,
    },
}

impl LengthDistribution {
    /// The next length.
    #[inline]
    pub fn draw(self, random: &mut Random) -> usize {
        match self {
            Self::Uniform { min, max } => {
                let lengths = (max - min) as u128 + 1;
                min + ((u128::from(random.next_u64()) * lengths) >> 64) as usize
            }
            Self::Normal { min, max } => {
                let deviation = (max - min) as f64 / 6.0;
                let length = middle(min, max) + deviation * standard_normal(random);
                (length as usize).clamp(min, max)
            }
            Self::Pareto { of, max } => mixgraph_bytes(of, max, above_zero(random)),
        }
    }

    /// The longest.
    pub fn max(self) -> usize {
        match self {
            Self::Uniform { max, .. } | Self::Normal { max, .. } | Self::Pareto { max, .. } => max,
        }
    }

    /// The length on average.
    pub fn mean(self) -> f64 {
        match self {
            Self::Uniform { min, max } | Self::Normal { min, max } => middle(min, max),
            Self::Pareto { of, max } => {
                const STEPS: u32 = 10_000;
                let middles = (0..STEPS).map(|step| (f64::from(step) + 0.5) / f64::from(STEPS));
                middles.map(|u| mixgraph_bytes(of, max, u) as f64).sum::<f64>() / f64::from(STEPS)
            }
        }
    }

    /// Its name in a database's marker.
    pub fn name(self) -> String {
        match self {
            Self::Uniform { min, max } => format!("uniform {min} to {max}"),
            Self::Normal { min, max } => format!("normal {min} to {max}"),
            Self::Pareto { of: Pareto { theta, k, sigma }, max } => format!("pareto {theta} {k} {sigma} to {max}"),
        }
    }
}

fn middle(min: usize, max: usize) -> f64 {
    (min as f64 + max as f64) / 2.0
}

/// The length of the value that mixgraph writes at the draw `u`: what is too long wraps round.
#[inline]
pub(super) fn mixgraph_bytes(of: Pareto, max: usize, u: f64) -> usize {
    let bytes = of.exceeded_by(u);
    if bytes < MIXGRAPH_BYTES_MIN {
        MIXGRAPH_BYTES_MIN as usize
    } else if bytes > max as i64 {
        (bytes % max as i64) as usize
    } else {
        bytes as usize
    }
}

/// A draw above 0, at most 1.
#[inline]
fn above_zero(random: &mut Random) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// By Box and Muller.
fn standard_normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * above_zero(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * above_zero(random)).cos()
}
