//! Storage that marks the fail points that the engine reaches.

use std::io;
use std::sync::Arc;

use manometer_testing::power::MarkerWriter;
use rlsm::storage::{DiskStorage, File, Storage};

/// Storage that marks the fail points that the engine reaches.
pub struct MarkedStorage {
    pub disk: DiskStorage,
    pub markers: MarkerWriter,
    pub syncs_runs: bool,
}

impl MarkedStorage {
    fn watch(&self, name: &str, file: Arc<dyn File>) -> Arc<dyn File> {
        if self.syncs_runs || !name.starts_with("data") { file } else { Arc::new(Unsynced(file)) }
    }
}

impl Storage for MarkedStorage {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(self.watch(name, self.disk.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(self.watch(name, Storage::open(&self.disk, name)?))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.disk.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        self.disk.copy(name, to)
    }

    fn description(&self) -> String {
        self.disk.description()
    }

    fn fail_point(&self, point: &'static str) {
        self.markers.reached(point);
    }
}

/// A file whose syncs do nothing.
struct Unsynced(Arc<dyn File>);

impl File for Unsynced {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buffer, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn allocated(&self) -> io::Result<u64> {
        self.0.allocated()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.0.punch(offset, len)
    }
}
