//! YCSB and db_bench on a key-value engine.
//!
//! [`KvSettings`] as written become a [`KvPlan`] that is checked and complete; [`run`] prepares the
//! database and then lets threads ask, in a closed or an open loop, as the control lines say.

mod asker;
mod batch;
mod cells;
mod change;
mod client;
pub(crate) mod counted;
pub mod db_bench;
mod describe;
pub mod distribution;
mod error;
mod field_lengths;
pub(crate) mod gate;
mod headroom;
mod java_properties;
pub mod keys;
mod lengths;
pub(crate) mod load;
pub(crate) mod pace;
mod plan;
mod plans;
mod population;
mod properties;
mod ready;
pub(crate) mod request;
mod run;
pub(crate) mod sampler;
mod settings;
pub(crate) mod storage;
mod threads;
pub(crate) mod values;
mod workload;
mod ycsb;

pub use asker::YcsbMix;
pub use change::{changeable, read_script};
pub use describe::{Description, Top, describe};
pub use distribution::Popularity;
pub use error::KvError;
pub use field_lengths::{FieldLength, FieldLengths, LengthHistogram};
pub use keys::KeyForm;
pub use lengths::Lengths;
pub use pace::{Curve, OpenLoop, PacePlan, QUEUE_USUAL, RATE_MAX, RateError, RateForm};
pub(crate) use plan::manifest_options;
pub use plan::{Asks, Expect, KvPlan, SaidByProperties, Update, Work};
pub use population::Part;
pub use request::Operation;
pub(crate) use run::marker;
pub use run::{Requests, run};
pub use settings::{ArrivalKind, KeyDistribution, KvSettings, LoadMethod, Servers};
pub use values::ValueForm;
