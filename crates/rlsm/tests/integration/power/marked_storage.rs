//! The guest's markers: writes to the recorded device after the file system, past every cache of the guest and without
//! a flush. So the recording has them in order with everything else.

use std::fs::File as SystemFile;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rlsm::storage::{DiskStorage, File, Storage};
use rustix::fs::OFlags;

use super::device::{ACKNOWLEDGED_AT, BLOCK_BYTES, REACHED_AT};

#[derive(Clone)]
pub struct MarkerWriter(Arc<SystemFile>);

#[repr(align(4096))]
struct Block([u8; BLOCK_BYTES]);

impl MarkerWriter {
    pub fn on(device: &Path) -> io::Result<Self> {
        let direct = OFlags::DIRECT.bits() as i32;
        Ok(Self(Arc::new(SystemFile::options().write(true).custom_flags(direct).open(device)?)))
    }

    /// Marks the batch with this number as acknowledged.
    pub fn acknowledged(&self, number: u64) {
        self.write(&number.to_le_bytes(), ACKNOWLEDGED_AT);
    }

    fn write(&self, marker: &[u8], offset: u64) {
        let mut block = Block([0; BLOCK_BYTES]);
        block.0[..marker.len()].copy_from_slice(marker);
        self.0.write_all_at(&block.0, offset).unwrap();
    }
}

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
        self.markers.write(point.as_bytes(), REACHED_AT);
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
