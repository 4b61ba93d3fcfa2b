//! Runs in use, and what becomes of those that no longer are.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::RunRef;
use crate::plan::Span;
use crate::run::{DataFile, Extent, HEADER_BYTES_MAX, Run};
use crate::storage::Storage;
use crate::{Error, Result};

/// A run that a version refers to. The last reference to one that has left the levels gives its space back.
pub(crate) struct LiveRun {
    run: Arc<Run>,
    at: RunRef,
    left: AtomicBool,
    grave: Arc<Grave>,
}

impl LiveRun {
    pub fn new(run: Arc<Run>, grave: &Arc<Grave>) -> Arc<Self> {
        let at = RunRef { file: run.file.number, footer: run.footer };
        grave.register(&run.file);
        Arc::new(Self { run, at, left: AtomicBool::new(false), grave: Arc::clone(grave) })
    }

    pub fn at(&self) -> RunRef {
        self.at
    }

    /// The lowest and the highest key that the run has a version of or deletes.
    pub fn span_with_deletes(&self) -> Span {
        let deletes = &self.range_deletes;
        let low = deletes.iter().map(|delete| &*delete.low).chain(self.entry_span().map(|(low, _)| low)).min();
        let high = deletes.iter().map(|delete| &*delete.high).chain(self.entry_span().map(|(_, high)| high)).max();
        Span { low: low.unwrap_or_default().into(), high: high.unwrap_or_default().into() }
    }

    fn entry_span(&self) -> Option<(&[u8], &[u8])> {
        (self.entries > 0).then(|| (&*self.low, &*self.high))
    }

    /// The run is in no version from now on; older versions may still be read.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }
}

impl Deref for LiveRun {
    type Target = Arc<Run>;

    fn deref(&self) -> &Arc<Run> {
        &self.run
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        if self.left.load(Ordering::Acquire) {
            self.grave.bury(self.at.file, self.run.extents());
        }
    }
}

/// The data files with what of them is in use, and the space that waits to be given back.
#[derive(Default)]
pub(crate) struct Grave {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    files: HashMap<u64, InUse>,
    buried: Vec<(u64, Vec<Extent>)>,
}

/// A data file with a run in use.
struct InUse {
    file: Arc<DataFile>,
    runs: usize,
    dead: Dead,
}

impl Grave {
    fn register(&self, file: &Arc<DataFile>) {
        let new = || InUse { file: Arc::clone(file), runs: 0, dead: Dead::default() };
        self.inner.lock().files.entry(file.number).or_insert_with(new).runs += 1;
    }

    fn bury(&self, file: u64, extents: Vec<Extent>) {
        self.inner.lock().buried.push((file, extents));
    }

    /// Whether a run in use lies in the file of this number.
    pub fn holds(&self, file: u64) -> bool {
        self.inner.lock().files.contains_key(&file)
    }

    /// Gives back what lies between the extents `live` of a file's runs in use: a crash may have come before that.
    pub fn clear_between(&self, number: u64, mut live: Vec<Extent>) -> Result<()> {
        let mut inner = self.inner.lock();
        let Some(in_use) = inner.files.get_mut(&number) else { return Ok(()) };
        live.sort_unstable();
        let mut end = HEADER_BYTES_MAX;
        for extent in live {
            if extent.offset > end {
                punch(&in_use.file, in_use.dead.add(Extent { offset: end, len: extent.offset - end }))?;
            }
            end = end.max(extent.offset + extent.len);
        }
        Ok(())
    }

    /// Gives back what waits: removes files without a run in use, punches the others.
    pub fn clear(&self, storage: &dyn Storage) -> Result<()> {
        let mut removed = Vec::new();
        let mut punched = Vec::new();
        {
            let mut inner = self.inner.lock();
            for (number, extents) in std::mem::take(&mut inner.buried) {
                let Some(in_use) = inner.files.get_mut(&number) else { continue };
                in_use.runs -= 1;
                let grown: Vec<Extent> = extents.into_iter().map(|extent| in_use.dead.add(extent)).collect();
                let in_use_name = in_use.file.name.clone();
                if in_use.runs == 0 {
                    inner.files.remove(&number);
                    removed.push(in_use_name);
                } else {
                    punched.push((Arc::clone(&in_use.file), grown));
                }
            }
        }
        for (file, extents) in punched.into_iter().filter(|(file, _)| !removed.contains(&file.name)) {
            for extent in extents {
                storage.reach("reclaim: before the space of a run is given back");
                punch(&file, extent)?;
            }
        }
        for name in removed {
            storage.reach("reclaim: before a data file is removed");
            storage.remove(&name).map_err(Error::io("removing", &name))?;
        }
        Ok(())
    }
}

fn punch(file: &DataFile, extent: Extent) -> Result<()> {
    file.file.punch(extent.offset, extent.len).map_err(Error::io("giving back space of", &file.name))
}

/// The extents of a file that are in no use, neighbours as one: a page that two of them share can be given back only
/// once both are dead.
#[derive(Default)]
struct Dead {
    /// Offsets with lengths.
    extents: BTreeMap<u64, u64>,
}

impl Dead {
    /// Adds an extent and returns the one that it has become part of.
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
    fn dead_neighbours_become_one() {
        let mut dead = Dead::default();
        let mut add = |offset, len| {
            let grown = dead.add(Extent { offset, len });
            (grown.offset, grown.len)
        };
        assert_eq!(add(100, 50), (100, 50));
        assert_eq!(add(200, 50), (200, 50));
        assert_eq!(add(150, 50), (100, 150));
        assert_eq!(add(0, 20), (0, 20));
        assert_eq!(add(10, 300), (0, 310));
        assert_eq!(add(400, 1), (400, 1));
    }
}
