//! Why a preparation cannot be, or not to its end.

use std::io;
use std::path::PathBuf;

use manometer_measure::ByteSize;
use manometer_target::engine::EngineError;

use super::account::Halt;
use super::ledger::LedgerError;
use super::snapshot::SnapshotError;

/// A preparation that cannot be, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The ledger cannot be kept.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// What is known to be written would pass the budget.
    #[error(
        "preparing writes at least {wanted}, and of the write budget {limit} only {left} are left: raise \
         `device.write_budget`, or make the data smaller"
    )]
    OverBudget {
        /// What is known to be written.
        wanted: ByteSize,
        /// `device.write_budget`.
        limit: ByteSize,
        /// What is left of it.
        left: ByteSize,
    },
    /// The budget was spent on the way.
    #[error("{0}")]
    Budget(String),
    /// The data do not fit.
    #[error(
        "{} has {free} free, and {kept} have to stay so (`prepare.over_provisioning`): what is still to be written takes \
         {wanted}; make the data smaller, or free space",
        directory.display()
    )]
    Space {
        /// The device directory.
        directory: PathBuf,
        /// What is to be written.
        wanted: ByteSize,
        /// What is free.
        free: ByteSize,
        /// What has to stay free.
        kept: ByteSize,
    },
    /// A worker could not prepare its data.
    #[error("`{workload}` could not be prepared: {text}")]
    Workload {
        /// The workload.
        workload: String,
        /// What it said.
        text: String,
    },
    /// A snapshot could not be made or put back.
    #[error(transparent)]
    Snapshot(SnapshotError),
    /// Power-state transitions cannot be switched.
    #[error(
        "{}: {source}: power-state transitions cannot be switched; run as root, or leave `prepare.power_states_off` \
         out",
        path.display()
    )]
    Power {
        /// The file that switches them.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Power-state transitions that a run switched cannot be switched back.
    #[error(
        "{}: {source}: a run that was cut switched power-state transitions off, and they cannot be switched on again: run \
         once as root, or start the host anew",
        path.display()
    )]
    PowerLeft {
        /// The file that switches them.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A database's folder cannot be had.
    #[error(transparent)]
    Folder(#[from] EngineError),
    /// A leftover of a preparation that was cut cannot be removed.
    #[error("{}: {source}: it was left by a preparation that was cut, and has to be removed", path.display())]
    Leftover {
        /// The folder.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// Somebody ended it.
    #[error("interrupted while preparing: what was done to its end is kept, the rest is made anew next time")]
    Interrupted,
}

impl From<SnapshotError> for PrepareError {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Stopped(reason) => *reason,
            other => Self::Snapshot(other),
        }
    }
}

impl From<Halt> for PrepareError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Spent(reason) => Self::Budget(reason),
            Halt::Ledger(error) => Self::Ledger(error),
        }
    }
}

impl PrepareError {
    /// Whether another request would have been right, and nothing was begun.
    pub fn is_wrong_request(&self) -> bool {
        matches!(
            self,
            Self::OverBudget { .. }
                | Self::Space { .. }
                | Self::Ledger(LedgerError::Damaged { .. })
                | Self::Folder(EngineError::Locked(_))
        )
    }
}
