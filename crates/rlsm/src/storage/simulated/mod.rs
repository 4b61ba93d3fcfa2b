//! A simulated directory in memory that does to its files everything that a file system and a device may do.
//!
//! It is for tests, of `rlsm` itself and of programs that use it. The test requests every fault; what a crash leaves
//! follows from a seed and the operations before it:
//! - Of unsynced appends nothing survives, or all, or a part up to any byte, or pages of 4 KiB in any order, each
//!   whole, torn or lost. A lost part before a surviving one reads as zeros.
//! - Each unsynced creation, rename and removal has happened or not, independently of those before it. A renamed file
//!   has one name or the other, and is whole.
//! - A failed sync loses what it was to write: it can still be read, later syncs succeed, and after a crash it is
//!   missing.
//!
//! ```
//! use rlsm::storage::Storage;
//! use rlsm::storage::simulated::SimulatedStorage;
//!
//! # fn main() -> std::io::Result<()> {
//! let machine = SimulatedStorage::new(7);
//! let file = machine.create("a")?;
//! file.append(b"kept")?;
//! file.sync()?;
//! machine.sync_directory()?;
//! machine.crash_at_operation(machine.operations() + 1);
//! assert!(file.append(b", or not").is_err());
//! assert!(machine.crashed());
//!
//! let machine = machine.reboot();
//! let mut bytes = [0; 4];
//! machine.open("a")?.read_at(&mut bytes, 0)?;
//! assert_eq!(&bytes, b"kept");
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::{File, Storage, copy_through};

mod content;
mod directory;
mod fault;
mod rng;
#[cfg(test)]
mod tests;

pub use fault::Fault;

use content::FileContent;
use directory::{Directory, Inode};
use fault::{FaultSchedule, OperationKind};
use rng::SeededRng;

/// A simulated directory with its faults. Clones share it.
///
/// Every operation of [`Storage`] and [`File`] counts, from 1, whether or not it fails. [`Storage::copy`] counts as
/// several, in both directories, [`Storage::fail_point`] as none.
#[derive(Debug, Clone)]
pub struct SimulatedStorage {
    machine: Arc<Mutex<SimulatedMachine>>,
}

#[derive(Debug)]
struct SimulatedMachine {
    directory: Directory,
    schedule: FaultSchedule,
    is_locked: bool,
    /// For faults while the machine runs.
    rng: SeededRng,
    /// For what a crash leaves, together with the number of operations.
    seed: u64,
}

impl SimulatedMachine {
    fn append(&mut self, content: &mut FileContent, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.schedule.begin(OperationKind::Append);
        let arrived = match &outcome {
            Ok(()) => bytes.len(),
            Err(_) if self.schedule.crashed => 0,
            Err(_) => self.rng.between(0, bytes.len()),
        };
        content.append(&bytes[..arrived]);
        outcome
    }

    fn sync(&mut self, content: &mut FileContent) -> io::Result<()> {
        let outcome = self.schedule.begin(OperationKind::Sync);
        match &outcome {
            Ok(()) => content.sync(),
            Err(_) if self.schedule.crashed => {}
            Err(_) => content.fail_to_sync(&mut self.rng),
        }
        outcome
    }
}

impl SimulatedStorage {
    /// An empty directory.
    pub fn new(seed: u64) -> Self {
        Self::with(seed, BTreeMap::new())
    }

    fn with(seed: u64, files: BTreeMap<String, Vec<u8>>) -> Self {
        let machine = SimulatedMachine {
            directory: Directory::durable(files),
            schedule: FaultSchedule::default(),
            is_locked: false,
            rng: SeededRng::new(seed),
            seed,
        };
        Self { machine: Arc::new(Mutex::new(machine)) }
    }

