//! The tables that say which runs a sweep makes, and when measuring may stop.

use manometer_measure::{Share, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings that change from one run to the next, and in which order the runs come.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SweepTable {
    /// The order of the runs.
    pub order: Order,
    /// How often each combination of settings runs; with `stop`, how often at least.
    #[schemars(range(min = 1, max = 1000))]
    pub repeats: Option<u32>,
    /// Every so many runs, the first and the last included, the file's own settings run, so that drift shows.
    #[schemars(range(min = 2))]
    pub reference_every: Option<u32>,
    /// Repeats each combination until its interval over the repeats is narrow.
    pub stop: Option<SweepStop>,
    /// `"workload.setting" = [values]`, in quotes; several keys make their product.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

/// The order of a sweep's runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As the values are written, the last key changing fastest, the repeats of a combination one after another.
    #[default]
    Written,
    /// All runs, repeats included, in an order drawn from the experiment's seed.
    Shuffled,
    /// Every combination once, then every one again for each repeat.
    Interleaved,
}

/// When a combination of a sweep has run often enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SweepStop {
    /// The widest that the interval over the repeats may be: of each phase's pressure, from end to end; where there
    /// is no pressure, of the performance, as a share of it.
    pub interval: Share,
    /// How often a combination runs at most; 10 unless said.
    #[schemars(range(min = 3, max = 1000))]
    pub at_most: Option<u32>,
}

/// When a phase has been measured for long enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PhaseStop {
    /// The widest that the interval of the phase's pressure may be, from end to end; where there is no pressure, that
    /// of the performance, as a share of it.
    pub interval: Share,
    /// How long a phase is measured at most; ten times its length unless said.
    pub at_most: Option<Span>,
}

/// What a checked `[sweep]` says beside its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepRules {
    /// The order of the runs.
    pub order: Order,
    /// How often each combination runs, at least.
    pub repeats: u32,
    /// Every so many runs is the reference.
    pub reference_every: Option<u32>,
    /// Until when combinations are repeated, and how often at most.
    pub until: Option<(Share, u32)>,
}

/// Fewer repeats are too few to tell how far they scatter: two can agree by chance.
const FEWEST_REPEATS: u32 = 3;

/// How often a combination runs at most, where the file does not say.
const USUAL_MOST_REPEATS: u32 = 10;

impl SweepTable {
    /// What the table says beside its settings.
    pub(super) fn rules(&self) -> SweepRules {
        let until = self.stop.map(|stop| (stop.interval, stop.at_most.unwrap_or(USUAL_MOST_REPEATS)));
        let fewest = if until.is_some() { FEWEST_REPEATS } else { 1 };
        SweepRules {
            order: self.order,
            repeats: self.repeats.unwrap_or(1).max(fewest),
            reference_every: self.reference_every,
            until,
        }
    }
}
