//! Who answers: key-value engines and files. Who asks is `manometer-workload`'s matter.

pub mod engine;
pub mod file;
