//! A folder in memory that does to its files whatever a file system and a device may do.
//!
//! It is for tests: of `rlsm` itself, and of programs that use it. Everything that goes wrong is asked for, and what a
//! crash leaves follows from a seed and the operations before it:
//! - Of appends that were not synced nothing survives, or all, or a part up to any byte, or pages of 4 KiB in any
//!   order, each whole, torn or lost; what is lost before something that is kept reads as zeros.
//! - Every change of names that was not synced has happened or not, whether or not those before it have. A file that
//!   was renamed has one name or the other and is whole.
//! - A sync that fails loses what it was to write: it can still be read, later syncs succeed, and a crash shows that it
//!   never reached the device.
//!
//! ```
//! use rlsm::storage::Storage;
//! use rlsm::storage::simulated::Simulated;
//!
//! # fn main() -> std::io::Result<()> {
//! let machine = Simulated::new(7);
//! let file = machine.create("a")?;
//! file.append(b"kept")?;
//! file.sync()?;
//! machine.sync_names()?;
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

mod chance;
mod content;
mod fault;
mod folder;
#[cfg(test)]
mod tests;

pub use fault::Fault;

use chance::Chance;
use content::Content;
use fault::{Operation, Schedule};
use folder::{Folder, Object};

/// A folder in memory, and the handle to what goes wrong in it. A clone is the same folder.
///
/// Every operation of [`Storage`] and [`File`] counts, from 1 on, whether or not it fails. [`Storage::copy`] is
/// several, in both folders; [`Storage::reach`] is none.
#[derive(Debug, Clone)]
pub struct Simulated {
    machine: Arc<Mutex<Machine>>,
}

#[derive(Debug)]
struct Machine {
    folder: Folder,
    schedule: Schedule,
    is_locked: bool,
    /// For what happens while the machine runs.
    chance: Chance,
    /// For what a crash leaves; the number of operations counts for it too.
    seed: u64,
}

impl Machine {
    fn append(&mut self, content: &mut Content, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.schedule.begin(Operation::Append);
        let arrived = match &outcome {
            Ok(()) => bytes.len(),
            Err(_) if self.schedule.crashed => 0,
            Err(_) => self.chance.between(0, bytes.len()),
        };
        content.append(&bytes[..arrived]);
        outcome
    }

    fn sync(&mut self, content: &mut Content) -> io::Result<()> {
        let outcome = self.schedule.begin(Operation::Sync);
        match &outcome {
            Ok(()) => content.sync(),
            Err(_) if self.schedule.crashed => {}
            Err(_) => content.fail_to_sync(&mut self.chance),
        }
        outcome
    }
}

impl Simulated {
    /// An empty folder.
    pub fn new(seed: u64) -> Self {
        Self::with(seed, BTreeMap::new())
    }

    fn with(seed: u64, files: BTreeMap<String, Vec<u8>>) -> Self {
        let machine = Machine {
            folder: Folder::durable(files),
            schedule: Schedule::default(),
            is_locked: false,
            chance: Chance::new(seed),
            seed,
        };
        Self { machine: Arc::new(Mutex::new(machine)) }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock()
    }

    /// Lets the operation of this number fail, or the first one after it that `fault` can strike.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.machine().schedule.faults.entry(operation).or_default().push(fault);
    }

    /// Stops the machine at the operation of this number, which has no effect and fails, like all after it.
    pub fn crash_at_operation(&self, operation: u64) {
        self.machine().schedule.crash_at_operation = Some(operation);
    }

    /// Stops the machine when [`Storage::reach`] tells of this point for the `nth` time, from 1 on.
    pub fn crash_at_point(&self, point: &str, nth: u64) {
        self.machine().schedule.crash_at_points.push((point.to_owned(), nth));
    }

    /// Stops the machine now. Every operation fails from now on.
    pub fn crash(&self) {
        self.machine().schedule.crashed = true;
    }

    /// How many operations there have been.
    pub fn operations(&self) -> u64 {
        self.machine().schedule.operations
    }

    /// The points that were reached, and how often.
    pub fn points(&self) -> BTreeMap<&'static str, u64> {
        self.machine().schedule.points.clone()
    }

    /// Whether the machine has stopped.
    pub fn crashed(&self) -> bool {
        self.machine().schedule.crashed
    }

    /// Stops the machine, if it still runs, and gives one with what survived. Nothing is to go wrong there yet, and its
    /// operations are counted anew.
    #[must_use]
    pub fn reboot(&self) -> Self {
        let mut machine = self.machine();
        machine.schedule.crashed = true;
        let chance = Chance::new(machine.seed).of(machine.schedule.operations);
        let survivor = machine.folder.survivor(&chance);
        Self::with(chance.of(u64::MAX).number(), survivor)
    }

    /// Turns a bit of a file over, on the device and wherever it is kept in memory.
    ///
    /// # Errors
    /// If there is no such file, byte or bit.
    pub fn flip_bit(&self, name: &str, offset: u64, bit: u8) -> io::Result<()> {
        let object = self.machine().folder.get(name)?;
        if bit > 7 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a byte has no bit {bit}")));
        }
        if !object.content.lock().flip_bit(index(offset)?, bit) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn file(&self, object: Arc<Object>) -> Arc<dyn File> {
        Arc::new(SimulatedFile { storage: self.clone(), object })
    }
}

impl Storage for Simulated {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut machine = self.machine();
        machine.schedule.begin(Operation::GiveName)?;
        let object = machine.folder.create(name)?;
        Ok(self.file(object))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut machine = self.machine();
        machine.schedule.begin(Operation::Other)?;
        let object = machine.folder.get(name)?;
        Ok(self.file(object))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut machine = self.machine();
        machine.schedule.begin(Operation::Other)?;
        Ok(machine.folder.names())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut machine = self.machine();
        machine.schedule.begin(Operation::GiveName)?;
        machine.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut machine = self.machine();
        machine.schedule.begin(Operation::Other)?;
        machine.folder.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut machine = self.machine();
        machine.schedule.begin(Operation::Sync)?;
        machine.folder.sync();
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let mut machine = self.machine();
        machine.schedule.begin(Operation::Other)?;
        if std::mem::replace(&mut machine.is_locked, true) {
            return Ok(None);
        }
        Ok(Some(Box::new(Lock(self.clone()))))
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        copy_through(&*self.open(name)?, name, to)
    }

    fn reach(&self, point: &'static str) {
        self.machine().schedule.reach(point);
    }
}

struct Lock(Simulated);

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.machine().is_locked = false;
    }
}

struct SimulatedFile {
    storage: Simulated,
    object: Arc<Object>,
}

impl SimulatedFile {
    /// Does an operation that has no effect if it fails.
    fn with<T>(&self, operation: Operation, then: impl FnOnce(&mut Content) -> io::Result<T>) -> io::Result<T> {
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
        self.with(Operation::Read, |content| {
            let bytes = usize::try_from(offset).ok().and_then(|start| content.seen().get(start..));
            let bytes = bytes.and_then(|bytes| bytes.get(..buffer.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.with(Operation::Other, |content| Ok(content.seen().len() as u64))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let len = index(len)?;
        self.with(Operation::Other, |content| {
            content.truncate(len);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.storage.machine().sync(&mut self.object.content.lock())
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let (offset, len) = (index(offset)?, index(len)?);
        self.with(Operation::Other, |content| {
            content.punch(offset, len);
            Ok(())
        })
    }
}

fn index(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}
