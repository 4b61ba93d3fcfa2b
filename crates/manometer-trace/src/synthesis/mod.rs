//! More of a trace that may not be shared: a model of it ([`Model`]), fitted ([`fit`]), generated from ([`generate`]),
//! and how far what was generated is from the trace ([`error`]).
//!
//! Keys fall into classes by how often they are requested. Of each class the model holds when its keys are first and
//! last requested, which is how popularity drifts, and the distribution of how many requests of all keys lie between
//! two for the same, from which reuse distances follow (Hu and others, average eviction time, USENIX ATC 2016). Which
//! keys, clients and contents there were is not in it.

pub mod error;
pub mod fit;
pub mod generate;
pub mod model;

pub use error::FitError;
pub use generate::Generator;
pub use model::Model;
