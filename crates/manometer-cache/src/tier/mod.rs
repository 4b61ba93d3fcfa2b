//! Simulation of SSD tiers: a host's memory over an SSD cache over the origin's devices.
//!
//! Discrete-event and deterministic. Threads of a [`workload`] wait for requests, which the host's page cache, the
//! second-level cache and the models of [`device`]s serve. After dos Santos 2015, chapters 4 and 6.

mod accuracy;
mod block_requests;
mod cache_slots;
mod comparison;
pub mod device;
mod events;
mod flows;
mod host;
mod in_flight;
mod io;
mod jobs;
mod metadata_tree;
mod page_cache;
mod raid_array;
mod second_level;
mod series;
mod series_parquet;
mod settings;
mod simulate_all;
mod simulation;
mod steadiness;
mod storage;
mod wakeup;
pub mod workload;

pub use accuracy::{CheapestArrangement, ModelAccuracy, RatioKind, ThesisRatio, accuracy_notes, model_accuracy};
pub use block_requests::{BlockRequests, PowerOfTwoCount};
pub use comparison::{ComparisonMetric, OriginComparison};
pub use flows::{FlowBytes, Flows};
pub use host::TierHostSettings;
pub use raid_array::RaidArray;
pub use second_level::SecondLevelCounters;
pub use second_level::settings::{
    CongestionBypass, MetadataKind, MetadataSettings, SecondLevelSettings, SequentialBypass, WriteMode,
};
pub use series::{INTERVALS_MAX, IntervalCounts, TierInterval, series_columns};
pub use series_parquet::write_series;
pub use settings::{Arrangement, CacheSweep, EqualDevices, OriginSettings};
pub use simulate_all::{ArrangementLoads, NamedLoad, SimulationProgress, TierOutcome, simulate_all, workload_loads};
pub use simulation::{TierLoad, TierResult, TierRun, run, run_with_progress};
pub use steadiness::Steadiness;
