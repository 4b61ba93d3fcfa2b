//! What an array loses of an engine's acknowledged writes when something fails.
//!
//! A guest builds the array on disks that can fail, an engine on it writes, and each acknowledged version goes to a file of
//! the host at once ([`AcknowledgedVersions`]). Then the fault strikes, and the guest's kernel ends. A second guest takes together what is left, has the file system checked, opens the engine and reads every key.

mod acknowledged;
mod check;
mod disks;
mod write;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ArrangementChoice;

pub use acknowledged::AcknowledgedVersions;
pub use check::{FoundAfterFault, Stage, check_after_fault};
pub use write::{WrittenUntilFault, write_until_fault};

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The kernel crashes. The disks keep every write that they have completed.
    Crash,
    /// The power is cut: besides, each disk loses what it was not made to flush.
    PowerCut,
    /// The first disk of the origin fails every request. Writing goes on for a while, and the engine is closed. The disk is
    /// gone afterwards.
    DiskFailure,
    /// The same with the first disk of the cache.
    CacheLoss,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Crash, Self::PowerCut, Self::DiskFailure, Self::CacheLoss];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::PowerCut => "power-cut",
            Self::DiskFailure => "disk-failure",
            Self::CacheLoss => "cache-loss",
        }
    }
}

/// An engine on an array until a fault, and afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultTrial {
    /// The array, of new disks.
    pub array: ArrangementChoice,
    /// The engine: one of [`ENGINES`].
    pub engine: String,
    /// Whether it syncs a write before it acknowledges it.
    pub sync: bool,
    /// The fault.
    pub fault: Fault,
    /// The number of acknowledged writes before it.
    pub writes: u64,
    /// The seed of keys and values.
    pub seed: u64,
    /// The file of the host with the acknowledged versions.
    pub acknowledged: PathBuf,
}

/// The engines, each with the values of its option `sync` by which writes are synced before they are acknowledged, and are
/// not.
pub const ENGINES: [(&str, [&str; 2]); 2] = [("rlsm", ["always", "never"]), ("rocksdb", ["true", "false"])];

/// Where it is mounted.
const MOUNT: &str = "/run/array";

/// The engine's directory in it.
const DATABASE: &str = "/run/array/database";
