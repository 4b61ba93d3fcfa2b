//! Files that are created, written, appended to, read, made durable, looked up and deleted: Filebench's file server, mail
//! server and database, on a real file system.
//!
//! [`FilesSettings`] say what, the plan fills in the numbers and checks them, [`run`] makes the files and has threads
//! work on them. One file holds each personality's turn, `fileserver.rs` and `varmail.rs`; `oltp` has a folder for its
//! kinds of threads.

mod aligned_buffer;
mod change;
mod client;
mod counts;
mod directory_tree;
mod error;
mod file_io;
mod file_pool;
mod file_tree;
mod fileserver;
mod oltp;
mod operation;
mod pace;
mod plan;
mod run;
mod settings;
mod shared;
mod sizes;
#[cfg(test)]
mod tests;
mod thread_gate;
mod tree_worker;
mod varmail;
mod workload;

pub use change::changeable;
pub use error::FilesError;
pub(crate) use plan::FilesPlan;
pub use run::run;
pub use settings::{FilesSettings, Personality};

/// Checks `settings`.
///
/// # Errors
/// The first setting that is wrong, with what would be right.
pub fn validate(settings: &FilesSettings) -> Result<(), crate::setting_error::SettingError> {
    FilesPlan::new(settings).map(drop)
}

/// The operations that `settings` do; none where they are not valid.
pub fn operations(settings: &FilesSettings) -> Vec<&'static str> {
    FilesPlan::new(settings)
        .map_or_else(|_| Vec::new(), |plan| plan.operations().iter().map(|one| one.name()).collect())
}

/// Whether a run leaves the files as it found them, so that they can be made ahead.
pub fn is_stable(settings: &FilesSettings) -> bool {
    FilesPlan::new(settings).is_ok_and(|plan| plan.is_stable())
}

/// The bytes a second that `settings` write, about; nothing where only the device bounds it.
pub fn writes_per_s(settings: &FilesSettings) -> Option<f64> {
    FilesPlan::new(settings).ok()?.writes_per_s()
}
