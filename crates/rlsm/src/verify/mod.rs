//! Verification: reads everything and changes nothing.

mod version_order;

use std::path::Path;
use std::sync::Arc;

use crate::file_name::FileName;
use crate::levels::{ManifestState, Range, RunSet, Version, newest_manifest, open_levels, read_manifest};
use crate::log::{LogEnd, LogKind, LogReader};
use crate::memory::decode;
use crate::plan::KeySpan;
use crate::run::{DataFile, Run, find_footers};
use crate::storage::{Storage, list, open_directory};
use crate::{Error, Result};

/// What was read, and the damage that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Runs read.
    pub runs: u64,
    /// Versions of keys in them.
    pub entries: u64,
    /// Bytes that they take in their files.
    pub bytes: u64,
    /// WALs read.
    pub logs: u64,
    /// Bytes after the last whole record of WALs and the manifest. A crash leaves them, of writes that were never
    /// acknowledged as durable.
    pub torn_bytes: u64,
    /// The damage.
    pub problems: Vec<Problem>,
}

/// A piece of damage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Problem {
    /// The file, relative to the database's directory.
    pub file: String,
    /// The offset in the file, in bytes, if known.
    pub offset: Option<u64>,
    /// What was found and what was expected.
    pub description: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            Some(offset) => write!(formatter, "{} at byte {offset}: {}", self.file, self.description),
            None => write!(formatter, "{}: {}", self.file, self.description),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Corrupt { file, offset, problem } => Self { file, offset: Some(offset), description: problem },
            Error::Io { operation, file, source } => {
                Self { file, offset: None, description: format!("{operation} failed: {source}") }
            }
            other => Self { file: String::new(), offset: None, description: other.to_string() },
        }
    }
}

impl VerifyReport {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.problems.push(error.into())).ok()
    }

    fn add_problem(&mut self, file: &str, offset: u64, description: String) {
        self.problems.push(Problem { file: file.to_owned(), offset: Some(offset), description });
    }

    fn run(&mut self, run: &Run) {
        self.runs += 1;
        self.entries += run.entries;
        self.bytes += run.stored_bytes;
        self.take(run.verify());
    }

    /// Reads all runs of `version`, and compares ranges and maplets with them.
    pub(crate) fn version(&mut self, version: &Version) {
        self.runs_of(&version.level0, None);
        for range in version.ranges.iter() {
            self.runs_of(&range.runs, Some(&range.span));
        }
        self.ranges_are_disjoint(&version.ranges);
        version_order::check(version, &mut |run, problem| self.add_problem(&run.file.name, run.footer.offset, problem));
    }

    fn runs_of(&mut self, runs: &RunSet, span: Option<&KeySpan>) {
        for (slot, run) in runs.list().iter().enumerate() {
            self.run(run);
            let Some((_, hashes)) = self.take(Run::open(Arc::clone(&run.file), run.footer)) else { continue };
            if !runs.maplet_covers(slot, &hashes) {
                self.add_problem(&run.file.name, run.footer.offset, "the maplet lacks keys of the run".into());
            }
            let lies_in = |span: &KeySpan| run.entries == 0 || (span.low <= run.low && run.high <= span.high);
            if !span.is_none_or(lies_in) {
                self.add_problem(&run.file.name, run.footer.offset, "the run has keys outside of its range".into());
            }
        }
    }

    fn ranges_are_disjoint(&mut self, ranges: &[Arc<Range>]) {
        for pair in ranges.windows(2).filter(|pair| pair[0].span.high >= pair[1].span.low) {
            let key = pair[1].span.low.escape_ascii();
            let file = pair[1].runs.list().first().map_or("", |run| &run.file.name);
            self.add_problem(file, 0, format!("the range that begins with `{key}` overlaps the one before it"));
        }
    }
}

/// Reads all of the database in `directory`, which must not be open, and reports damage. Nothing is changed.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # drop(rlsm::Database::open(directory.path())?);
/// let verification = rlsm::verify(directory.path())?;
/// assert!(verification.is_sound());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// There is no database, it is open elsewhere, or the directory cannot be listed. Damage is not an error.
pub fn verify(directory: impl AsRef<Path>) -> Result<VerifyReport> {
    verify_on(&open_directory(directory.as_ref())?)
}

