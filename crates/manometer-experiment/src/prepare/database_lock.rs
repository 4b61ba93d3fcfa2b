//! Locks of database folders. Workers that outlive a killed run need a moment to end and release theirs.

use std::io::ErrorKind;

use manometer_measure::{Clock as _, Directory, FileLock, MonotonicClock};
use manometer_target::engine::{EngineError, directory as database};

use super::error::PrepareError;

/// How long to wait for a worker, and how often to try. A worker whose conductor is gone ends itself after 1.5 s.
const TIMEOUT_NS: u64 = 10_000_000_000;
const RETRY_INTERVAL_NS: u64 = 50_000_000;

/// Locks the folder `name` of a database in the device directory, where it exists. `check_stop` runs while waiting.
///
/// # Errors
/// A worker keeps the lock, the folder cannot be written, or `check_stop` failed.
pub(super) fn lock_database(
    directory: &Directory,
    name: &str,
    check_stop: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<Option<FileLock>, PrepareError> {
    let folder = match directory.directory(name) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        opened => opened.map_err(|reason| EngineError::NotReadable { path: directory.path().join(name), reason })?,
    };
    let deadline_ns = MonotonicClock.now_ns() + TIMEOUT_NS;
    loop {
        match database::lock(&folder) {
            Ok(lock) => return Ok(Some(lock)),
            Err(EngineError::Locked(_)) if MonotonicClock.now_ns() < deadline_ns => {
                check_stop()?;
                MonotonicClock.sleep(RETRY_INTERVAL_NS);
            }
            Err(error) => return Err(error.into()),
        }
    }
}
