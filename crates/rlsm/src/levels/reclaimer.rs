//! Reclaiming the space of obsolete runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::run::{DataFile, Extent, HEADER_BYTES_MAX};
use crate::storage::Storage;
use crate::{Error, Result};

/// Tracks the files with runs in use, and the extents that wait to be reclaimed.
#[derive(Default)]
pub(crate) struct ExtentReclaimer {
    inner: Mutex<ReclaimerState>,
}

#[derive(Default)]
struct ReclaimerState {
    files: HashMap<u64, FileInUse>,
    retired: Vec<(u64, Vec<Extent>)>,
}

/// A file with runs in use.
struct FileInUse {
    file: Arc<DataFile>,
    runs: usize,
    free: FreeExtents,
}

impl ExtentReclaimer {
    pub(super) fn register(&self, file: &Arc<DataFile>) {
        let new = || FileInUse { file: Arc::clone(file), runs: 0, free: FreeExtents::default() };
        self.inner.lock().files.entry(file.number).or_insert_with(new).runs += 1;
    }

    pub(super) fn retire(&self, file: u64, extents: Vec<Extent>) {
        self.inner.lock().retired.push((file, extents));
    }

    /// Whether the file with this number has a run in use.
    pub fn is_file_in_use(&self, file: u64) -> bool {
        self.inner.lock().files.contains_key(&file)
    }

    /// Reclaims the gaps between the extents `live` of a file's runs in use: a crash may have come before that.
    pub fn reclaim_gaps(&self, number: u64, mut live: Vec<Extent>) -> Result<()> {
        let mut inner = self.inner.lock();
        let Some(in_use) = inner.files.get_mut(&number) else { return Ok(()) };
        live.sort_unstable();
        let mut end = HEADER_BYTES_MAX;
        for extent in live {
            if extent.offset > end {
                punch(&in_use.file, in_use.free.add(Extent { offset: end, len: extent.offset - end }))?;
            }
            end = end.max(extent.offset + extent.len);
        }
        Ok(())
    }

    /// Reclaims the retired extents: removes files without a run in use, punches holes into the others.
    pub fn reclaim(&self, storage: &dyn Storage) -> Result<()> {
        let mut removed = Vec::new();
        let mut punched = Vec::new();
        {
            let mut inner = self.inner.lock();
            for (number, extents) in std::mem::take(&mut inner.retired) {
                let Some(in_use) = inner.files.get_mut(&number) else { continue };
                in_use.runs -= 1;
                let merged: Vec<Extent> = extents.into_iter().map(|extent| in_use.free.add(extent)).collect();
                let in_use_name = in_use.file.name.clone();
                if in_use.runs == 0 {
                    inner.files.remove(&number);
                    removed.push(in_use_name);
                } else {
                    punched.push((Arc::clone(&in_use.file), merged));
                }
            }
        }
        for (file, extents) in punched.into_iter().filter(|(file, _)| !removed.contains(&file.name)) {
            for extent in extents {
                storage.fail_point("reclaim: before a hole is punched");
                punch(&file, extent)?;
            }
        }
        for name in removed {
            storage.fail_point("reclaim: before a data file is removed");
            storage.remove(&name).map_err(Error::io("removing", &name))?;
        }
        Ok(())
    }
}

fn punch(file: &DataFile, extent: Extent) -> Result<()> {
    file.file.punch(extent.offset, extent.len).map_err(Error::io("punching a hole into", &file.name))
}

/// The free extents of a file. Adjacent ones are merged: a page that two of them share can be reclaimed only once both
/// are free.
#[derive(Default)]
struct FreeExtents {
    /// Lengths by offset.
    extents: BTreeMap<u64, u64>,
}

impl FreeExtents {
    /// Adds an extent. Returns the merged extent that contains it.
    fn add(&mut self, added: Extent) -> Extent {
        let (mut offset, mut end) = (added.offset, added.offset + added.len);
        if let Some((&before, &len)) = self.extents.range(..=offset).next_back()
            && before + len >= offset
        {
            self.extents.remove(&before);
            (offset, end) = (before, end.max(before + len));
        }
        while let Some((&after, &len)) = self.extents.range(offset..=end).next() {
            self.extents.remove(&after);
            end = end.max(after + len);
        }
        self.extents.insert(offset, end - offset);
        Extent { offset, len: end - offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_free_extents_are_merged() {
        let mut free = FreeExtents::default();
        let mut add = |offset, len| {
            let merged = free.add(Extent { offset, len });
            (merged.offset, merged.len)
        };
        assert_eq!(add(100, 50), (100, 50));
        assert_eq!(add(200, 50), (200, 50));
        assert_eq!(add(150, 50), (100, 150));
        assert_eq!(add(0, 20), (0, 20));
        assert_eq!(add(10, 300), (0, 310));
        assert_eq!(add(400, 1), (400, 1));
    }
}
