//! YCSB on a key-value engine.
//!
//! [`KvSettings`] as written become a [`KvPlan`] that is checked and complete; [`run`] prepares the
//! database and then lets threads ask, in a closed loop, as the control lines say.

mod cells;
mod client;
pub mod distribution;
mod error;
mod gate;
pub mod keys;
mod load;
mod plan;
mod properties;
mod run;
mod sampler;
mod settings;
mod values;

pub use error::KvError;
pub use plan::{KvPlan, Mix, Update};
pub use run::{Finished, run};
pub use settings::{EngineOptions, KeyDistribution, KvSettings, LoadMethod};
