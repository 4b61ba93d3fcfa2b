//! Faults and when they strike.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An operation of any kind fails with `EIO`.
    Any,
    /// [`File::read_at`](crate::storage::File::read_at) fails with `EIO`.
    Read,
    /// [`File::append`](crate::storage::File::append) fails with `EIO`. Any part of the bytes has arrived.
    Append,
    /// [`File::sync`](crate::storage::File::sync) or
    /// [`Storage::sync_directory`](crate::storage::Storage::sync_directory) fails with `EIO`. Some of the file's dirty
    /// pages are lost for good: a later sync succeeds without them.
    Sync,
    /// An operation that takes space (create, append, rename) fails with `ENOSPC`. Any part of an append has arrived.
    NoSpace,
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    Read,
    Append,
    Sync,
    GiveName,
    Other,
}

impl Fault {
    fn applies_to(self, operation: OperationKind) -> bool {
        match self {
            Self::Any => true,
            Self::Read => operation == OperationKind::Read,
            Self::Append => operation == OperationKind::Append,
            Self::Sync => operation == OperationKind::Sync,
            Self::NoSpace => matches!(operation, OperationKind::Append | OperationKind::GiveName),
        }
    }

    fn error(self) -> io::Error {
        match self {
            Self::NoSpace => Errno::NOSPC.into(),
            _ => Errno::IO.into(),
        }
    }
}

/// The faults and crashes to come, and what has happened so far.
#[derive(Debug, Default)]
pub(super) struct FaultSchedule {
    pub operations: u64,
    pub fail_points: BTreeMap<&'static str, u64>,
    pub crashed: bool,
    pub faults: BTreeMap<u64, Vec<Fault>>,
    pub crash_at_operation: Option<u64>,
    pub crash_at_points: Vec<(String, u64)>,
}

impl FaultSchedule {
    /// Counts an operation, and fails if a fault or a crash is due.
    pub fn begin(&mut self, operation: OperationKind) -> io::Result<()> {
        if !self.crashed {
            self.operations += 1;
            self.crashed = self.crash_at_operation == Some(self.operations);
        }
        if self.crashed {
            return Err(io::Error::other("the simulated machine has crashed"));
        }
        self.due(operation).map_or(Ok(()), |fault| Err(fault.error()))
    }

    /// Takes the first due fault that applies to `operation`.
    fn due(&mut self, operation: OperationKind) -> Option<Fault> {
        for (_, faults) in self.faults.range_mut(..=self.operations) {
            if let Some(found) = faults.iter().position(|fault| fault.applies_to(operation)) {
                return Some(faults.remove(found));
            }
        }
        None
    }

    pub fn fail_point(&mut self, point: &'static str) {
        if self.crashed {
            return;
        }
        let arrivals = self.fail_points.entry(point).or_default();
        *arrivals += 1;
        self.crashed = self.crash_at_points.iter().any(|(name, nth)| name == point && nth == arrivals);
    }
}
