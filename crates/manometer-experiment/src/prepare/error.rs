//! Errors of a preparation.

use std::io;
use std::path::PathBuf;

use manometer_measure::{ByteSize, human};
use manometer_target::engine::EngineError;

use super::ledger::LedgerError;
use super::snapshot_error::SnapshotError;
use super::write_account::WriteStop;

/// A preparation that cannot start or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The ledger cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The preparation would exceed the write budget.
    #[error(
        "preparing writes at least {required}, and only {left} of the write budget of {limit} are left: raise \
         `device.write_budget`, or reduce the data"
    )]
    OverBudget {
        /// The bytes that are certainly written.
        required: ByteSize,
        /// `device.write_budget`.
        limit: ByteSize,
        /// The rest of the budget.
        left: ByteSize,
    },
    /// The write budget was exhausted during the preparation.
    #[error("{0}")]
    BudgetExhausted(String),
    /// The disk has too little space.
    #[error(
        "{} has {} of free space{}, and the data need {}: reduce the data, or free space",
        directory.display(), human::bytes(free.0), reservation(*reserved), human::bytes(required.0)
    )]
    OutOfSpace {
        /// The device directory.
        directory: PathBuf,
        /// The size of the data to be written.
        required: ByteSize,
        /// The free space.
        free: ByteSize,
        /// The part of it that must stay free.
        reserved: ByteSize,
    },
    /// A worker could not prepare its data.
    #[error("`{workload}` could not be prepared: {text}")]
    Workload {
        /// The workload.
        workload: String,
        /// Its error.
        text: String,
    },
    /// A snapshot could not be created or restored.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Power-state transitions cannot be disabled.
    #[error(
        "{}: {source}: power-state transitions cannot be disabled; run as root, or remove `prepare.power_states_off`",
        path.display()
    )]
    Power {
        /// The file that controls them.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Power-state transitions that a killed run disabled cannot be restored.
    #[error(
        "{}: {source}: a killed run disabled power-state transitions, and they cannot be restored: run once as root, or \
         reboot",
        path.display()
    )]
    PowerNotRestored {
        /// The file that controls them.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder of a database cannot be locked.
    #[error(transparent)]
    Folder(#[from] EngineError),
    /// A leftover of a killed preparation cannot be removed.
    #[error("{}: {source}: this leftover of a killed preparation must be removed", path.display())]
    Leftover {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The user interrupted it.
    #[error("interrupted while preparing: completed steps are kept, the others are repeated next time")]
    Interrupted,
}

impl From<WriteStop> for PrepareError {
    fn from(stop: WriteStop) -> Self {
        match stop {
            WriteStop::BudgetExhausted(reason) => Self::BudgetExhausted(reason),
            WriteStop::Ledger(error) => Self::Ledger(error),
        }
    }
}

fn reservation(reserved: ByteSize) -> String {
    match reserved.0 {
        0 => String::new(),
        bytes => format!(", of which `prepare.over_provisioning` reserves {}", human::bytes(bytes)),
    }
}

impl PrepareError {
    /// Whether the request was wrong, and nothing was started.
    pub fn is_wrong_request(&self) -> bool {
        matches!(
            self,
            Self::OverBudget { .. }
                | Self::OutOfSpace { .. }
                | Self::Ledger(LedgerError::Damaged { .. })
                | Self::Folder(EngineError::Locked(_))
        )
    }
}
