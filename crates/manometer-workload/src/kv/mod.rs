//! YCSB and db_bench on a key-value engine.
//!
//! [`KvSettings`] as written become a [`KvPlan`], checked and complete. [`run`] prepares the database; client threads then
//! send requests in a closed or an open loop.

mod change;
mod client;
pub mod db_bench;
mod describe;
pub mod distribution;
mod error;
mod field_lengths;
pub(crate) mod gate;
mod generator;
mod headroom;
mod java_properties;
pub mod keys;
mod latency_cells;
pub(crate) mod load;
mod operation_mix;
pub(crate) mod pace;
mod plan;
mod plan_history;
mod population;
mod properties;
mod rate;
pub(crate) mod request;
mod resolve;
mod run;
mod run_end;
pub(crate) mod sampler;
mod script;
mod settings;
pub(crate) mod storage;
pub(crate) mod thread_counters;
mod threads;
mod value_lengths;
pub(crate) mod values;
mod workload;
mod ycsb;

pub use change::changeable;
pub use describe::{PopularityDescription, TopRecordsShare, describe};
pub use distribution::PopularityDistribution;
pub use error::KvError;
pub use field_lengths::{FieldLength, FieldLengths, LengthHistogram};
pub use keys::KeyForm;
pub use operation_mix::{OperationMix, YcsbMix};
pub use pace::{OpenLoop, PacePlan, QUEUE_USUAL, RATE_MAX};
pub(crate) use plan::manifest_options;
pub use plan::{KvPlan, Presence, RunProperties, UpdateMode, WorkloadSpec, main_operation};
pub use population::RecordRange;
pub use rate::{RateCurve, RateError, RateForm};
pub use request::KvOperation;
pub(crate) use run::marker;
pub use run::{Requests, run};
pub use run_end::RunEnd;
pub use script::read_script;
pub use settings::{ArrivalKind, ExternalServers, KeyDistribution, KvSettings, LoadMethod};
pub use value_lengths::ValueLengths;
pub use values::ValueForm;
