//! A folder that is only read: what is written to it stays in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{File, Storage, copy_through};

/// A folder as it is, and above it in memory what was changed since.
pub(crate) struct Overlay {
    below: Arc<dyn Storage>,
    above: Mutex<Above>,
}

#[derive(Default)]
struct Above {
    made: BTreeMap<String, Arc<Made>>,
    /// Names of the folder below that were taken away.
    gone: BTreeSet<String>,
}

impl Overlay {
    /// Nothing changed yet.
    pub fn over(below: Arc<dyn Storage>) -> Self {
        Self { below, above: Mutex::default() }
    }
}

impl Storage for Overlay {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        if self.list()?.iter().any(|listed| listed == name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(Made::default());
        self.above.lock().made.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let above = self.above.lock();
        match above.made.get(name) {
            Some(file) => Ok(Arc::clone(file) as Arc<dyn File>),
            None if above.gone.contains(name) => Err(io::ErrorKind::NotFound.into()),
            None => Ok(Arc::new(Kept(self.below.open(name)?))),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let below = self.below.list()?;
        let above = self.above.lock();
        let mut names: Vec<String> = below.into_iter().filter(|name| !above.gone.contains(name)).collect();
        names.extend(above.made.keys().cloned());
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut above = self.above.lock();
        let Some(file) = above.made.remove(from) else { return Err(io::ErrorKind::ReadOnlyFilesystem.into()) };
        above.made.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if !self.list()?.iter().any(|listed| listed == name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut above = self.above.lock();
        above.made.remove(name);
        above.gone.insert(name.to_owned());
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.below.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        copy_through(&*self.open(name)?, name, to)
    }

    fn place(&self) -> String {
        self.below.place()
    }
}

/// A file in memory.
#[derive(Default)]
struct Made(RwLock<Vec<u8>>);

impl File for Made {
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

/// A file of the folder below, which stays as it is.
struct Kept(Arc<dyn File>);

impl File for Kept {
    fn append(&self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buffer, offset)
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
