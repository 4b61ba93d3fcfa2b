//! What is left after a fault.

use std::path::{Path, PathBuf};

use manometer_target::engine::Engine;
use serde::{Deserialize, Serialize};

use super::acknowledged::{AcknowledgedVersions, KEYS, key_bytes, version_of};
use super::write::open;
use super::{Fault, FaultTrial, MOUNT};
use crate::array::{self, ArraySpec};
use crate::{LabError, program};

/// What can fail on the way back to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The devices that are left make no array.
    Assemble,
    /// The file system cannot be repaired or mounted.
    Mount,
    /// The engine refuses its data.
    Open,
}

/// What was found after a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundAfterFault {
    /// What failed on the way back, and why.
    pub failed: Option<(Stage, String)>,
    /// Whether the check of the file system found damage, which it repaired as far as it could.
    pub damaged: bool,
    /// The keys with an acknowledged version.
    pub keys: u64,
    /// Of them, those that are missing or have an older version than the acknowledged one.
    pub lost: u64,
    /// The acknowledged writes of these keys that came after what is left.
    pub lost_writes: u64,
    /// Of all keys, those with a value that was not written, or that cannot be read.
    pub wrong: u64,
}

/// Takes together what is left of the array of `trial` on `disks`, and compares what the engine has with what was
/// acknowledged.
///
/// # Errors
/// The acknowledged versions cannot be read.
pub fn check_after_fault(trial: &FaultTrial, disks: Vec<PathBuf>) -> Result<FoundAfterFault, LabError> {
    let versions = AcknowledgedVersions::open(&trial.acknowledged)?;
    let mut damaged = false;
    let database = bring_back(trial, disks, &mut damaged);
    let mut found = FoundAfterFault { failed: None, damaged, keys: 0, lost: 0, lost_writes: 0, wrong: 0 };
    match database {
        Ok(engine) => found.read(trial, &versions, &*engine)?,
        Err((stage, error)) => {
            found.failed = Some((stage, error.to_string()));
            found.lose_all(&versions)?;
        }
    }
    Ok(found)
}

fn bring_back(
    trial: &FaultTrial,
    disks: Vec<PathBuf>,
    damaged: &mut bool,
) -> Result<Box<dyn Engine>, (Stage, LabError)> {
    let arrangement = trial.array.load().map_err(|error| (Stage::Assemble, error))?;
    let mut spec = ArraySpec::of_guest(arrangement, disks, None);
    match trial.fault {
        Fault::Crash | Fault::PowerCut => {}
        Fault::DiskFailure => drop(spec.origin.remove(0)),
        Fault::CacheLoss => drop(spec.cache.remove(0)),
    }
    let device = array::assemble(&spec, trial.fault == Fault::CacheLoss).map_err(|error| (Stage::Assemble, error))?;
    mount(&device, damaged).map_err(|error| (Stage::Mount, error))?;
    open(trial).map_err(|error| (Stage::Open, error))
}

/// Mounts the file system at `device`, as a host does that starts: its journal is replayed, and it is repaired if its check
/// finds it damaged.
fn mount(device: &Path, damaged: &mut bool) -> Result<(), LabError> {
    let device = device.display().to_string();
    std::fs::create_dir_all(MOUNT).map_err(LabError::at(MOUNT))?;
    let mount = || program::run("mount", &["-t", "ext4", &device, MOUNT]);
    if mount().is_ok() {
        program::run("umount", &[MOUNT])?;
    }
    *damaged = program::run("e2fsck", &["-f", "-n", &device]).is_err();
    if *damaged {
        // Its status says that it repaired something.
        let _ = program::run("e2fsck", &["-f", "-y", &device]);
    }
    mount().map(drop)
}

impl FoundAfterFault {
    /// Reads every key.
    fn read(
        &mut self,
        trial: &FaultTrial,
        versions: &AcknowledgedVersions,
        engine: &dyn Engine,
    ) -> Result<(), LabError> {
        let mut session = engine.session();
        for key in 0..KEYS {
            let acknowledged = versions.acknowledged(key).map_err(LabError::at(&trial.acknowledged))?;
            self.keys += u64::from(acknowledged > 0);
            let version = match session.get(&key_bytes(key)) {
                Ok(None) => Some(0),
                Ok(Some(value)) => version_of(trial.seed, key, value),
                Err(_) => None,
            };
            match version {
                // One more may have been under way.
                Some(version) if version > acknowledged + 1 => self.wrong += 1,
                Some(version) => self.lose(acknowledged.saturating_sub(version)),
                None => self.wrong += 1,
            }
        }
        Ok(())
    }

    /// Counts that the last `writes` of a key are lost.
    fn lose(&mut self, writes: u64) {
        self.lost += u64::from(writes > 0);
        self.lost_writes += writes;
    }

    fn lose_all(&mut self, versions: &AcknowledgedVersions) -> Result<(), LabError> {
        for key in 0..KEYS {
            let acknowledged = versions.acknowledged(key).map_err(LabError::at("acknowledged"))?;
            self.keys += u64::from(acknowledged > 0);
            self.lose(acknowledged);
        }
        Ok(())
    }
}
