//! Trials of faults: two guests each, and between them what happens to their disks.

mod write_log;

use std::sync::atomic::AtomicBool;

use manometer_cache::tier::Arrangement;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::array;
use crate::faults::{Fault, FaultTrial, FoundAfterFault, Ledger, WrittenUntilFault};
use crate::guest::{GuestMachine, GuestTask, TaskOutcome};

/// The size of a log of writes, a sparse file.
const LOG_BYTES: u64 = 8 << 30;

/// Both engines have room for their logs and for what they write when they open again.
const ORIGIN_BYTES_MIN: u64 = 256 << 20;

/// Checks whether faults can be tried on an arrangement.
///
/// # Errors
/// Linux cannot build it, or it is too small.
pub fn check(arrangement: &Arrangement) -> Result<(), LabError> {
    let bytes = arrangement.origin.size.0 / arrangement.scale;
    if bytes < ORIGIN_BYTES_MIN {
        return Err(LabError::Refused(format!(
            "`{}` holds {bytes} bytes, and the engines need {ORIGIN_BYTES_MIN}: raise `origin.size`, or lower `scale`",
            arrangement.name
        )));
    }
    array::check(arrangement)
}

/// What a fault cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultOutcome {
    /// The guests' kernel.
    pub kernel: String,
    /// What was written until then.
    pub written: WrittenUntilFault,
    /// What was left.
    pub found: FoundAfterFault,
}

/// Runs `trial`.
///
/// # Errors
/// The arrangement is wrong, a guest did not finish, or the engine failed before the fault.
pub fn run_trial(
    machine: &GuestMachine,
    trial: &FaultTrial,
    interrupted: &AtomicBool,
) -> Result<FaultOutcome, LabError> {
    Ledger::create(&trial.ledger)?;
    let mut sizes = array::device_sizes(&trial.array.load()?)?;
    let count = sizes.len();
    if trial.fault == Fault::PowerCut {
        sizes.extend(vec![LOG_BYTES; count]);
    }
    let mut disks = machine.disks(&sizes)?;
    let result = machine.run_on(&GuestTask::WriteUntilFault(trial.clone()), &disks, interrupted)?;
    let TaskOutcome::Written(written) = result.outcome else { return Err(LabError::unexpected(&result.outcome)) };
    let logs = disks.split_off(count);
    disks.iter().zip(&logs).try_for_each(|(disk, log)| write_log::replay(log.path(), disk.path()))?;
    drop(logs);
    let result = machine.run_on(&GuestTask::CheckAfterFault(trial.clone()), &disks, interrupted)?;
    let TaskOutcome::Found(found) = result.outcome else { return Err(LabError::unexpected(&result.outcome)) };
    Ok(FaultOutcome { kernel: result.kernel, written, found })
}
