//! The array of a run: built before it, and taken apart after it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_experiment::Experiment;
use manometer_experiment::conductor::RunError;
use manometer_experiment::prepare::PrepareError;
use manometer_lab::LabError;
use manometer_lab::array::{self, ArraySpec};
use manometer_measure::event::RunStatus;
use manometer_measure::{Directory, RecordingError};
use rapidhash::v3::rapidhash_v3;

use crate::array::RecordedCounters;
use crate::output;

/// The longest part of a device directory's name in that of its array.
const NAME_MAX: usize = 18;

/// Checks that the array of `experiment`, if it has one, can be built.
///
/// # Errors
/// It cannot.
pub(super) fn check(experiment: &Experiment) -> Result<(), RunError> {
    match spec_of(experiment)? {
        // It is taken apart when the run has locked its disks.
        Some(spec) if !is_left(&spec) => array::plan(&spec).map(drop).map_err(array_error),
        _ => Ok(()),
    }
}

/// Does `work`, on the array of `experiment` if it has one, and leaves what the array counted in a whole run in `out`.
///
/// # Errors
/// `work` failed, or the array could not be built or taken apart.
pub(super) fn run_on_array(
    experiment: &Experiment,
    out: &Directory,
    interrupted: &Arc<AtomicBool>,
    work: impl FnOnce() -> Result<RunStatus, RunError>,
) -> Result<RunStatus, RunError> {
    let Some(spec) = spec_of(experiment)? else { return work() };
    let _lock = array::lock(&spec.name).map_err(array_error)?;
    if is_left(&spec) {
        output::note(&format!("the array `{}`, which a run left when it was killed, is taken apart", spec.name));
        array::destroy(&spec.name).map_err(array_error)?;
    }
    match array::create(&spec, interrupted) {
        Err(_) if interrupted.load(Ordering::Relaxed) => return Err(PrepareError::Interrupted.into()),
        created => created.map_err(array_error)?,
    };
    let outcome = work().and_then(|status| {
        if status == RunStatus::Complete {
            record_counters(&spec.name, out)?;
        }
        Ok(status)
    });
    let destroyed = array::destroy(&spec.name).map_err(array_error);
    if let (Err(_), Err(error)) = (&outcome, &destroyed) {
        output::error(error);
    }
    let status = outcome?;
    destroyed?;
    Ok(status)
}

/// Whether the array that `spec` describes is there, as a run leaves it that is killed.
fn is_left(spec: &ArraySpec) -> bool {
    let point = spec.mount.as_ref().map(|(_, point)| point);
    array::standing(&spec.name).is_ok_and(|built| built.of_run && built.mounted_at.as_ref() == point)
}

fn record_counters(name: &str, out: &Directory) -> Result<(), RunError> {
    let (array, counters) = array::settled_status(name).map_err(array_error)?;
    let recorded = RecordedCounters { array, counters };
    recorded.write(out).map_err(|source| RecordingError::Io { path: out.path().to_owned(), source })?;
    output::note(&format!("What the array counted:\n{}", recorded.text()));
    Ok(())
}

/// The array of `experiment`, if it has one.
fn spec_of(experiment: &Experiment) -> Result<Option<ArraySpec>, RunError> {
    let Some(settings) = &experiment.array else { return Ok(None) };
    let wrong = |text: String| RunError::Array { text, is_wrong_request: true };
    let arrangement = settings.load().map_err(wrong)?;
    let (origin, cache) = settings.devices(&arrangement).map_err(wrong)?;
    let (origin, cache) = (origin.to_vec(), cache.to_vec());
    let point = std::path::absolute(&experiment.directory).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(ArraySpec {
        name: name_of(&point),
        arrangement,
        origin,
        cache,
        mount: Some((settings.file_system, point)),
        erase: settings.erase,
        of_run: true,
        zeroed: false,
    }))
}

/// The name of the array that is mounted at `point`: no other path has it.
fn name_of(point: &Path) -> String {
    let name = point.file_name().unwrap_or_default().to_string_lossy();
    let plain = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    let hash = rapidhash_v3(point.as_os_str().as_bytes()) as u32;
    format!("run-{}-{hash:08x}", plain.take(NAME_MAX).collect::<String>())
}

fn array_error(error: LabError) -> RunError {
    RunError::Array { text: error.to_string(), is_wrong_request: matches!(error, LabError::Refused(_)) }
}
