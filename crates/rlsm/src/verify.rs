//! Looking for damage: everything is read, nothing is changed.

mod order;

use std::path::Path;
use std::sync::Arc;

use crate::levels::{Range, Runs, Told, Version, newest_manifest, open_levels, read_manifest};
use crate::log::{End, LogKind, LogReader};
use crate::memory::decode;
use crate::names::FileName;
use crate::plan::Span;
use crate::run::{DataFile, Run, find_footers};
use crate::storage::{Disk, Storage};
use crate::{Error, Result};

/// What was read, and what was wrong with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Runs that were read.
    pub runs: u64,
    /// The versions of keys in them.
    pub entries: u64,
    /// What they take in their files, in bytes.
    pub bytes: u64,
    /// Write-ahead logs that were read.
    pub logs: u64,
    /// Bytes at the end of logs and the manifest that no whole record holds: a crash leaves such, of writes that were
    /// never acknowledged as kept.
    pub torn_bytes: u64,
    /// What is damaged.
    pub problems: Vec<Problem>,
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Problem {
    /// The file, relative to the database's folder.
    pub file: String,
    /// Where in it, in bytes, if that is known.
    pub offset: Option<u64>,
    /// What was found and what was expected.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            Some(offset) => write!(formatter, "{} at byte {offset}: {}", self.file, self.what),
            None => write!(formatter, "{}: {}", self.file, self.what),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Corrupt { file, offset, what } => Self { file, offset: Some(offset), what },
            Error::Io { doing, file, source } => Self { file, offset: None, what: format!("{doing} it: {source}") },
            other => Self { file: String::new(), offset: None, what: other.to_string() },
        }
    }
}

impl Verification {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.problems.push(error.into())).ok()
    }

    fn problem(&mut self, file: &str, offset: u64, what: String) {
        self.problems.push(Problem { file: file.to_owned(), offset: Some(offset), what });
    }

    fn run(&mut self, run: &Run) {
        self.runs += 1;
        self.entries += run.entries;
        self.bytes += run.stored_bytes;
        self.take(run.verify());
    }

    /// Reads all runs of `version`, and compares ranges and tables of fingerprints with them.
    pub(crate) fn version(&mut self, version: &Version) {
        self.runs_of(&version.level0, None);
        for range in version.ranges.iter() {
            self.runs_of(&range.runs, Some(&range.span));
        }
        self.ranges_are_disjoint(&version.ranges);
        order::check(version, &mut |run, what| self.problem(&run.file.name, run.footer.offset, what));
    }

    fn runs_of(&mut self, runs: &Runs, span: Option<&Span>) {
        for (slot, run) in runs.list().iter().enumerate() {
            self.run(run);
            let Some((_, hashes)) = self.take(Run::open(Arc::clone(&run.file), run.footer)) else { continue };
            if !runs.finds_all(slot, &hashes) {
                self.problem(
                    &run.file.name,
                    run.footer.offset,
                    "the table of fingerprints lacks keys of the run".into(),
                );
            }
            let lies_in = |span: &Span| run.entries == 0 || (span.low <= run.low && run.high <= span.high);
            if !span.is_none_or(lies_in) {
                self.problem(&run.file.name, run.footer.offset, "the run holds keys beyond its range".into());
            }
        }
    }

    fn ranges_are_disjoint(&mut self, ranges: &[Arc<Range>]) {
        for pair in ranges.windows(2).filter(|pair| pair[0].span.high >= pair[1].span.low) {
            let key = pair[1].span.low.escape_ascii();
            let file = pair[1].runs.list().first().map_or("", |run| &run.file.name);
            self.problem(file, 0, format!("the range from `{key}` on overlaps the one before it"));
        }
    }
}

/// Reads all of the database in `folder`, which is not open, and tells what is damaged. Nothing is changed.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # drop(rlsm::Database::open(folder.path())?);
/// let verification = rlsm::verify(folder.path())?;
/// assert!(verification.is_sound());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// There is no database, it is open elsewhere, or the folder cannot be listed. Damage is no error.
pub fn verify(folder: impl AsRef<Path>) -> Result<Verification> {
    verify_on(&disk(folder.as_ref())?)
}

/// As [`verify`], on a file layer of the caller's.
///
/// # Errors
/// As [`verify`].
pub fn verify_on(storage: &dyn Storage) -> Result<Verification> {
    let _lock = locked(storage)?;
    verify_locked(storage, &files(storage)?)
}

