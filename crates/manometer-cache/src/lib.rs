//! Cache simulation: the misses of a cache of a given size and policy on the requests of a trace.
//!
//! [`RequestSequence`] holds a trace with dense key IDs, so that a simulation is a pass over an array.
//! [`policy::POLICIES`] lists the replacement policies, one per file; [`simulate`](simulate::simulate) runs several
//! policies at several sizes in parallel. [`tier`] simulates SSD tiers, [`cost`] computes the cost of arrangements with
//! and without a cache, and [`advise`] recommends one.
//!
//! ```
//! use manometer_cache::simulate::simulate;
//! use manometer_cache::{CacheError, PolicySpec, RequestSequence};
//!
//! # fn main() -> Result<(), CacheError> {
//! let requests = RequestSequence::from_keys([1, 2, 3, 1, 2, 3])?;
//! let lru: PolicySpec = "lru".parse()?;
//! let results = simulate(&requests, &[lru], &[2, 3], false, 1);
//! let misses: Vec<u64> = results.iter().map(|result| result.counters.misses).collect();
//! assert_eq!(misses, [6, 3]);
//! # Ok(())
//! # }
//! ```

pub mod admission;
pub mod advise;
mod arena;
mod bit_set;
pub mod cost;
mod count_min_sketch;
pub mod curve;
pub mod error;
pub mod evictions;
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
pub use request::CacheRequest;
pub use requests::RequestSequence;
pub use sampling::Sampling;
