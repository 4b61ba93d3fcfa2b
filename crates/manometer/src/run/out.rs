//! The folder of the results.

use std::path::{Path, PathBuf};

use manometer_experiment::Experiment;
use manometer_measure::clock::WallAnchor;
use manometer_measure::recording::{OutDirectory, RecordingError};

use super::args::Args;

/// The device directory that is `--out`, if any.
pub(super) fn device_directory_of<'a>(args: &Args, files: &'a [(PathBuf, Experiment)]) -> Option<&'a Path> {
    let place = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let out = place(args.out.as_deref()?)?;
    let directories = files.iter().map(|(_, experiment)| experiment.directory.as_path());
    directories.into_iter().find(|directory| place(directory).as_ref() == Some(&out))
}

/// `manometer-runs/NAME-TIME`.
pub(super) fn default_out(name: &str) -> PathBuf {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.take(6).collect::<Vec<_>>().join("-").to_lowercase();
    let unix = std::time::Duration::from_nanos(WallAnchor::now().unix_ns);
    let time = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + unix).to_string();
    Path::new("manometer-runs").join(format!("{slug}-{}", time.replace(':', "")))
}

/// Creates the folder of the results; it must hold nothing yet.
pub(super) fn create_empty(out: &Path) -> Result<OutDirectory, String> {
    OutDirectory::create(out).map_err(|error| match error {
        RecordingError::NotEmpty { path } => {
            format!("--out {} is not empty: choose another directory", path.display())
        }
        other => format!("--out {other}"),
    })
}
