//! Resuming a single run: its output folder is the recording itself, which shows how far the run came.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::event::RunStatus;
use manometer_measure::secrets::redact;
use manometer_measure::{Directory, Recording, RecordingError};
use serde_json::Value;

use super::differences::{as_read_back, first_of, resolved_differences};
use super::error::QueueError;
use crate::definition::{DiskFit, Experiment, ReferencedFiles};

/// The largest document of a recording that is read.
const MOST_DOCUMENT_BYTES: u64 = 16 << 20;

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
    let recording = match Recording::open(out) {
        Ok(recording) => recording,
        Err(error @ (RecordingError::NotARecording { .. } | RecordingError::Damaged { .. })) => {
            // It may be of the same experiment, and its plan lost.
            let (text, environment) = documents(out).ok_or(QueueError::NotARecording(error))?;
            let fit = recorded_fit(&environment).unwrap_or(fit);
            check_same(out, differences(&text, &environment, requested, fit))?;
            return Ok(ExistingRecording::SetAside { what: "damaged", to: set_aside(out, "damaged")?, fit });
        }
        Err(RecordingError::Io { path, source }) => return Err(QueueError::Io { path, source }),
        Err(other) => return Err(QueueError::NotARecording(other)),
    };
    let fit = recorded_fit(&recording.environment).unwrap_or(fit);
    let is_readable = !recording.damage.iter().any(|damage| damage.starts_with("experiment.toml"));
    if is_readable {
        check_same(out, differences(&recording.experiment, &recording.environment, requested, fit))?;
    }
    let what = match recording.status() {
        Some(RunStatus::Complete) if recording.faults().is_empty() => return Ok(ExistingRecording::Complete),
        Some(RunStatus::Complete) => "damaged",
        Some(RunStatus::Failed) => "failed",
        Some(RunStatus::Interrupted) | None => "interrupted",
    };
    Ok(ExistingRecording::SetAside { what, to: set_aside(out, what)?, fit })
}

/// Moves `out` to a free name that says `what` it is.
fn set_aside(out: &Path, what: &str) -> Result<PathBuf, QueueError> {
    let free = (1_u32..).map(|number| aside_path(out, what, number)).find(|path| !path.exists());
    let to = free.unwrap_or_else(|| aside_path(out, what, u32::MAX));
    let to_name = to.file_name().unwrap_or_default();
    let moved = Directory::holding(out).and_then(|(parent, name)| parent.rename(name, to_name));
    moved.map_err(QueueError::io(out))?;
    Ok(to)
}

fn check_same(out: &Path, differences: Vec<String>) -> Result<(), QueueError> {
    match differences.is_empty() {
        true => Ok(()),
        false => Err(QueueError::DifferentRecording { out: out.to_owned(), differences }),
    }
}

/// The experiment file of the recording in `out` and what is left of its environment; `None` where there is no such file.
fn documents(out: &Path) -> Option<(String, Value)> {
    let files = Directory::open(out).ok()?;
    let text = String::from_utf8(files.read_all("experiment.toml", MOST_DOCUMENT_BYTES).ok()?).ok()?;
    let environment = files.read_all("environment.json", MOST_DOCUMENT_BYTES).ok();
    Some((text, environment.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()))
}

/// How far the data of a recording were shrunk; nothing where it ended before this was recorded.
fn recorded_fit(environment: &Value) -> Option<Option<DiskFit>> {
    let fit = environment.get("fit")?;
    serde_json::from_value(fit.clone()).ok()
}

/// The differences between the experiment file of a recording and `requested`, shrunk as the recording was.
fn differences(existing: &str, environment: &Value, requested: &Experiment, fit: Option<DiskFit>) -> Vec<String> {
    let existing: Value = match toml::from_str(existing) {
        Ok(existing) => existing,
        Err(_) => return vec!["its experiment.toml cannot be read".to_owned()],
    };
    let requested = requested.clone().fitted(fit);
    // Through TOML, which has no null, as the recorded one.
    let resolved = toml::from_str(&redact(&requested.to_toml())).unwrap_or_else(|_| requested.resolved.clone());
    let files = environment.get("files").cloned().unwrap_or_default();
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
        // Without its plan it is still known by its experiment file.
        for (number, plan) in [(2, None), (3, Some("{"))] {
            record(&out, &experiment("1MiB", "1GiB").fitted(Some(HALF)), Some(RunStatus::Complete));
            match plan {
                Some(text) => fs::write(out.join("plan.json"), text).unwrap(),
                None => fs::remove_file(out.join("plan.json")).unwrap(),
            }
            let error = resume_single(&out, &experiment("2MiB", "1GiB"), None).unwrap_err().to_string();
            assert!(error.contains("`neighbour[0].file_size`"), "{error}");
            aside("damaged", &format!("rec.damaged-{number}"), Some(HALF));
        }
        fs::create_dir(&out).unwrap();
        fs::write(out.join("notes"), "").unwrap();
        let error = resume_single(&out, &experiment("1MiB", "1GiB"), None).unwrap_err().to_string();
        assert!(error.contains("there is no run to resume"), "{error}");
        assert!(out.join("notes").exists());
    }
}
