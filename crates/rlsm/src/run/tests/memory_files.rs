//! A minimal storage in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::storage::{File, Storage};

#[derive(Default)]
pub struct MemoryFile {
    pub bytes: Mutex<Vec<u8>>,
    pub syncs: AtomicU64,
    pub reads: AtomicU64,
}

#[derive(Default)]
pub struct MemoryFiles(Mutex<BTreeMap<String, Arc<MemoryFile>>>);

impl MemoryFiles {
    pub fn file(&self, name: &str) -> Arc<MemoryFile> {
        self.0.lock()[name].clone()
    }
}

impl Storage for MemoryFiles {
    fn description(&self) -> String {
        "memory".to_owned()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = Arc::new(MemoryFile::default());
        match self.0.lock().insert(name.to_owned(), file.clone()) {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => Ok(file),
        }
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = self.0.lock().get(name).cloned();
        file.map(|file| file as Arc<dyn File>).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().keys().cloned().collect())
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        Ok(Some(Box::new(())))
    }

    fn copy(&self, _: &str, _: &dyn Storage) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl File for MemoryFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.lock().extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let bytes = self.bytes.lock();
        let part = bytes.get(offset as usize..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().len() as u64)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().truncate(len as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.bytes.lock()[offset as usize..(offset + len) as usize].fill(0);
        Ok(())
    }
}
