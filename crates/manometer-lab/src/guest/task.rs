//! What a guest is to do, and what came of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ArrangementChoice;
use crate::array::ArrayCounters;
use crate::faults::{FaultTrial, FoundAfterFault, WrittenUntilFault};

/// What a guest is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestTask {
    /// Requests are replayed on the device itself, one at a time.
    Replay {
        /// The array, which the guest builds of its disks: the origin's come first.
        array: ArrangementChoice,
        /// The requests ([`crate::replay::requests`]).
        requests: PathBuf,
        /// Gets the time at which each of them ended.
        times: PathBuf,
    },
    /// A command runs.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// Gets its output and its errors.
        log: PathBuf,
    },
    /// An engine writes until a fault, and then the kernel crashes.
    WriteUntilFault(FaultTrial),
    /// What is left after the fault is taken together and read.
    CheckAfterFault(FaultTrial),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestResult {
    /// The guest's kernel.
    pub kernel: String,
    /// How long the work took, in the guest.
    pub seconds: f64,
    /// What came of the task.
    pub outcome: TaskOutcome,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskOutcome {
    /// What the array of a replay counted since it was complete.
    Counters(ArrayCounters),
    /// The exit status of a command.
    Status(i32),
    /// What was written until a fault, after which the guest's kernel crashed.
    Written(WrittenUntilFault),
    /// What was left after a fault.
    Found(FoundAfterFault),
}
