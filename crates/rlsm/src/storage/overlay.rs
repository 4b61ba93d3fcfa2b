//! Read-only storage: changes stay in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{File, Storage, copy_through};

/// A directory with changes in memory on top.
pub(crate) struct OverlayStorage {
    below: Arc<dyn Storage>,
    changes: Mutex<OverlayChanges>,
}

#[derive(Default)]
struct OverlayChanges {
    created: BTreeMap<String, Arc<MemoryFile>>,
    /// Names of the directory below that are removed.
    removed: BTreeSet<String>,
}

impl OverlayStorage {
    /// An overlay without changes.
    pub fn new(below: Arc<dyn Storage>) -> Self {
        Self { below, changes: Mutex::default() }
    }
}

impl Storage for OverlayStorage {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        if self.list()?.iter().any(|listed| listed == name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(MemoryFile::default());
        self.changes.lock().created.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let changes = self.changes.lock();
        match changes.created.get(name) {
            Some(file) => Ok(Arc::clone(file) as Arc<dyn File>),
            None if changes.removed.contains(name) => Err(io::ErrorKind::NotFound.into()),
            None => Ok(Arc::new(ReadOnlyFile(self.below.open(name)?))),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let below = self.below.list()?;
        let changes = self.changes.lock();
        let mut names: Vec<String> = below.into_iter().filter(|name| !changes.removed.contains(name)).collect();
        names.extend(changes.created.keys().cloned());
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut changes = self.changes.lock();
        let Some(file) = changes.created.remove(from) else { return Err(io::ErrorKind::ReadOnlyFilesystem.into()) };
        changes.created.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if !self.list()?.iter().any(|listed| listed == name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut changes = self.changes.lock();
        changes.created.remove(name);
        changes.removed.insert(name.to_owned());
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.below.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        copy_through(&*self.open(name)?, name, to)
    }

    fn description(&self) -> String {
        self.below.description()
    }
}

/// A file in memory.
#[derive(Default)]
struct MemoryFile(RwLock<Vec<u8>>);

impl File for MemoryFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.write().extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let content = self.0.read();
        let from = usize::try_from(offset).ok().and_then(|offset| content.get(offset..));
        let bytes = from.and_then(|rest| rest.get(..buffer.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.read().len() as u64)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.write().resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn punch(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// A file of the directory below, which is not changed.
struct ReadOnlyFile(Arc<dyn File>);

impl File for ReadOnlyFile {
    fn append(&self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buffer, offset)
    }

    #[cfg(feature = "recycle")]
    fn reopen(&self) -> Option<io::Result<std::fs::File>> {
        self.0.reopen()
    }

    fn will_need(&self, offset: u64, len: u64) {
        self.0.will_need(offset, len);
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn allocated(&self) -> io::Result<u64> {
        self.0.allocated()
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn punch(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}
