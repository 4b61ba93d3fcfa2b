//! Reads and writes of files.

mod settings;

pub use settings::{IoEngine, IoSettings};
