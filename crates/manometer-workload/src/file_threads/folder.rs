//! The folder of a workload's files, which are created unless those there may be used.

use std::path::Path;

use manometer_target::engine::directory::{DatabaseDirectory, DatabaseManifest};

use super::FilesError;
use super::creation::ReportProgress;
use crate::interface::{Driver, Progress, WorkloadContext};

/// A locked and marked folder.
pub(crate) enum PreparedFolder {
    /// Its files are there.
    Complete(DatabaseDirectory),
    /// The workload was stopped before all files were.
    Stopped(DatabaseDirectory),
}

/// Locks and marks the folder of `place`. Where it holds no files that may be used, `create` creates them below the path that it
/// receives, unless the progress that it reports breaks.
///
/// # Errors
/// The folder cannot be used, or `create` failed; its files are then removed.
pub(crate) fn prepare_folder(
    place: &WorkloadContext,
    marker: DatabaseManifest,
    driver: &mut dyn Driver,
    create: &mut dyn FnMut(&Path, &mut ReportProgress<'_>) -> Result<(), FilesError>,
) -> Result<PreparedFolder, FilesError> {
    let mut folder = DatabaseDirectory::prepare(&place.folder(), marker, place.existing)?;
    if folder.is_reused() {
        return Ok(PreparedFolder::Complete(folder));
    }
    let mut progress = Progress::new(driver, "writing files");
    if let Err(error) = create(&folder.database(), &mut |done, total| progress.report(done, total)) {
        // Incomplete files are useless and take space. The error of creating them matters more than one of removing them.
        let _ = folder.remove();
        return Err(error);
    }
    if progress.is_stopped {
        return Ok(PreparedFolder::Stopped(folder));
    }
    folder.set_loaded()?;
    Ok(PreparedFolder::Complete(folder))
}
