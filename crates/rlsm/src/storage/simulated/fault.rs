//! When something goes wrong, and what.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An operation of any kind fails with `EIO`.
    Any,
    /// [`File::read_at`](crate::storage::File::read_at) fails with `EIO`.
    Read,
    /// [`File::append`](crate::storage::File::append) fails with `EIO`. Any part of the bytes has arrived.
    Append,
    /// [`File::sync`](crate::storage::File::sync) or [`Storage::sync_names`](crate::storage::Storage::sync_names)
    /// fails with `EIO`. Some of what the file's sync was to write is lost for good: a later sync succeeds without it.
    Sync,
    /// What takes space (a file's creation, an append, another name) fails with `ENOSPC`. Of an append, any part of the
    /// bytes has arrived.
    NoSpace,
}

/// What kind an operation is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Append,
    Sync,
    GiveName,
    Other,
}

impl Fault {
    fn strikes(self, operation: Operation) -> bool {
        match self {
            Self::Any => true,
            Self::Read => operation == Operation::Read,
            Self::Append => operation == Operation::Append,
            Self::Sync => operation == Operation::Sync,
            Self::NoSpace => matches!(operation, Operation::Append | Operation::GiveName),
        }
    }

    fn error(self) -> io::Error {
        match self {
            Self::NoSpace => Errno::NOSPC.into(),
            _ => Errno::IO.into(),
        }
    }
}

/// What is to go wrong, and what has happened so far.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub operations: u64,
    pub points: BTreeMap<&'static str, u64>,
    pub crashed: bool,
    pub faults: BTreeMap<u64, Vec<Fault>>,
    pub crash_at_operation: Option<u64>,
    pub crash_at_points: Vec<(String, u64)>,
}

impl Schedule {
    /// Counts an operation and says whether it goes well.
    pub fn begin(&mut self, operation: Operation) -> io::Result<()> {
        if !self.crashed {
            self.operations += 1;
            self.crashed = self.crash_at_operation == Some(self.operations);
        }
        if self.crashed {
            return Err(io::Error::other("the simulated machine has crashed"));
        }
        self.due(operation).map_or(Ok(()), |fault| Err(fault.error()))
    }

    /// Takes the first fault that is due and strikes `operation`.
    fn due(&mut self, operation: Operation) -> Option<Fault> {
        for (_, faults) in self.faults.range_mut(..=self.operations) {
            if let Some(found) = faults.iter().position(|fault| fault.strikes(operation)) {
                return Some(faults.remove(found));
            }
        }
        None
    }

    pub fn reach(&mut self, point: &'static str) {
        if self.crashed {
            return;
        }
        let arrivals = self.points.entry(point).or_default();
        *arrivals += 1;
        self.crashed = self.crash_at_points.iter().any(|(name, nth)| name == point && nth == arrivals);
    }
}
