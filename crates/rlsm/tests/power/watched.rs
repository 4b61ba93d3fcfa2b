//! What the guest tells beside the file system: writes to the recorded device behind it, past every cache of the guest
//! and without a flush. So the recording has them in order with everything else.

use std::fs::File as SystemFile;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rlsm::storage::{Disk, File, Storage};
use rustix::fs::OFlags;

use crate::device::{ACKNOWLEDGED_AT, BLOCK_BYTES, REACHED_AT};

#[derive(Clone)]
pub struct Teller(Arc<SystemFile>);

#[repr(align(4096))]
struct Block([u8; BLOCK_BYTES]);

impl Teller {
    pub fn on(device: &Path) -> io::Result<Self> {
        let direct = OFlags::DIRECT.bits() as i32;
        Ok(Self(Arc::new(SystemFile::options().write(true).custom_flags(direct).open(device)?)))
    }

    /// The batch of this number was acknowledged.
    pub fn acknowledged(&self, number: u64) {
        self.tell(&number.to_le_bytes(), ACKNOWLEDGED_AT);
    }

    fn tell(&self, what: &[u8], offset: u64) {
        let mut block = Block([0; BLOCK_BYTES]);
        block.0[..what.len()].copy_from_slice(what);
        self.0.write_all_at(&block.0, offset).unwrap();
    }
}

/// A folder that tells of the points that the engine comes to.
pub struct Watched {
    pub disk: Disk,
    pub teller: Teller,
    pub syncs_runs: bool,
}

impl Watched {
    fn watch(&self, name: &str, file: Arc<dyn File>) -> Arc<dyn File> {
        if self.syncs_runs || !name.starts_with("data") { file } else { Arc::new(Unsynced(file)) }
    }
}

impl Storage for Watched {
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

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.disk.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        self.disk.copy(name, to)
    }

    fn place(&self) -> String {
        self.disk.place()
    }

    fn reach(&self, point: &'static str) {
        self.teller.tell(point.as_bytes(), REACHED_AT);
    }
}

/// A file that says it is synced and is not.
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
