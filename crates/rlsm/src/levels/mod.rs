//! What lies on the device, and the one place that changes it.

mod edit;
mod live;
mod manifest;
mod recover;
mod runs;
mod version;

pub(crate) use edit::{Edit, RunRef};
pub(crate) use live::{Grave, LiveRun};
pub(crate) use manifest::{Levels, NewManifest};
pub(crate) use recover::{Recovered, Told, newest_manifest, open_levels, read_manifest, recover};
pub(crate) use runs::Runs;
pub(crate) use version::{Change, Range, Version};
