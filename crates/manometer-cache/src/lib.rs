//! Caches on paper: what a cache of a given size and policy would have done to the requests of a trace.
//!
//! [`Requests`] holds a trace with its keys numbered densely, so that every simulation of it is a walk over an array.
//! [`policy::POLICIES`] lists what a cache can evict by, a file each; [`simulate`](simulate::simulate) runs several of
//! them at several sizes over all cores. [`cost`] tells what arrangements with and without a cache cost, [`advise`]
//! what to decide by all of that.

pub mod admission;
pub mod advise;
pub mod arena;
pub mod cost;
pub mod curve;
mod depths;
pub mod error;
mod heap;
mod moments;
pub mod number;
mod pages;
pub mod policy;
mod pool;
pub mod requests;
mod sampled;
pub mod simulate;
mod sketch;
mod stack;
pub mod tier;
pub mod weight;

pub use error::CacheError;
pub use policy::{Policy, Request, Tally};
pub use requests::Requests;
