//! Replay: a trace's requests on a key-value engine, at their times.
//!
//! [`ReplaySettings`] as written become a [`ReplayPlan`] that is checked and complete, after one reading of the trace
//! ([`survey`]); [`run`] loads what the trace needs, and then a reader decodes requests ahead ([`read_ahead`]) while threads
//! send them, as the model says ([`client`]). [`manometer_measure::ReplayOutcome`] reports the fidelity;
//! `manometer-analysis` judges it.

mod client;
mod error;
pub(crate) mod lane;
mod leader_followers;
mod load;
mod order;
pub(crate) mod plan;
mod read_ahead;
mod request;
pub(crate) mod rules;
mod run;
pub(crate) mod schedule;
mod scheduling;
pub(crate) mod second_pass;
mod settings;
pub(crate) mod survey;
pub(crate) mod survey_cache;
mod workload;

pub use error::ReplayError;
pub use plan::{ReplayPlan, bytes_to_load, operations};
pub use request::{key_bytes, write_key};
pub use run::run;
pub use settings::{Model, OnMiss, ReplaySettings, Share, Timing, TraceFile, files_named};
pub use workload::START;
