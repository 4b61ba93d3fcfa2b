//! Waiting for workers that outlived their run: after a `kill -9` of the conductor alone they need a moment to notice.

use std::path::Path;

use manometer_measure::{Clock as _, FileLock, MonotonicClock};
use manometer_target::engine::EngineError;
use manometer_target::engine::directory;

use super::PrepareError;

/// How long a worker may take to let go, and how often that is looked for. One that nobody listens to ends itself after
/// a second and a half.
const PATIENCE_NS: u64 = 10_000_000_000;
const LOOK_NS: u64 = 50_000_000;

/// Holds the folder `path` of a database against workers; nothing where there is none. `look` says whether to go on
/// waiting.
///
/// # Errors
/// Somebody holds it and does not end, it cannot be written, or `look` said to stop.
pub(super) fn hold(
    path: &Path,
    look: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<Option<FileLock>, PrepareError> {
    if !path.is_dir() {
        return Ok(None);
    }
    let deadline_ns = MonotonicClock.now_ns() + PATIENCE_NS;
    loop {
        match directory::lock(path) {
            Ok(held) => return Ok(Some(held)),
            Err(EngineError::Locked(_)) if MonotonicClock.now_ns() < deadline_ns => {
                look()?;
                MonotonicClock.sleep(LOOK_NS);
            }
            Err(error) => return Err(error.into()),
        }
    }
}
