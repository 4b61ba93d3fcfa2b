//! Systems under load: key-value engines and files. `manometer-workload` generates the load.

pub mod engine;
pub mod file;
