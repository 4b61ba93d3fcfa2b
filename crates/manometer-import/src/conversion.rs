//! Imports files of another tool as recordings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manometer_measure::recording::OutDirectory;
use serde_json::json;

use crate::{ImportError, ImportFormat, ImportedRun};

/// Writes recordings of `files` into the folder `out` and returns their folders: `out` itself for one run, `runs/001`
/// and so on for several, with the settings that differ between them as the sweep. Reads all files before it writes.
///
/// # Errors
/// `out` is not empty, a file cannot be read or does not have the format, or a recording cannot be written.
pub fn import(format: &ImportFormat, files: &[PathBuf], out: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let _directory = OutDirectory::create(out)?;
    let mut runs = format.read(files)?;
    set_sweep(&mut runs);
    // What an import of each file alone needs to be one sweep with the others.
    runs.iter_mut().for_each(|run| run.environment["imported"]["settings"] = json!(run.constant));
    let dirs: Vec<PathBuf> = match runs.len() {
        1 => vec![out.to_owned()],
        several => (1..=several).map(|number| out.join("runs").join(format!("{number:03}"))).collect(),
    };
    for (run, dir) in runs.iter().zip(&dirs) {
        run.write(dir)?;
    }
    Ok(dirs)
}

/// Records the settings that differ between runs as those of a sweep.
fn set_sweep(runs: &mut [ImportedRun]) {
    let names: BTreeSet<String> = runs.iter().flat_map(|run| run.constant.keys().cloned()).collect();
    let differs =
        |name: &&String| runs.windows(2).any(|pair| pair[0].constant.get(*name) != pair[1].constant.get(*name));
    let names: Vec<String> = names.iter().filter(differs).cloned().collect();
    for run in runs {
        let own = names.iter().filter_map(|name| Some((name.clone(), run.constant.get(name)?.clone())));
        run.plan.sweep = own.collect();
    }
}
