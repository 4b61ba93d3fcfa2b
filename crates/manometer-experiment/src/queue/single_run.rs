//! Resuming a single run: its output folder is the recording itself, which shows how far the run came.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::event::RunStatus;
use manometer_measure::secrets::redact;
use manometer_measure::{Directory, Recording, RecordingError};
use serde_json::Value;

use super::differences::{as_read_back, first_of, resolved_differences};
use super::error::QueueError;
use crate::definition::{DiskFit, Experiment, ReferencedFiles};

/// The recording found in an output folder when a run is resumed.
#[derive(Debug, Clone, PartialEq)]
pub enum ExistingRecording {
    /// None.
    Missing,
    /// The complete recording: there is nothing to do.
    Complete,
    /// An incomplete or damaged recording, moved out of the way.
    SetAside {
        /// What it is: `interrupted`, `failed` or `damaged`.
        what: &'static str,
        /// Its new folder.
        to: PathBuf,
        /// How far its data were shrunk: those of the new run shrink as far.
        fit: Option<DiskFit>,
    },
}

/// Makes room in `out` for a run of `requested`, which is not shrunk yet and would be as `fit` says now, unless its complete
/// recording is there.
///
/// # Errors
/// The folder holds no recording or that of another experiment, or cannot be moved.
pub fn resume_single(
    out: &Path,
    requested: &Experiment,
    fit: Option<DiskFit>,
) -> Result<ExistingRecording, QueueError> {
    let empty = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if !out.exists() || empty() {
        return Ok(ExistingRecording::Missing);
    }
    let recording = Recording::open(out).map_err(|error| match error {
        RecordingError::Io { path, source } => QueueError::Io { path, source },
        other => QueueError::Io { path: out.to_owned(), source: io::Error::other(other.to_string()) },
    })?;
    let fit = recorded_fit(&recording).unwrap_or(fit);
    let is_readable = !recording.damage.iter().any(|damage| damage.starts_with("experiment.toml"));
    let differences = differences(&recording, requested, fit);
    if is_readable && !differences.is_empty() {
        return Err(QueueError::DifferentRecording { out: out.to_owned(), differences });
    }
    let what = match recording.status() {
        Some(RunStatus::Complete) if recording.faults().is_empty() => return Ok(ExistingRecording::Complete),
        Some(RunStatus::Complete) => "damaged",
        Some(RunStatus::Failed) => "failed",
        Some(RunStatus::Interrupted) | None => "interrupted",
    };
    let free = (1_u32..).map(|number| aside_path(out, what, number)).find(|path| !path.exists());
    let to = free.unwrap_or_else(|| aside_path(out, what, u32::MAX));
    let to_name = to.file_name().unwrap_or_default();
    let moved = Directory::holding(out).and_then(|(parent, name)| parent.rename(name, to_name));
    moved.map_err(QueueError::io(out))?;
    Ok(ExistingRecording::SetAside { what, to, fit })
}

/// How far the data of `recording` were shrunk; nothing where it ended before this was recorded.
fn recorded_fit(recording: &Recording) -> Option<Option<DiskFit>> {
    let fit = recording.environment.get("fit")?;
    serde_json::from_value(fit.clone()).ok()
}

/// The differences between `recording` and `requested`, shrunk as the recording was.
fn differences(recording: &Recording, requested: &Experiment, fit: Option<DiskFit>) -> Vec<String> {
    let existing: Value = match toml::from_str(&recording.experiment) {
        Ok(existing) => existing,
        Err(_) => return vec!["its experiment.toml cannot be read".to_owned()],
    };
    let requested = requested.clone().fitted(fit);
    // Through TOML, which has no null, as the recorded one.
    let resolved = toml::from_str(&redact(&requested.to_toml())).unwrap_or_else(|_| requested.resolved.clone());
    let files = recording.environment.get("files").cloned().unwrap_or_default();
    let files: ReferencedFiles = serde_json::from_value(files).unwrap_or_default();
    first_of(resolved_differences((&as_read_back(&existing), &files), (&resolved, &requested.referenced_files())))
}

/// `DIR.interrupted-1`.
fn aside_path(out: &Path, what: &str, number: u32) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}-{number}"));
    out.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use manometer_measure::RecordingWriter;
    use manometer_measure::clock::WallAnchor;
    use serde_json::json;

    use super::*;

    fn experiment(size: &str, budget: &str) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\nfit = true\nwrite_budget = \
             \"{budget}\"\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"{size}\"\n[plan]\nphase = \"1s\"\n"
        );
        fs::write(&path, text).unwrap();
        crate::file::load(&path, &[]).unwrap()
    }

    /// A recording of `run` in `out`.
    fn record(out: &Path, run: &Experiment, status: Option<RunStatus>) {
        let start = WallAnchor { monotonic_ns: 0, unix_ns: 1_700_000_000_000_000_000 };
        let environment = json!({ "fit": run.disk_fit, "files": {} });
        let plan = crate::plan::plan(run);
        let writer = RecordingWriter::create(out, start, &run.to_toml(), &plan, &environment).unwrap();
        if let Some(status) = status {
            writer.finish(1, status).unwrap();
        }
    }

    const HALF: DiskFit = DiskFit { factor: 0.5, available_bytes: 1 << 20, required_bytes: 1 << 20 };
    const THIRD: DiskFit = DiskFit { factor: 0.33, ..HALF };

    #[test]
    fn a_shrunk_recording_matches_its_own_experiment_only() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("rec");
        let requested = experiment("1MiB", "1GiB");
        record(&out, &requested.clone().fitted(Some(HALF)), Some(RunStatus::Complete));
        // However far it would shrink now.
        for now in [None, Some(HALF), Some(THIRD)] {
            assert_eq!(resume_single(&out, &requested, now).unwrap(), ExistingRecording::Complete);
            let error = resume_single(&out, &experiment("2MiB", "1GiB"), now).unwrap_err().to_string();
            assert!(error.contains("`neighbour[0].file_size`"), "{error}");
        }
    }

    #[test]
    fn an_incomplete_or_damaged_recording_is_set_aside_and_keeps_its_fit() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("rec");
        let aside = |what, name: &str, fit| {
            let left = resume_single(&out, &experiment("1MiB", "2GiB"), Some(THIRD)).unwrap();
            assert_eq!(left, ExistingRecording::SetAside { what, to: dir.path().join(name), fit });
        };
        record(&out, &experiment("1MiB", "1GiB").fitted(Some(HALF)), Some(RunStatus::Failed));
        aside("failed", "rec.failed-1", Some(HALF));
        for name in ["rec.interrupted-1", "rec.interrupted-2"] {
            record(&out, &experiment("1MiB", "1GiB"), None);
            aside("interrupted", name, None);
        }
        record(&out, &experiment("1MiB", "1GiB"), Some(RunStatus::Complete));
        fs::remove_file(out.join("checksums.jsonl")).unwrap();
        aside("damaged", "rec.damaged-1", None);
    }
}
