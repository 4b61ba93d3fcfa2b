//! The proof by counts: a trace of block requests on a real cache of Linux, one request at a time and past the page cache,
//! and what the simulation counts for the same requests.

mod compare;
mod measure;

pub use compare::{CountsComparison, HitCounts};
pub use measure::{measure, prepare};
