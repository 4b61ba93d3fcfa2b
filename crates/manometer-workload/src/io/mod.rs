//! Reads and writes of files: one thread keeps a fixed number of requests in flight, or follows a recorded trace.
//!
//! [`validate`] checks [`IoSettings`], [`run`] runs them. The pattern of requests, the token bucket, the timetable and
//! changes of settings are values and pure functions; only the requests in flight touch the kernel.

mod change;
mod check;
mod counts;
mod error;
mod in_flight;
mod pattern;
mod replay_settings;
mod request;
mod run;
mod script;
mod settings;
pub(crate) mod token_bucket;
mod trace;
mod validate;
mod workload;

pub use self::trace::BlockTrace;
pub use change::changeable;
pub use error::IoError;
pub use manometer_target::file::{FileReuse, IoEngine};
pub use replay_settings::BlockReplaySettings;
pub use run::{IoJob, IoRequests, paths_in, run};
pub use script::parse_script;
pub use settings::IoSettings;
pub use validate::validate;
pub use workload::{IoFiles, OpenBackend};
