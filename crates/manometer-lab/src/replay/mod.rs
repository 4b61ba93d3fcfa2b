//! Block requests, cut as a cache takes them, and their replay on a device.

pub mod requests;
mod run;

pub use requests::BlockRequest;
pub use run::replay;