    fn machine(&self) -> MutexGuard<'_, SimulatedMachine> {
        self.machine.lock()
    }

    /// Makes the operation with this number fail, or the first one after it that `fault` applies to.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.machine().schedule.faults.entry(operation).or_default().push(fault);
    }

    /// Crashes the machine at the operation with this number: it has no effect and fails, like all after it.
    pub fn crash_at_operation(&self, operation: u64) {
        self.machine().schedule.crash_at_operation = Some(operation);
    }

    /// Crashes the machine when it reaches this [`Storage::fail_point`] for the `nth` time, from 1.
    pub fn crash_at_point(&self, point: &str, nth: u64) {
        self.machine().schedule.crash_at_points.push((point.to_owned(), nth));
    }

    /// Crashes the machine now: every operation fails from now on.
    pub fn crash(&self) {
        self.machine().schedule.crashed = true;
    }

    /// The number of operations so far.
    pub fn operations(&self) -> u64 {
        self.machine().schedule.operations
    }

    /// The fail points reached, with how often.
    pub fn fail_points(&self) -> BTreeMap<&'static str, u64> {
        self.machine().schedule.fail_points.clone()
    }

    /// Whether the machine has crashed.
    pub fn crashed(&self) -> bool {
        self.machine().schedule.crashed
    }

    /// Crashes the machine, if it still runs, and returns one with what survived. That one has no faults scheduled, and
    /// counts operations from 0.
    #[must_use]
    pub fn reboot(&self) -> Self {
        let mut machine = self.machine();
        machine.schedule.crashed = true;
        let rng = SeededRng::new(machine.seed).of(machine.schedule.operations);
        let after_crash = machine.directory.after_crash(&rng);
        Self::with(rng.of(u64::MAX).number(), after_crash)
    }

    /// Flips a bit of a file, on the device and in memory.
    ///
    /// # Errors
    /// There is no such file, byte or bit.
    pub fn flip_bit(&self, name: &str, offset: u64, bit: u8) -> io::Result<()> {
        let object = self.machine().directory.get(name)?;
        if bit > 7 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a byte has no bit {bit}")));
        }
        if !object.content.lock().flip_bit(index(offset)?, bit) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn file(&self, object: Arc<Inode>) -> Arc<dyn File> {
        Arc::new(SimulatedFile { storage: self.clone(), object })
    }
}

impl Storage for SimulatedStorage {
    fn description(&self) -> String {
        "memory".to_owned()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut machine = self.machine();
        machine.schedule.begin(OperationKind::GiveName)?;
        let object = machine.directory.create(name)?;
        Ok(self.file(object))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut machine = self.machine();
        machine.schedule.begin(OperationKind::Other)?;
        let object = machine.directory.get(name)?;
        Ok(self.file(object))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut machine = self.machine();
        machine.schedule.begin(OperationKind::Other)?;
        Ok(machine.directory.names())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut machine = self.machine();
        machine.schedule.begin(OperationKind::GiveName)?;
        machine.directory.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut machine = self.machine();
        machine.schedule.begin(OperationKind::Other)?;
        machine.directory.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut machine = self.machine();
        machine.schedule.begin(OperationKind::Sync)?;
        machine.directory.sync();
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let mut machine = self.machine();
        machine.schedule.begin(OperationKind::Other)?;
        if std::mem::replace(&mut machine.is_locked, true) {
            return Ok(None);
        }
        Ok(Some(Box::new(SimulatedLock(self.clone()))))
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        copy_through(&*self.open(name)?, name, to)
    }

    fn fail_point(&self, point: &'static str) {
        self.machine().schedule.fail_point(point);
    }
}

struct SimulatedLock(SimulatedStorage);

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.0.machine().is_locked = false;
    }
}

struct SimulatedFile {
    storage: SimulatedStorage,
    object: Arc<Inode>,
}

impl SimulatedFile {
    /// Runs an operation that has no effect if it fails.
    fn with<T>(&self, operation: OperationKind, then: impl FnOnce(&mut FileContent) -> io::Result<T>) -> io::Result<T> {
        let mut machine = self.storage.machine();
        machine.schedule.begin(operation)?;
        then(&mut self.object.content.lock())
    }
}

impl File for SimulatedFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.storage.machine().append(&mut self.object.content.lock(), bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.with(OperationKind::Read, |content| {
            let bytes = usize::try_from(offset).ok().and_then(|start| content.current().get(start..));
            let bytes = bytes.and_then(|bytes| bytes.get(..buffer.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.with(OperationKind::Other, |content| Ok(content.current().len() as u64))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let len = index(len)?;
        self.with(OperationKind::Other, |content| {
            content.truncate(len);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.storage.machine().sync(&mut self.object.content.lock())
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let (offset, len) = (index(offset)?, index(len)?);
        self.with(OperationKind::Other, |content| {
            content.punch(offset, len);
            Ok(())
        })
    }
}

fn index(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}