/// The folder of a database that is there.
pub(crate) fn disk(folder: &Path) -> Result<Disk> {
    Disk::open(folder).map_err(Error::io("opening the folder", &folder.display().to_string()))
}

pub(crate) fn locked(storage: &dyn Storage) -> Result<Box<dyn Send + Sync>> {
    files(storage)?;
    let lock = storage.lock().map_err(Error::io("locking", crate::names::LOCK))?;
    lock.ok_or_else(|| Error::Locked { folder: storage.place() })
}

/// The engine's files, in order; an error if there are none.
pub(crate) fn files(storage: &dyn Storage) -> Result<Vec<FileName>> {
    let listed = storage.list().map_err(Error::io("listing", "the folder"))?;
    let mut files: Vec<FileName> = listed.iter().filter_map(|name| FileName::parse(name)).collect();
    if files.is_empty() {
        return Err(Error::Invalid { what: format!("there is no database in `{}`", storage.place()) });
    }
    files.sort_unstable();
    Ok(files)
}

pub(crate) fn verify_locked(storage: &dyn Storage, files: &[FileName]) -> Result<Verification> {
    let mut found = Verification::default();
    let told = match newest_manifest(files) {
        None => Err(no_manifest(files)),
        Some(number) => read_manifest(storage, number),
    };
    match told {
        Ok((told, torn)) => {
            found.torn_bytes = torn.map_or(0, |torn| torn.bytes);
            verify_told(storage, &told, &mut found)?;
            verify_logs(storage, logs_from(files, told.log), &mut found);
        }
        Err(error) => {
            found.problems.push(error.into());
            verify_unlisted(storage, files, &mut found);
            verify_logs(storage, logs_from(files, 0), &mut found);
        }
    }
    Ok(found)
}

fn no_manifest(files: &[FileName]) -> Error {
    let file = files.first().map(FileName::to_string).unwrap_or_default();
    Error::corrupt(&file, 0, "there is no manifest that tells what it is part of")
}

fn verify_told(storage: &dyn Storage, told: &Told, found: &mut Verification) -> Result<()> {
    let mut refused = Vec::new();
    let opened = open_levels(storage, told, 1, &mut |error| {
        refused.push(error);
        Ok(())
    })?;
    refused.into_iter().for_each(|error| found.problems.push(error.into()));
    found.version(&opened.version);
    Ok(())
}

/// Verifies every run that can be found without a manifest.
fn verify_unlisted(storage: &dyn Storage, files: &[FileName], found: &mut Verification) {
    for file in files {
        let FileName::Data(_) = file else { continue };
        let mut damaged = None;
        let opened = DataFile::open_unless_refused(storage, *file, &mut |error| {
            damaged = Some(error.into());
            Ok(())
        });
        found.problems.extend(damaged);
        let Some(file) = found.take(opened) else { continue };
        let file = Arc::new(file);
        for footer in found.take(find_footers(&file)).unwrap_or_default() {
            match Run::open(Arc::clone(&file), footer) {
                // One that is dead is no damage.
                Ok((run, _)) if run.is_given_back().unwrap_or(false) => {}
                Ok((run, _)) => found.run(&run),
                Err(error) => found.problems.push(error.into()),
            }
        }
    }
}

/// The write-ahead logs from `first` on.
pub(crate) fn logs_from(files: &[FileName], first: u64) -> impl Iterator<Item = u64> {
    let logs = files.iter().filter(move |file| matches!(file, FileName::Wal(number) if *number >= first));
    logs.map(|file| file.number())
}

fn verify_logs(storage: &dyn Storage, logs: impl Iterator<Item = u64>, found: &mut Verification) {
    for number in logs {
        found.logs += 1;
        let name = FileName::Wal(number).to_string();
        let Some(mut reader) = found.take(LogReader::open(storage, LogKind::Wal, number)) else { continue };
        while let Some(record) = reader.next() {
            found.take(decode(record.payload, &name, record.offset).map(drop));
        }
        match reader.end() {
            End::Clean => {}
            End::Damaged { offset, what, was_synced: true } => found.problem(&name, offset, what.to_owned()),
            End::Torn { offset, .. } | End::Damaged { offset, .. } => found.torn_bytes += reader.len() - offset,
        }
    }
}

#[cfg(test)]
mod tests;
