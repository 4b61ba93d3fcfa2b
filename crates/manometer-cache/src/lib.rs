//! Caches on paper: what a cache of a given size and policy would have done to the requests of a trace.
//!
//! [`Requests`] holds a trace with its keys numbered densely, so that every simulation of it is a walk over an array.
//! [`policy::POLICIES`] lists what a cache can evict by, a file each; [`simulate`](simulate::simulate) runs several of
//! them at several sizes over all cores. [`cost`] computes what arrangements with and without a cache cost, [`advise`]
//! what to decide by all of that.

pub mod admission;
pub mod advise;
mod arena;
mod bit_set;
pub mod cost;
mod count_min_sketch;
pub mod curve;
pub mod error;
mod fenwick;
mod huge_pages;
mod indexed_heap;
pub mod key_id;
mod lru_stack;
pub mod policy;
pub mod policy_spec;
pub mod raid_level;
pub mod request;
pub mod requests;
mod sample_pool;
pub mod sampling;
pub mod simulate;
pub mod tier;
pub mod trace_scan;
mod weight;

pub use error::CacheError;
pub use policy::{CacheCounters, Policy};
pub use policy_spec::PolicySpec;
pub use raid_level::RaidLevel;
pub use request::Request;
pub use requests::Requests;
pub use sampling::Sampling;
