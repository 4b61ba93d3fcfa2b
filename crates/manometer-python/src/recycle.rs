//! Files larger than memory, mapped by `recycle`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use recycle::storage::open_file;
use recycle::{Advice, Options, Region};
use serde_json::{Map, json};

use crate::error;

/// A mapped file.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Mapping {
    open: RwLock<Option<recycle::Mapping>>,
    /// The process that mapped it: a forked child has neither the bytes nor the threads that hold the lock.
    process: u32,
}

impl Mapping {
    fn check_process(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(error::recycle("a forked child does not have the mapping of its parent: open the file in the child"))
    }

    /// Calls `work` with the mapping while other Python threads run.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&recycle::Mapping) -> recycle::Result<T> + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        let done = py.detach(|| {
            let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
            open.as_ref().map(work)
        });
        done.ok_or_else(closed)?.map_err(error::recycle)
    }
}

fn closed() -> PyErr {
    error::recycle("the mapping is closed: open the file again")
}

/// The value that a name stands for.
fn choice<T: std::str::FromStr<Err = recycle::UnknownName>>(name: &str, given: &str) -> PyResult<T> {
    given.parse().map_err(|unknown| error::recycle(format!("{name}: {unknown}")))
}

fn map(file: &File, options: &Options) -> io::Result<recycle::Mapping> {
    // SAFETY: no reference to bytes of the mapping is made here; Python's views are memory that anybody may change.
    Ok(unsafe { Region::map(file, options) }?)
}

/// Maps a file of `length` zeroes. An existing one loses its bytes only once nothing can fail.
fn map_new(path: &Path, length: u64, options: &Options) -> io::Result<recycle::Mapping> {
    let existing = open_file(path, true);
    let is_new = existing.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let file = if is_new { File::create_new(path)? } else { existing? };
    let mapped = map(&file, options).and_then(|mut mapping| {
        // The first call refuses a length that the file cannot have, while the bytes are still there.
        for length in [length, 0, length] {
            mapping.resize(length)?;
        }
        Ok(mapping)
    });
    if mapped.is_err() && is_new {
        // What failed is what the caller has to know.
        let _ = std::fs::remove_file(path);
    }
    mapped
}

#[pymethods]
impl Mapping {
    /// `length`: of a new file, or one that is emptied first. `budget`: memory and read-ahead, in bytes. `rules`: the
    /// policy, the replacement, and who answers faults, by name.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        is_writable: bool,
        length: Option<u64>,
        budget: (u64, u64),
        rules: (String, String, String),
    ) -> PyResult<Self> {
        let (policy, replacement, faults) = &rules;
        let options = Options {
            memory: budget.0,
            read_ahead: budget.1,
            policy: choice("policy", policy)?,
            replacement: choice("replacement", replacement)?,
            faults: choice("faults", faults)?,
            ..Options::default()
        };
        let mapped = py.detach(|| match length {
            None => map(&open_file(&path, is_writable)?, &options),
            Some(length) => map_new(&path, length, &options),
        });
        let mapping = mapped.map_err(|error| error::recycle(format!("{}: {error}", path.display())))?;
        Ok(Self { open: RwLock::new(Some(mapping)), process: std::process::id() })
    }

    /// The address of the first byte, and how many there are.
    fn place(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.with(py, |mapping| Ok((mapping.as_mut_ptr() as usize, mapping.len())))
    }

    fn read<'py>(&self, py: Python<'py>, offset: u64, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = self.with(py, |mapping| {
            // Before memory is had for it.
            if offset.checked_add(length as u64).is_none_or(|end| end > mapping.len() as u64) {
                return Err(recycle::Error::OutOfRange { offset, bytes: length as u64, len: mapping.len() as u64 });
            }
            let mut bytes = vec![0; length];
            mapping.read_at(offset, &mut bytes).map(|()| bytes)
        })?;
        Ok(PyBytes::new(py, &read))
    }

    fn write(&self, py: Python<'_>, offset: u64, data: &[u8]) -> PyResult<()> {
        // SAFETY: no reference to bytes of the mapping is ever made. Threads that write the same bytes at once, here or
        // through a view, leave bytes of either, as with any memory of Python's that they share.
        self.with(py, |mapping| unsafe { mapping.write_shared(offset, data) })
    }

    fn sync(&self, py: Python<'_>, start: u64, end: u64) -> PyResult<()> {
        self.with(py, |mapping| mapping.sync_range(start..end))
    }

    fn advise(&self, py: Python<'_>, advice: &str, start: u64, end: u64) -> PyResult<()> {
        let advice = match advice {
            "normal" => Advice::Normal,
            "random" => Advice::Random,
            "sequential" => Advice::Sequential,
            "will_need" => Advice::WillNeed,
            "dont_need" => Advice::DontNeed,
            other => {
                let wanted = "normal, random, sequential, will_need, dont_need";
                return Err(error::recycle(format!("the advice `{other}` is none of {wanted}")));
            }
        };
        self.with(py, |mapping| mapping.advise(start..end, advice))
    }

    /// Changes the length. The caller has made sure that no view exists.
    fn resize(&self, py: Python<'_>, length: u64) -> PyResult<()> {
        self.check_process()?;
        let done = py.detach(|| {
            let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
            open.as_mut().map(|mapping| mapping.resize(length))
        });
        done.ok_or_else(closed)?.map_err(error::recycle)
    }

    /// Counters, as one JSON object.
    fn counters(&self, py: Python<'_>) -> PyResult<String> {
        let counters = self.with(py, |mapping| Ok(mapping.counters()))?;
        let named: Map<String, serde_json::Value> =
            counters.named().into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
        Ok(serde_json::Value::from(named).to_string())
    }

    /// Makes changes durable and ends the mapping; ending it twice is no error. The caller has made sure that no view
    /// exists. A forked child has nothing to end.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.check_process().is_err() {
            return Ok(());
        }
        let synced = py.detach(|| {
            let closed = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
            // Dropping the mapping would lose the error.
            closed.map_or(Ok(()), |mapping| mapping.sync())
        });
        synced.map_err(error::recycle)
    }

    /// Whether the calling process made it, and it is not closed.
    fn is_open(&self) -> bool {
        self.check_process().is_ok() && self.open.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
