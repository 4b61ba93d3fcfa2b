//! How long values are.

use super::distribution::Random;

/// How long values are, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Lengths {
    /// All alike.
    Constant(usize),
}

impl Lengths {
    /// The length of the next value.
    #[inline]
    pub fn draw(&self, _random: &mut Random) -> usize {
        match self {
            Self::Constant(bytes) => *bytes,
        }
    }

    /// The longest that may come.
    pub fn max(&self) -> usize {
        match self {
            Self::Constant(bytes) => *bytes,
        }
    }

    /// The length on average.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(bytes) => *bytes as f64,
        }
    }
}
