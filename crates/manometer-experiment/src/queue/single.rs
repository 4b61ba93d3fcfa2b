//! One experiment whose folder is the recording itself: there is no queue, the recording says how far it came.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::event::Status;
use manometer_measure::{Recording, RecordingError};
use serde_json::Value;

use super::QueueError;
use super::differences::{in_short, of_resolved, written};
use crate::file::{Experiment, Referenced};
use crate::fit::{Fit, fitted};

/// What lay where a run is to be taken up.
#[derive(Debug, Clone, PartialEq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// Its whole recording: there is nothing to do.
    Whole,
    /// A recording that was cut off.
    SetAside {
        /// Where it lies now; it does not count.
        to: PathBuf,
        /// By how much its data were shrunk, where they were: so they have to be again.
        fit: Option<Fit>,
    },
}

/// Makes room in `out` for `asked`, which is not shrunk and would be by `fit` now, unless what lies there is its whole
/// recording.
///
/// # Errors
/// What lies there is no recording, or another experiment's, or cannot be moved.
pub fn take_up(out: &Path, asked: &Experiment, fit: Option<Fit>) -> Result<Left, QueueError> {
    let empty = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if !out.exists() || empty() {
        return Ok(Left::Nothing);
    }
    let recording = Recording::open(out).map_err(|error| match error {
        RecordingError::Io { path, source } => QueueError::Io { path, source },
        other => QueueError::Io { path: out.to_owned(), source: io::Error::other(other.to_string()) },
    })?;
    let fit = shrunk_by(&recording).unwrap_or(fit);
    let differences = differences(&recording, asked, fit);
    if !differences.is_empty() {
        return Err(QueueError::AnotherRecording { out: out.to_owned(), differences });
    }
    if recording.status() == Some(Status::Complete) {
        return Ok(Left::Whole);
    }
    let aside = (1_u32..).map(|number| beside(out, number)).find(|path| !path.exists());
    let to = aside.unwrap_or_else(|| beside(out, u32::MAX));
    fs::rename(out, &to).map_err(QueueError::io(out))?;
    Ok(Left::SetAside { to, fit })
}

/// By how much the data of `recording` were shrunk; nothing where it was cut off before it could say.
fn shrunk_by(recording: &Recording) -> Option<Option<Fit>> {
    let told = recording.environment.get("fit")?;
    serde_json::from_value(told.clone()).ok()
}

/// What `asked`, shrunk as `recording` was, says otherwise than the recording's own file.
fn differences(recording: &Recording, asked: &Experiment, fit: Option<Fit>) -> Vec<String> {
    let there: Value = match toml::from_str(&recording.experiment) {
        Ok(there) => there,
        Err(_) => return vec!["its experiment.toml cannot be read".to_owned()],
    };
    let asked = fitted(asked.clone(), fit);
    // Through text, as what is there came: TOML knows no null.
    let wanted = toml::from_str(&asked.to_toml()).unwrap_or_else(|_| asked.resolved.clone());
    let files = recording.environment.get("files").cloned().unwrap_or_default();
    let files: Referenced = serde_json::from_value(files).unwrap_or_default();
    in_short(of_resolved((&written(&there), &files), (&wanted, &asked.referenced())))
}

/// `DIR.interrupted-1`.
fn beside(out: &Path, number: u32) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".interrupted-{number}"));
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
    fn record(out: &Path, run: &Experiment, status: Option<Status>) {
        let start = WallAnchor { monotonic_ns: 0, unix_ns: 1_700_000_000_000_000_000 };
        let environment = json!({ "fit": run.shrunk_by, "files": {} });
        let plan = crate::plan::plan(run);
        let writer = RecordingWriter::create(out, start, &run.to_toml(), &plan, &environment).unwrap();
        if let Some(status) = status {
            writer.finish(1, status).unwrap();
        }
    }

    const HALF: Fit = Fit { factor: 0.5, at_hand_bytes: 1 << 20, wanted_bytes: 1 << 20 };
    const THIRD: Fit = Fit { factor: 0.33, ..HALF };

    #[test]
    fn a_shrunk_recording_is_its_own_experiments_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("rec");
        let asked = experiment("1MiB", "1GiB");
        record(&out, &fitted(asked.clone(), Some(HALF)), Some(Status::Complete));
        // Whatever it would be shrunk by now.
        for now in [None, Some(HALF), Some(THIRD)] {
            assert_eq!(take_up(&out, &asked, now).unwrap(), Left::Whole);
            let error = take_up(&out, &experiment("2MiB", "1GiB"), now).unwrap_err().to_string();
            assert!(error.contains("`neighbour[0].file_size`"), "{error}");
        }
    }

    #[test]
    fn one_that_was_cut_off_goes_on_with_its_own_share_and_a_higher_budget() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("rec");
        record(&out, &fitted(experiment("1MiB", "1GiB"), Some(HALF)), Some(Status::Failed));
        let left = take_up(&out, &experiment("1MiB", "2GiB"), Some(THIRD)).unwrap();
        assert_eq!(left, Left::SetAside { to: dir.path().join("rec.interrupted-1"), fit: Some(HALF) });
        record(&out, &experiment("1MiB", "1GiB"), None);
        let left = take_up(&out, &experiment("1MiB", "1GiB"), Some(THIRD)).unwrap();
        assert_eq!(left, Left::SetAside { to: dir.path().join("rec.interrupted-2"), fit: None });
    }
}
