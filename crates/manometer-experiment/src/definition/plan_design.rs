//! The two designs of a plan.

use manometer_measure::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The design of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanDesign {
    /// One phase after another, in the order of the file.
    #[default]
    Ladder,
    /// Short blocks of every setting and of `w0`, in random order, round after round.
    Interleaved,
}

/// The maximum number of rounds: more are a typing error.
pub(crate) const MAX_ROUNDS: u32 = 10_000;

/// The rounds of an interleaved plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockTimes {
    /// The number of rounds.
    pub rounds: u32,
    /// The length of a block, with its washout.
    pub block: Span,
    /// The unmeasured beginning of each block.
    pub washout: Span,
}

impl BlockTimes {
    /// The measured length of a block in seconds.
    pub fn measured_s(&self) -> f64 {
        self.block.0.saturating_sub(self.washout.0).as_secs_f64()
    }

    /// The number of rounds of `treatments` blocks that fit into `seconds`; at least those planned, and not above
    /// [`MAX_ROUNDS`].
    pub fn max_rounds(&self, treatments: usize, seconds: f64) -> u32 {
        let fit = (seconds / (treatments as f64 * self.block.seconds())).floor();
        // A cast of a float to an integer saturates.
        (fit as u32).min(MAX_ROUNDS).max(self.rounds)
    }

    /// The length of all planned rounds of `treatments` blocks, in seconds.
    pub fn length_s(&self, treatments: usize) -> f64 {
        f64::from(self.rounds) * treatments as f64 * self.block.seconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_rounds_are_those_that_fit() {
        let times = BlockTimes { rounds: 20, block: "1400ms".parse().unwrap(), washout: "400ms".parse().unwrap() };
        assert_eq!(times.measured_s(), 1.0);
        assert!((times.length_s(4) - 112.0).abs() < 1e-9);
        assert_eq!([60.0, 112.0, 200.0, 1e9].map(|seconds| times.max_rounds(4, seconds)), [20, 20, 35, MAX_ROUNDS]);
    }
}
