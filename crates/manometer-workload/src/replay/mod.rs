//! Replay: sends the requests of a trace to a key-value engine at their recorded times.
//!
//! [`ReplaySettings`] become a checked and complete [`ReplayPlan`] after one pass over the trace ([`survey`]). [`run`]
//! loads the keys that the trace requires. Then a reader decodes requests ahead ([`read_ahead`]) while client threads
//! ([`client`]) send them as the model requires, or one thread sends and another receives ([`open_loop`]). [`manometer_measure::ReplayOutcome`] reports the fidelity;
//! `manometer-analysis` judges it.

mod client;
mod detail_counts;
mod error;
pub(crate) mod lane;
mod leader_followers;
mod load;
mod open_loop;
mod order;
pub(crate) mod plan;
mod read_ahead;
mod request;
pub(crate) mod rules;
mod run;
pub(crate) mod schedule;
mod scheduling;
pub(crate) mod second_pass;
mod sent_as;
mod settings;
mod spread;
pub(crate) mod survey;
pub(crate) mod survey_cache;
mod thread_guard;
mod values;
mod workload;

pub use error::ReplayError;
pub use plan::{ReplayPlan, bytes_to_load, operations};
pub use request::{key_bytes, write_key};
pub use run::run;
pub use settings::{MissAction, ReplayModel, ReplaySettings, Spread, Timing, TraceFile, files_named};
pub use workload::START;
