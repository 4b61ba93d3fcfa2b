//! YCSB on a key-value engine.

mod settings;

pub use settings::{EngineOptions, KeyDistribution, KvSettings};
