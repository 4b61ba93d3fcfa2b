//! The engine rlsm as a mapping from bytes to bytes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use rlsm::{Iter, KvPair, Options};
use serde_json::json;

use crate::error;

/// An open database.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Database {
    open: RwLock<Option<Arc<rlsm::Database>>>,
    is_read_only: bool,
}

/// A snapshot of a database.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Snapshot(rlsm::Snapshot);

/// A batch of writes.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Batch(Mutex<rlsm::Batch>);

/// An iterator over keys in order with their values.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Pairs(Mutex<ReadAhead>);

/// A chunk of an iterator, read ahead.
struct ReadAhead {
    pairs: Iter,
    /// The error that ends it after the pairs returned before.
    failed: Option<rlsm::Error>,
}

/// Maximum size of a chunk in bytes.
const AHEAD_BYTES: usize = 1 << 20;

impl ReadAhead {
    fn next(&mut self, most: usize) -> rlsm::Result<Vec<KvPair>> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let (mut read, mut bytes) = (Vec::new(), 0);
        while read.len() < most && bytes < AHEAD_BYTES {
            match self.pairs.next() {
                None => break,
                Some(Ok(pair)) => {
                    bytes += pair.0.len() + pair.1.len();
                    read.push(pair);
                }
                Some(Err(error)) if read.is_empty() => return Err(error),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(read)
    }
}

impl From<Iter> for Pairs {
    fn from(pairs: Iter) -> Self {
        Self(Mutex::new(ReadAhead { pairs, failed: None }))
    }
}

impl Database {
    fn open_one(&self) -> PyResult<Arc<rlsm::Database>> {
        let database = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        database.ok_or_else(|| error::database("the database is closed: open it again"))
    }

    /// Calls `work` with the database while other Python threads run.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&rlsm::Database) -> rlsm::Result<T> + Send,
    ) -> PyResult<T> {
        let database = self.open_one()?;
        // The last handle closes the database, which writes: also without the GIL.
        py.detach(move || work(&database)).map_err(error::database)
    }
}

