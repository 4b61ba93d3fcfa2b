//! YCSB on a key-value engine.
//!
//! [`KvSettings`] as written become a [`KvPlan`] that is checked and complete; [`run`] prepares the
//! database and then lets threads ask, in a closed loop, as the control lines say.

mod asker;
mod batch;
mod cells;
mod client;
mod counted;
pub mod distribution;
mod error;
mod gate;
pub mod keys;
mod lengths;
mod load;
mod pace;
mod plan;
mod population;
mod properties;
mod request;
mod run;
mod sampler;
mod settings;
mod values;
mod ycsb;

pub use asker::YcsbMix;
pub use error::KvError;
pub use keys::KeyForm;
pub use lengths::Lengths;
pub use plan::{Asks, Expect, KvPlan, Update, Work};
pub use request::Operation;
pub use run::{Finished, run};
pub use settings::{EngineOptions, KeyDistribution, KvSettings, LoadMethod};
pub use values::ValueForm;
