//! Files that are created, written, appended to, read, made durable, looked up and deleted: Filebench's file server, mail
//! server and database, on a real file system.
//!
//! The plan completes and checks [`FilesSettings`], [`run`] creates the files and runs the threads
//! (`crate::file_threads`). `fileserver.rs` and `varmail.rs` hold the loop of each personality; `oltp` has a folder for its
//! kinds of threads.

mod aligned_buffer;
mod append_size;
mod change;
mod client;
mod directory_tree;
mod file_pool;
mod file_tree;
mod fileserver;
mod oltp;
mod oltp_ratios;
mod plan;
mod run;
mod settings;
#[cfg(test)]
mod tests;
mod tree_worker;
mod varmail;

pub use crate::file_threads::FilesError;
pub use change::changeable;
pub(crate) use plan::FilesPlan;
pub use run::run;
pub use settings::{FilesSettings, Personality};

/// Checks `settings`.
///
/// # Errors
/// The first invalid setting.
pub fn validate(settings: &FilesSettings) -> Result<(), crate::setting_error::SettingError> {
    FilesPlan::new(settings).map(drop)
}

/// The operations of `settings`; none where they are invalid.
pub fn operations(settings: &FilesSettings) -> Vec<&'static str> {
    match FilesPlan::new(settings) {
        Ok(plan) => plan::operations(plan.personality).iter().map(|one| one.name()).collect(),
        Err(_) => Vec::new(),
    }
}

/// Whether a run leaves the files as it found them, so that they can be created ahead.
pub fn is_stable(settings: &FilesSettings) -> bool {
    FilesPlan::new(settings).is_ok_and(|plan| plan.is_stable())
}

/// The approximate bytes per second that `settings` write; nothing where only the device limits them.
pub fn writes_per_s(settings: &FilesSettings) -> Option<f64> {
    FilesPlan::new(settings).ok()?.writes_per_s()
}
