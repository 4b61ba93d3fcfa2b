//! The lengths of values.

use super::db_bench::LengthDistribution;
use super::distribution::Random;
use super::field_lengths::FieldLengths;

/// The lengths of values, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueLengths {
    /// Constant.
    Constant(usize),
    /// The sum of fields whose lengths are drawn.
    Fields(FieldLengths),
    /// db_bench's distributions.
    DbBench(LengthDistribution),
}

impl ValueLengths {
    /// The length of the next value.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        match self {
            Self::Constant(bytes) => *bytes,
            Self::Fields(fields) => fields.draw(random),
            Self::DbBench(spread) => spread.draw(random),
        }
    }

    /// The longest.
    pub fn max(&self) -> usize {
        match self {
            Self::Constant(bytes) => *bytes,
            Self::Fields(fields) => fields.max(),
            Self::DbBench(spread) => spread.max(),
        }
    }

    /// Their name in a database's marker; nothing where the number of value bytes is enough.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Constant(_) => None,
            Self::Fields(fields) => Some(fields.name()),
            Self::DbBench(spread) => Some(spread.name()),
        }
    }

    /// The length on average.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(bytes) => *bytes as f64,
            Self::Fields(fields) => fields.mean(),
            Self::DbBench(spread) => spread.mean(),
        }
    }
}
