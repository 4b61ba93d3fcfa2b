//! The conformance suite: what every engine must do.
//!
//! Each test runs on every engine of the build that it applies to by its [`EngineInfo`]: a new engine is tested without
//! a change here. An engine whose program is not installed is skipped with a message.
//!
//! [`EngineInfo`]: manometer_target::engine::EngineInfo

mod concurrency;
mod full_disk;
mod loading;
mod model;
mod options;
mod requests;
mod scans;
mod subject;
mod table;
