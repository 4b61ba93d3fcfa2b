//! Storage whose files are read through `recycle`: pages come by direct I/O into a budget of the database's own, and make
//! room for each other, so that reads neither depend on the kernel's page cache nor take memory of others.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::RwLock;
use recycle::{Advice, Budget, Region};

use super::{File, Storage};

/// Longer reads go past the budget: compactions read whole runs, once.
const READ_BYTES_MAX: usize = 64 << 10;

/// A directory whose files share a budget of pages.
pub(crate) struct RecycledStorage {
    below: Arc<dyn Storage>,
    budget: Budget,
}

impl RecycledStorage {
    /// Reads the files of `below` through `memory_bytes` of pages.
    pub fn new(below: Arc<dyn Storage>, memory_bytes: u64) -> io::Result<Self> {
        let budget = Budget::new(&recycle::Options { memory: memory_bytes, ..recycle::Options::default() })?;
        Ok(Self { below, budget })
    }

    fn recycled(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(RecycledFile { file, budget: self.budget.clone(), region: RwLock::new(None) })
    }
}

impl Storage for RecycledStorage {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(self.recycled(self.below.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(self.recycled(self.below.open(name)?))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.below.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.below.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.below.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.below.sync_directory()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.below.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        self.below.copy(name, to)
    }

    fn description(&self) -> String {
        self.below.description()
    }

    fn fail_point(&self, point: &'static str) {
        Storage::fail_point(&*self.below, point);
    }
}

/// A file that grows at its end. What a region shows of it never changes: bytes are only appended behind it, and where a
/// hole is punched, bytes may read as before.
struct RecycledFile {
    file: Arc<dyn File>,
    budget: Budget,
    /// The file as it was at the last read beyond the region's end.
    region: RwLock<Option<Region>>,
}

impl RecycledFile {
    /// Calls `read` with a region that has these bytes; `None` if the file does not have them.
    fn with_region<T>(
        &self,
        bytes: &Range<u64>,
        read: impl FnOnce(&Region) -> recycle::Result<T>,
    ) -> Option<recycle::Result<T>> {
        let has = |region: &Option<Region>| region.as_ref().is_some_and(|region| bytes.end <= region.len());
        let mut known = self.region.read();
        if !has(&known) {
            drop(known);
            if let Err(error) = self.follow() {
                return Some(Err(error));
            }
            known = self.region.read();
        }
        known.as_ref().filter(|region| bytes.end <= region.len()).map(read)
    }

