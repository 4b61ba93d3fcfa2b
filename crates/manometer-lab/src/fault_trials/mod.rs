//! Trials of faults: two guests each, and between them what happens to their disks.

mod write_log;

use std::sync::atomic::AtomicBool;

use manometer_measure::ByteSize;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::array;
use crate::faults::{AcknowledgedVersions, Fault, FaultTrial, FoundAfterFault, WrittenUntilFault};
use crate::guest::{DISKS_MAX, GuestMachine, GuestTask, TaskOutcome};

/// The size of a log of writes, a sparse file.
const LOG_BYTES: u64 = 8 << 30;

/// Both engines have room for their logs and for what they write when they open again.
const ORIGIN_BYTES_MIN: u64 = 256 << 20;

/// Checks whether a trial can run.
///
/// # Errors
/// Linux cannot build the arrangement, it is too small, or a guest has not so many disks.
pub fn check(trial: &FaultTrial) -> Result<(), LabError> {
    let arrangement = trial.array.load()?;
    let bytes = arrangement.origin.size.0 / arrangement.scale;
    if bytes < ORIGIN_BYTES_MIN {
        return Err(LabError::Refused(format!(
            "`{}` holds {}, and the engines need {}: raise `origin.size`, or lower `scale`",
            arrangement.name,
            ByteSize(bytes),
            ByteSize(ORIGIN_BYTES_MIN)
        )));
    }
    array::check(&arrangement)?;
    let disks = disk_sizes(trial)?.len();
    if disks > DISKS_MAX {
        return Err(LabError::Refused(format!(
            "`{}` needs {disks} disks for {}, and a guest has at most {DISKS_MAX}",
            arrangement.name,
            trial.fault.name()
        )));
    }
    Ok(())
}

/// The sizes of the guest's disks: the array's, and of a power cut a log for each.
fn disk_sizes(trial: &FaultTrial) -> Result<Vec<u64>, LabError> {
    let mut sizes = array::device_sizes(&trial.array.load()?)?;
    if trial.fault == Fault::PowerCut {
        sizes.extend(vec![LOG_BYTES; sizes.len()]);
    }
    Ok(sizes)
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
    AcknowledgedVersions::create(&trial.acknowledged)?;
    let count = array::device_sizes(&trial.array.load()?)?.len();
    let mut disks = machine.disks(&disk_sizes(trial)?)?;
    let result = machine.run_on(&GuestTask::WriteUntilFault(trial.clone()), &disks, interrupted)?;
    let TaskOutcome::Written(written) = result.outcome else { return Err(LabError::unexpected(&result.outcome)) };
    let logs = disks.split_off(count);
    disks.iter().zip(&logs).try_for_each(|(disk, log)| write_log::replay(log.path(), disk.path()))?;
    drop(logs);
    let result = machine.run_on(&GuestTask::CheckAfterFault(trial.clone()), &disks, interrupted)?;
    let TaskOutcome::Found(found) = result.outcome else { return Err(LabError::unexpected(&result.outcome)) };
    Ok(FaultOutcome { kernel: result.kernel, written, found })
}