#[pymethods]
impl Database {
    /// Opens or creates the database in a folder. `sync_s`: seconds between syncs, 0 for each write, negative for none.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        read_only: bool,
        sync_s: f64,
        memtable_bytes: Option<u64>,
        cache_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let sync = match sync_s {
            none if none < 0.0 => rlsm::Sync::Never,
            0.0 => rlsm::Sync::Always,
            seconds => rlsm::Sync::Interval(Duration::try_from_secs_f64(seconds).map_err(error::database)?),
        };
        let mut options = Options::new().sync(sync);
        options = memtable_bytes.map_or(options, |bytes| options.memtable_bytes(bytes));
        options = cache_bytes.map_or(options, |bytes| options.cache_bytes(bytes));
        let opened = py.detach(|| if read_only { options.open_read_only(&path) } else { options.open(&path) });
        let database = opened.map_err(error::database)?;
        Ok(Self { open: RwLock::new(Some(Arc::new(database))), is_read_only: read_only })
    }

    /// Persists everything and closes the database; closing twice is no error.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let synced = py.detach(|| {
            let closed = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
            // Dropping the database would lose the file system's error.
            closed.filter(|_| !self.is_read_only).map_or(Ok(()), |database| database.sync())
        });
        synced.map_err(error::database)
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &[u8],
        snapshot: Option<&Bound<'py, Snapshot>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let snapshot = snapshot.map(|snapshot| &snapshot.get().0);
        let found = self.with(py, |database| match snapshot {
            None => database.get(key),
            Some(snapshot) => database.get_at(key, snapshot),
        });
        Ok(found?.map(|value| PyBytes::new(py, &value)))
    }

    fn put(&self, py: Python<'_>, key: &[u8], value: &[u8]) -> PyResult<()> {
        self.with(py, |database| database.put(key, value))
    }

    fn delete(&self, py: Python<'_>, key: &[u8]) -> PyResult<()> {
        self.with(py, |database| database.delete(key))
    }

    fn delete_range(&self, py: Python<'_>, low: &[u8], high: &[u8]) -> PyResult<()> {
        self.with(py, |database| database.delete_range(low, high))
    }

    /// Applies the writes of a batch, which is then empty unless they fail.
    fn write(&self, py: Python<'_>, batch: &Bound<'_, Batch>) -> PyResult<()> {
        let batch = batch.get();
        self.with(py, |database| {
            let mut writes = batch.lock();
            database.write(writes.clone())?;
            *writes = rlsm::Batch::new();
            Ok(())
        })
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        self.with(py, |database| Ok(database.snapshot())).map(Snapshot)
    }

    /// The keys from `low` up to, and excluding, `high`, now or at a snapshot.
    fn range(
        &self,
        py: Python<'_>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
        snapshot: Option<&Bound<'_, Snapshot>>,
    ) -> PyResult<Pairs> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let bounds = (low.map_or(Unbounded, Included), high.map_or(Unbounded, Excluded));
        let snapshot = snapshot.map(|snapshot| &snapshot.get().0);
        let pairs = self.with(py, |database| match snapshot {
            None => database.range(bounds),
            Some(snapshot) => database.range_at(bounds, snapshot),
        });
        Ok(pairs?.into())
    }

    /// The keys that begin with `prefix`.
    fn prefix(&self, py: Python<'_>, prefix: &[u8]) -> PyResult<Pairs> {
        Ok(self.with(py, |database| database.prefix(prefix))?.into())
    }

    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, rlsm::Database::sync)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, rlsm::Database::flush)
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, rlsm::Database::compact)
    }

    fn backup(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |database| database.backup(&path))
    }

    /// Statistics of the database, as one JSON object.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let stats = self.with(py, rlsm::Database::stats)?;
        let counters = json!({
            "user_bytes": stats.user_bytes,
            "written_bytes": stats.written_bytes(),
            "write_amplification": stats.write_amplification(),
            "space_bytes": stats.space_bytes,
            "entry_bytes": stats.entry_bytes,
            "memtable_bytes": stats.memtable_bytes,
            "index_bytes": stats.index_bytes,
            "cache_bytes": stats.cache_bytes,
            "level0_runs": stats.level0_runs,
            "level0_entries": stats.level0_entries,
            "level1_runs": stats.level1_runs,
            "level1_entries": stats.level1_entries,
            "ranges": stats.ranges,
            "flushes": stats.flushes,
            "compactions": stats.compactions,
            "stalled_s": stats.stalled.as_secs_f64(),
            "snapshots": stats.snapshots,
        });
        Ok(counters.to_string())
    }
}

impl Batch {
    fn lock(&self) -> std::sync::MutexGuard<'_, rlsm::Batch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Batch {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(rlsm::Batch::new()))
    }

    fn put(&self, key: &[u8], value: &[u8]) -> PyResult<()> {
        self.lock().put(key, value).map_err(error::database)
    }

    fn delete(&self, key: &[u8]) -> PyResult<()> {
        self.lock().delete(key).map_err(error::database)
    }

    fn delete_range(&self, low: &[u8], high: &[u8]) -> PyResult<()> {
        self.lock().delete_range(low, high).map_err(error::database)
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }
}

#[pymethods]
impl Pairs {
    /// The next pairs, at most `most`; empty at the end.
    fn next<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let read = py.detach(|| {
            let mut ahead = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            ahead.next(most)
        });
        let pair = |(key, value): &KvPair| PyTuple::new(py, [PyBytes::new(py, key), PyBytes::new(py, value)]);
        read.map_err(error::database)?.iter().map(pair).collect()
    }
}

/// The damage of the database in a folder, which must not be open.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
    let found = py.detach(|| rlsm::verify(&path)).map_err(error::database)?;
    Ok(found.problems.iter().map(ToString::to_string).collect())
}
