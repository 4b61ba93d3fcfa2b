//! What every engine must do, whatever it is made of.
//!
//! Each test runs over every engine of the build, by what its [`EngineInfo`] claims: a new engine is
//! tested without a word here. An engine that needs a program which this host has not is skipped, with a
//! message.
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
