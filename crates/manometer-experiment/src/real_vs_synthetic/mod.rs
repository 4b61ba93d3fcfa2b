//! What synthetic load gets wrong: a trace and synthetic loads of its keys, replayed on the same caches.
//!
//! A synthetic load is the trace with its keys drawn anew, so that nothing else differs: the same operations in the
//! same order, as many keys, of the same sizes, sent by the same replay. What it all means is computed by
//! [`manometer_analysis::real_vs_synthetic`].

mod cache;
mod error;
mod recorded;
mod replaying;
mod run;
mod slabs;
mod synthetic;

pub use error::RealVsSyntheticError;
pub use run::{Update, replays_planned, run};
