//! A guest's disks that can fail.

use std::path::{Path, PathBuf};

use manometer_measure::{Clock as _, MonotonicClock};

use crate::array::{SECTOR_BYTES, device_bytes};
use crate::{LabError, program};

/// How long the kernel's thread that writes a log may need for what it has.
const LOG_NS: u64 = 500_000_000;

/// Disks behind the device mapper.
pub(super) struct FaultyDisks {
    names: Vec<String>,
    disks: Vec<PathBuf>,
}

impl FaultyDisks {
    /// Passes requests on to `disks`, and logs what is written to each on the one of `logs` in its place, if there are any.
    pub fn create(disks: Vec<PathBuf>, logs: &[PathBuf]) -> Result<Self, LabError> {
        let names: Vec<String> = (0..disks.len()).map(|at| format!("fault-{at}")).collect();
        for (at, (name, disk)) in names.iter().zip(&disks).enumerate() {
            let (sectors, path) = (sectors(disk)?, disk.display());
            let table = match logs.get(at) {
                Some(log) => format!("0 {sectors} log-writes {path} {}", log.display()),
                None => format!("0 {sectors} linear {path} 0"),
            };
            program::run("dmsetup", &["create", name, "--table", &table])?;
        }
        Ok(Self { names, disks })
    }

    /// The devices.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.names.iter().map(|name| Path::new("/dev/mapper").join(name)).collect()
    }

    /// Fails every request to one of them from now on.
    pub fn fail(&self, at: usize) -> Result<(), LabError> {
        let (name, sectors) = (&self.names[at], sectors(&self.disks[at])?);
        program::run("dmsetup", &["suspend", "--noflush", "--nolockfs", name])?;
        program::run("dmsetup", &["load", name, "--table", &format!("0 {sectors} error")])?;
        program::run("dmsetup", &["resume", name]).map(drop)
    }

    /// Completes no request to any of them any more, and waits until their logs are written. To hold one back before
    /// another only delays it.
    pub fn freeze(&self) -> Result<(), LabError> {
        for name in &self.names {
            program::run("dmsetup", &["suspend", "--noflush", "--nolockfs", name])?;
        }
        MonotonicClock.sleep(LOG_NS);
        Ok(())
    }
}

fn sectors(disk: &Path) -> Result<u64, LabError> {
    device_bytes(disk).map(|bytes| bytes / SECTOR_BYTES)
}
