//! Synthesis of traces like one that may not be shared: [`synthesise()`] fits a model ([`TraceModel`], [`fit`]),
//! generates a trace from it ([`generate`]), and measures the distance between the two ([`error`]).
//!
//! Keys are divided into classes by request count. For each class the model holds when its keys are first and last
//! requested, which describes the drift of popularity, and the distribution of the number of requests between two for
//! the same key, from which reuse distances follow (Hu and others, average eviction time, USENIX ATC 2016). It does not
//! hold any keys, clients or contents.
//!
//! [`paths`] generates accesses to the files of a tree, from a description instead of a trace.

pub mod error;
pub mod fit;
pub mod generate;
pub mod model;
mod model_file;
pub mod paths;
mod synthesise;

pub use error::FitError;
pub use generate::Generator;
pub use model::TraceModel;
pub use model_file::{read_model, write_model};
pub use synthesise::{Synthesis, synthesise};