    /// Takes the file's present length.
    fn follow(&self) -> recycle::Result<()> {
        let mut known = self.region.write();
        if let Some(region) = &mut *known {
            return region.follow();
        }
        let options = recycle::Options { budget: Some(self.budget.clone()), ..recycle::Options::default() };
        let failed = |source| recycle::Error::Io { operation: "reopening", offset: 0, bytes: 0, source };
        *known = Some(match self.file.reopen() {
            Some(file) => Region::open(&file.map_err(failed)?, &options)?,
            None => Region::on(Arc::new(Below(Arc::clone(&self.file))), false, &options)?,
        });
        Ok(())
    }
}

impl File for RecycledFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = offset..offset.saturating_add(buffer.len() as u64);
        if buffer.len() > READ_BYTES_MAX {
            return self.file.read_at(buffer, offset);
        }
        match self.with_region(&bytes, |region| region.read_at(offset, buffer)) {
            Some(Ok(())) => Ok(()),
            // The end of the file, or more readers at once than the budget has pages.
            None | Some(Err(recycle::Error::AllPinned { .. })) => self.file.read_at(buffer, offset),
            Some(Err(error)) => Err(error.into()),
        }
    }

    fn read_cached(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<bool>> {
        let end = offset.saturating_add(buffer.len() as u64);
        let known = self.region.read();
        let region = known.as_ref().filter(|region| end <= region.len());
        let is_read = region.map_or(Ok(false), |region| region.read_resident(offset, buffer))?;
        Ok(Some(is_read))
    }

    /// Of short reads the region notices the streams itself.
    fn will_need(&self, offset: u64, len: u64) {
        if len > READ_BYTES_MAX as u64 {
            self.file.will_need(offset, len);
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn allocated(&self) -> io::Result<u64> {
        self.file.allocated()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        // New bytes may take the place of those cut off.
        *self.region.write() = None;
        self.file.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.punch(offset, len)?;
        if let Some(region) = &*self.region.read() {
            // If this fails, pages that nobody reads any more stay until others need their room.
            let _ = region.advise(offset..offset.saturating_add(len), Advice::DontNeed);
        }
        Ok(())
    }

    fn reopen(&self) -> Option<io::Result<fs::File>> {
        self.file.reopen()
    }
}

/// A file of any storage, as a region reads it.
struct Below(Arc<dyn File>);

impl recycle::storage::Storage for Below {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn read(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let len = self.0.len()?;
        let mut at = offset;
        for buffer in buffers {
            let wanted = len.saturating_sub(at).min(buffer.len() as u64) as usize;
            self.0.read_at(&mut buffer[..wanted], at)?;
            at += wanted as u64;
        }
        Ok((at - offset) as usize)
    }

    fn write(&self, _: u64, _: &[IoSlice<'_>]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::DiskStorage;
    use crate::storage::simulated::SimulatedStorage;

    fn storages() -> (tempfile::TempDir, [RecycledStorage; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let disk = Arc::new(DiskStorage::open(directory.path()).unwrap());
        let recycled = |below| RecycledStorage::new(below, 65_536).unwrap();
        (directory, [recycled(disk), recycled(Arc::new(SimulatedStorage::new(1)))])
    }

    fn byte_at(place: u64) -> u8 {
        (place ^ (place / 4096 * 31)).to_le_bytes()[0]
    }

    fn check(file: &dyn File, offset: u64, len: usize) {
        let mut bytes = vec![0; len];
        file.read_at(&mut bytes, offset).unwrap();
        assert!((offset..).zip(&bytes).all(|(place, byte)| byte_at(place) == *byte), "{len} bytes at {offset}");
    }

    #[test]
    fn a_growing_file_shows_its_bytes_through_little_memory() {
        let (_directory, storages) = storages();
        for storage in storages {
            let file = storage.create("data-000001").unwrap();
            let mut len = 0;
            for step in 1..60_u64 {
                let more: Vec<u8> = (len..len + step * 700).map(byte_at).collect();
                file.append(&more).unwrap();
                len += more.len() as u64;
                for place in (0..len).step_by(5003) {
                    check(&*file, place, (len - place).min(300) as usize);
                }
                check(&*file, len - 1, 1);
                let beyond = file.read_at(&mut [0; 2], len - 1).unwrap_err();
                assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
            }
            assert!(len > 10 * 65_536, "{len} bytes through 64 KiB");
            check(&*file, 3, READ_BYTES_MAX + 1);
            assert!(storage.budget.counters().pages_recycled > 0);
        }
    }

    #[test]
    fn what_is_in_memory_is_known() {
        let (_directory, storages) = storages();
        for storage in storages {
            let file = storage.create("data-000001").unwrap();
            file.append(&(0..9000).map(byte_at).collect::<Vec<_>>()).unwrap();
            let mut byte = [0];
            assert_eq!(file.read_cached(&mut byte, 5000).unwrap(), Some(false));
            check(&*file, 5000, 1);
            assert_eq!(file.read_cached(&mut byte, 5001).unwrap(), Some(true));
            assert_eq!(byte[0], byte_at(5001));
            assert_eq!(file.read_cached(&mut byte, 9000).unwrap(), Some(false));
        }
    }

    #[test]
    fn pages_in_memory_stay_when_the_file_grows() {
        let (_directory, storages) = storages();
        for storage in storages {
            let file = storage.create("data-000001").unwrap();
            file.append(&(0..9000).map(byte_at).collect::<Vec<_>>()).unwrap();
            check(&*file, 0, 9000);
            file.append(&(9000..20_000).map(byte_at).collect::<Vec<_>>()).unwrap();
            check(&*file, 19_000, 1000);
            let mut byte = [0];
            assert_eq!(file.read_cached(&mut byte, 100).unwrap(), Some(true));
            assert_eq!(file.read_cached(&mut byte, 8500).unwrap(), Some(false), "the page in which the file ended");
            check(&*file, 8500, 2000);
        }
    }

    #[test]
    fn a_truncated_file_forgets_what_was_cut_off() {
        let (_directory, storages) = storages();
        for storage in storages {
            let file = storage.create("wal-000001").unwrap();
            file.append(&[1; 6000]).unwrap();
            file.read_at(&mut [0; 8], 5000).unwrap();
            file.truncate(4500).unwrap();
            file.append(&[2; 1500]).unwrap();
            let mut bytes = [0; 600];
            file.read_at(&mut bytes, 4400).unwrap();
            assert_eq!((bytes[99], bytes[100], bytes[599]), (1, 2, 2));
        }
    }

    #[test]
    fn a_removed_file_can_be_read_and_punched() {
        let (_directory, storages) = storages();
        for storage in storages {
            let file = storage.create("data-000001").unwrap();
            file.append(&vec![7; 200_000]).unwrap();
            file.read_at(&mut [0; 8], 5000).unwrap();
            storage.remove("data-000001").unwrap();
            file.punch(0, 100_000).unwrap();
            let mut bytes = [0; 2];
            file.read_at(&mut bytes, 150_000).unwrap();
            assert_eq!(bytes, [7, 7]);
        }
    }
}