/// As [`verify`], on the caller's [`Storage`].
///
/// # Errors
/// As [`verify`].
pub fn verify_on(storage: &dyn Storage) -> Result<VerifyReport> {
    let _lock = locked(storage)?;
    verify_locked(storage, &files(storage)?)
}

pub(crate) fn locked(storage: &dyn Storage) -> Result<Box<dyn Send + Sync>> {
    files(storage)?;
    let lock = storage.lock().map_err(Error::io("locking", crate::file_name::LOCK))?;
    lock.ok_or_else(|| Error::Locked { directory: storage.description() })
}

/// The engine's files, in order; an error if there are none.
pub(crate) fn files(storage: &dyn Storage) -> Result<Vec<FileName>> {
    let listed = list(storage)?;
    let mut files: Vec<FileName> = listed.iter().filter_map(|name| FileName::parse(name)).collect();
    if files.is_empty() {
        return Err(Error::Invalid { problem: format!("there is no database in `{}`", storage.description()) });
    }
    files.sort_unstable();
    Ok(files)
}

pub(crate) fn verify_locked(storage: &dyn Storage, files: &[FileName]) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let state = match newest_manifest(files) {
        None => Err(no_manifest(files)),
        Some(number) => read_manifest(storage, number),
    };
    match state {
        Ok((state, torn)) => {
            report.torn_bytes = torn.map_or(0, |torn| torn.bytes);
            verify_manifest_runs(storage, &state, &mut report)?;
            verify_logs(storage, logs_from(files, state.log), &mut report);
        }
        Err(error) => {
            report.problems.push(error.into());
            verify_found_runs(storage, files, &mut report);
            verify_logs(storage, logs_from(files, 0), &mut report);
        }
    }
    Ok(report)
}

fn no_manifest(files: &[FileName]) -> Error {
    let file = files.first().map(FileName::to_string).unwrap_or_default();
    Error::corrupt(&file, 0, "the directory has no manifest, so it is not known what this file is part of")
}

fn verify_manifest_runs(storage: &dyn Storage, state: &ManifestState, report: &mut VerifyReport) -> Result<()> {
    let mut refused = Vec::new();
    let opened = open_levels(storage, state, 1, &mut |error| {
        refused.push(error);
        Ok(())
    })?;
    refused.into_iter().for_each(|error| report.problems.push(error.into()));
    report.version(&opened.version);
    Ok(())
}

/// Verifies every run that can be found without a manifest.
fn verify_found_runs(storage: &dyn Storage, files: &[FileName], report: &mut VerifyReport) {
    for file in files {
        let FileName::Data(_) = file else { continue };
        let mut damaged = None;
        let opened = DataFile::open_tolerant(storage, *file, &mut |error| {
            damaged = Some(error.into());
            Ok(())
        });
        report.problems.extend(damaged);
        let Some(file) = report.take(opened) else { continue };
        let file = Arc::new(file);
        for footer in report.take(find_footers(&file)).unwrap_or_default() {
            match Run::open(Arc::clone(&file), footer) {
                // An obsolete run whose space was reclaimed is not damage.
                Ok((run, _)) if run.is_reclaimed().unwrap_or(false) => {}
                Ok((run, _)) => report.run(&run),
                Err(error) => report.problems.push(error.into()),
            }
        }
    }
}

/// The numbers of the WALs from `first` on.
pub(crate) fn logs_from(files: &[FileName], first: u64) -> impl Iterator<Item = u64> {
    let logs = files.iter().filter(move |file| matches!(file, FileName::Wal(number) if *number >= first));
    logs.map(|file| file.number())
}

fn verify_logs(storage: &dyn Storage, logs: impl Iterator<Item = u64>, report: &mut VerifyReport) {
    for number in logs {
        report.logs += 1;
        let name = FileName::Wal(number).to_string();
        let Some(mut reader) = report.take(LogReader::open(storage, LogKind::Wal, number)) else { continue };
        while let Some(record) = reader.next() {
            report.take(decode(record.payload, &name, record.offset).map(drop));
        }
        match reader.end() {
            LogEnd::Clean => {}
            LogEnd::Damaged { offset, problem, was_synced: true } => {
                report.add_problem(&name, offset, problem.to_owned())
            }
            LogEnd::Torn { offset, .. } | LogEnd::Damaged { offset, .. } => report.torn_bytes += reader.len() - offset,
        }
    }
}

#[cfg(test)]
mod tests;
