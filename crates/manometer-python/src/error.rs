//! Rust errors as exceptions of the package, which are defined in Python (`manometer.errors`).

use std::fmt::Display;

use manometer_cache::CacheError as OfCache;
use pyo3::PyErr;

pyo3::import_exception!(manometer.errors, CacheError);
pyo3::import_exception!(manometer.errors, ChartError);
pyo3::import_exception!(manometer.errors, CompareError);
pyo3::import_exception!(manometer.errors, DatabaseError);
pyo3::import_exception!(manometer.errors, ExperimentError);
pyo3::import_exception!(manometer.errors, ImportFileError);
pyo3::import_exception!(manometer.errors, PathError);
pyo3::import_exception!(manometer.errors, RecordingError);
pyo3::import_exception!(manometer.errors, RecycleError);
pyo3::import_exception!(manometer.errors, TraceError);

/// A recording that cannot be read.
pub(crate) fn recording(error: impl Display) -> PyErr {
    RecordingError::new_err(error.to_string())
}

/// A trace that cannot be read or written.
pub(crate) fn trace(error: impl Display) -> PyErr {
    TraceError::new_err(error.to_string())
}

/// A cache that cannot be simulated.
pub(crate) fn cache(error: OfCache) -> PyErr {
    match error {
        OfCache::Invalid(what) => CacheError::new_err(what),
        OfCache::Trace(error) => trace(error),
    }
}

/// A file that cannot be mapped, read or written.
pub(crate) fn recycle(error: impl Display) -> PyErr {
    RecycleError::new_err(error.to_string())
}

/// An error of a database.
pub(crate) fn database(error: impl Display) -> PyErr {
    DatabaseError::new_err(error.to_string())
}

/// A cache of paths that cannot be made, or is told what makes no sense.
pub(crate) fn path(what: impl Display) -> PyErr {
    PathError::new_err((backpath::Errno::Invalid.code(), what.to_string()))
}

/// A path that does not resolve.
pub(crate) fn refused(errno: backpath::Errno, path: &[u8]) -> PyErr {
    PathError::new_err((errno.code(), errno.to_string(), String::from_utf8_lossy(path).into_owned()))
}
