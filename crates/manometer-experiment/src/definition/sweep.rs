//! The order and the number of a sweep's runs, and when a phase or a combination has been measured enough.

use manometer_measure::{Share, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order of a sweep's runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOrder {
    /// In the order of the values in the file, the last key changing fastest, repeats of a combination in a row.
    #[default]
    Written,
    /// All runs, repeats included, in a random order drawn from the experiment's seed.
    Shuffled,
    /// Every combination once, then again for each repeat.
    Interleaved,
}

/// When a combination of a sweep has been repeated enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SweepStop {
    /// Maximum width of the confidence interval over the repeats: of each phase's pressure, or, without a pressure, of
    /// the performance relative to its mean.
    pub interval: Share,
    /// Maximum number of runs of a combination; default 10.
    #[schemars(range(min = 3, max = 1000))]
    pub at_most: Option<u32>,
}

/// When a phase has been measured long enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PhaseStop {
    /// Maximum width of the confidence interval of the phase's pressure, or, without a pressure, of the performance
    /// relative to its mean.
    pub interval: Share,
    /// Maximum length of a phase; default ten times its length.
    pub at_most: Option<Span>,
}

/// The default maximum length of a phase, in multiples of its length.
const DEFAULT_MAX_LENGTHS: f64 = 10.0;

impl PhaseStop {
    /// The maximum measured time of a phase of `length_s`, in seconds.
    pub fn max_length_s(&self, length_s: f64) -> f64 {
        self.at_most.map_or(DEFAULT_MAX_LENGTHS * length_s, |at_most| at_most.seconds())
    }
}

/// The order and the number of a sweep's runs, defaults applied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepRules {
    /// The order of the runs.
    pub order: RunOrder,
    /// The number of runs of each combination; with `stop`, the minimum.
    pub repeats: u32,
    /// Every n-th run is the reference.
    pub reference_every: Option<u32>,
    /// Repeat a combination until its interval is narrow enough.
    pub stop: Option<RepeatStop>,
    /// How often a run that failed is tried again before the set goes on without it.
    pub retry: u32,
}

/// When a combination is not repeated any more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatStop {
    /// The maximum width of the confidence interval over the repeats.
    pub max_width: f64,
    /// The maximum number of runs of a combination.
    pub max_repeats: u32,
}

impl SweepRules {
    /// The number of runs of each combination, where all run that may be needed.
    pub fn max_repeats(&self) -> u32 {
        self.stop.map_or(self.repeats, |stop| stop.max_repeats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_maximum_length_is_ten_lengths() {
        let stop = PhaseStop { interval: Share(0.05), at_most: None };
        assert_eq!(stop.max_length_s(60.0), 600.0);
        let at_most = Some("30m".parse().unwrap());
        assert_eq!(PhaseStop { at_most, ..stop }.max_length_s(60.0), 1800.0);
    }
}
