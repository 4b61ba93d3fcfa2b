//! A tree of files that is looked up, opened, read and listed by path: metadata operations on a real file system.
//!
//! The plan completes and checks [`PathsSettings`]. [`run`] creates the tree and runs the threads (`crate::file_threads`).
//! The tree's names and the files' popularity and locality are those of `manometer_trace::synthesis::paths`, which also
//! generates path traces.

mod change;
mod client;
mod mix;
mod open_tree;
mod plan;
mod run;
mod settings;
mod tree;

pub use change::{changeable, read_script};
pub(crate) use plan::PathsPlan;
pub use run::run;
pub use settings::PathsSettings;

/// Checks `settings`, every step of their timetable included.
///
/// # Errors
/// The first invalid setting.
pub fn validate(settings: &PathsSettings) -> Result<(), crate::setting_error::SettingError> {
    PathsPlan::new(settings)?;
    read_script(settings).map_err(|error| {
        let wanted = "write times and changes such as `10m: threads = 8; 20m: locality = 0`";
        crate::setting_error::SettingError::new("script", error, wanted)
    })?;
    Ok(())
}

/// The operations of `settings`, the most frequent first; none where they are invalid.
pub fn operations(settings: &PathsSettings) -> Vec<&'static str> {
    PathsPlan::new(settings).map_or_else(|_| Vec::new(), |plan| plan.mix.operations())
}
