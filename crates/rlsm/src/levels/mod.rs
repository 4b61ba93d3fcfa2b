//! The levels: versions, version edits, the manifest, and reclaiming the space of obsolete runs.

mod live_run;
mod manifest;
mod reclaimer;
mod recover;
mod run_set;
mod version;
mod version_edit;
mod version_set;

pub(crate) use live_run::LiveRun;
pub(crate) use manifest::NewManifest;
pub(crate) use reclaimer::ExtentReclaimer;
pub(crate) use recover::{ManifestState, RecoveredLevels, newest_manifest, open_levels, read_manifest, recover};
pub(crate) use run_set::RunSet;
pub(crate) use version::{Range, Version, VersionUpdate};
pub(crate) use version_edit::{RunLocation, VersionEdit};
pub(crate) use version_set::VersionSet;
