//! RAID levels.

use serde::{Deserialize, Serialize};

/// How the devices of an array store data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaidLevel {
    /// A single device, or unknown.
    #[default]
    None,
    /// Striping.
    Raid0,
    /// Mirroring over all devices.
    Raid1,
    /// Striping over mirrored pairs.
    Raid10,
    /// Striping with rotating parity.
    Raid5,
}
