//! The ledger of a device directory: what was written to the device from there, and what is prepared.
//!
//! `.manometer-ledger.jsonl` holds one JSON document a line. Lines are appended; the last line of each id counts, so
//! that a run that tells its bytes as it goes is never counted twice, whenever it is cut. A line that was cut is none.
//! Whoever holds the directory's lock writes; anyone may read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use manometer_measure::Span;
use manometer_measure::clock::WallAnchor;
use manometer_target::engine::directory::Marker;
use manometer_workload::settings::WorkloadSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::counter::{Counted, Stand};
use super::settle::Settled;
use crate::file::Precondition;
use crate::fit::Fit;

/// The ledger's name in the device directory.
pub const LEDGER_FILE: &str = ".manometer-ledger.jsonl";

/// A ledger that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file system said no.
    #[error("{}: {source}: the ledger of what was written to the device must be kept", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A line is none that we wrote.
    #[error(
        "{} line {line}: {source}: what was written to the device is not known; mend the line, or remove the file to \
         count anew",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Whether both make the same files; what has neither files nor a database that says what it is, makes nothing twice.
fn same_files(one: &WorkloadSettings, other: &WorkloadSettings) -> bool {
    match (one, other) {
        (WorkloadSettings::Io(one), WorkloadSettings::Io(other)) => {
            (one.file_size, one.files) == (other.file_size, other.files)
        }
        _ => false,
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it is about: a later line of the same id takes its place.
    pub id: String,
    /// When it was written, in seconds since 1970.
    pub at_unix_s: u64,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// What a run or a preparation wrote, so far.
    Written {
        /// What wrote: `run`, `precondition`, `load`, `snapshot` …
        what: String,
        /// How much.
        bytes: u64,
        /// Who says so.
        counted: Counted,
        /// What the device's own account said then; nothing where it does not count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<Stand>,
        /// Whether it came to its end.
        ended: bool,
    },
    /// The free space was filled.
    Precondition {
        /// With what.
        kind: Precondition,
        /// How many bytes that wrote.
        bytes: u64,
        /// Whether it came to its end.
        ended: bool,
    },
    /// A workload's data were made.
    Prepared(Box<Prepared>),
    /// Power-state transitions were switched off.
    Power {
        /// The files that say so, and what they said before.
        before: Vec<(PathBuf, String)>,
        /// The start of the host in which that was: another one begins with what is usual.
        #[serde(default)]
        boot_id: Option<String>,
        /// Whether they say it again.
        restored: bool,
    },
    /// Experiments were shrunk to fit the disk.
    Fit(Fit),
}

/// How the data of a workload were prepared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// The workload.
    pub workload: String,
    /// Its settings: those of the workload that made the data, or under which they settled.
    pub settings: Value,
    /// The fingerprint of those settings and of the files that they name.
    #[serde(default)]
    pub fingerprint: u64,
    /// The seed of its data.
    pub seed: u64,
    /// What the database says of itself, whatever was asked for; files say nothing.
    #[serde(default)]
    pub marker: Option<Marker>,
    /// Whether its files were rewritten at random.
    pub rewritten: bool,
    /// How it settled; nothing where it did not.
    pub settled: Option<Settled>,
    /// Whether preparing came to its end.
    pub ended: bool,
}

impl Prepared {
    /// Whether these are the data that a workload of `settings` and `seed` begins with, or, with `reuse`, can.
    pub fn serves(&self, settings: &WorkloadSettings, seed: u64, reuse: bool) -> bool {
        let same = || match settings.marker(seed) {
            Some(wanted) => self.marker.as_ref().is_some_and(|there| there.serves(&wanted, reuse)),
            None => {
                let there: Option<WorkloadSettings> = serde_json::from_value(self.settings.clone()).ok();
                self.seed == seed && there.is_some_and(|there| same_files(&there, settings))
            }
        };
        self.ended && same()
    }

    /// Whether they have settled under a workload of `settings`, or at least did not in a longer time than `at_most`.
    pub fn has_settled(&self, settings: &WorkloadSettings, at_most: Span) -> bool {
        let enough = |settled: Settled| settled.steady || at_most.seconds() <= settled.seconds;
        self.settled.is_some_and(enough) && self.fingerprint == settings.fingerprint()
    }
}

/// All that counts in a ledger, in the order in which it was written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Book(Vec<Line>);

impl Book {
    /// Reads the ledger of `directory`; a directory without one has an empty one.
    ///
    /// # Errors
    /// It cannot be read, or a line but the last is damaged.
    pub fn read(directory: &Path) -> Result<Self, LedgerError> {
        let path = directory.join(LEDGER_FILE);
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(LedgerError::Io { path, source }),
        };
        let mut book = Self::default();
        let lines: Vec<&str> = text.split('\n').collect();
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_str(line) {
                Ok(line) => book.put(line),
                // Cut while it was written: it has no end.
                Err(_) if index + 1 == lines.len() => {}
                Err(source) => return Err(LedgerError::Damaged { path, line: index + 1, source }),
            }
        }
        Ok(book)
    }

    /// Takes a line in, in place of an earlier one of its id.
    fn put(&mut self, line: Line) {
        self.0.retain(|other| other.id != line.id);
        self.0.push(line);
    }

    /// All bytes that were ever written to the device from here.
    pub fn written_bytes(&self) -> u64 {
        written(&self.0)
    }

    /// The preconditioning that holds, its bytes and when it ended; nothing where the last one did not end.
    pub fn precondition(&self) -> Option<(Precondition, u64, u64)> {
        self.last_precondition().and_then(|index| match &self.0[index] {
            Line { at_unix_s, entry: Entry::Precondition { kind, bytes, ended: true }, .. } => {
                Some((*kind, *bytes, *at_unix_s))
            }
            _ => None,
        })
    }

    /// What was written since then; nothing where none holds.
    pub fn written_since_precondition_bytes(&self) -> Option<u64> {
        self.precondition()?;
        Some(written(&self.0[self.last_precondition()? + 1..]))
    }

    fn last_precondition(&self) -> Option<usize> {
        self.0.iter().rposition(|line| matches!(line.entry, Entry::Precondition { .. }))
    }

    /// How the data of `workload` were prepared last.
    pub fn prepared(&self, workload: &str) -> Option<&Prepared> {
        self.0.iter().rev().find_map(|line| match &line.entry {
            Entry::Prepared(prepared) if prepared.workload == workload => Some(&**prepared),
            _ => None,
        })
    }

    /// By how much experiments that want `wanted_bytes` were shrunk last.
    pub fn fit(&self, wanted_bytes: u64) -> Option<Fit> {
        self.0.iter().rev().find_map(|line| match line.entry {
            Entry::Fit(fit) if fit.wanted_bytes == wanted_bytes => Some(fit),
            _ => None,
        })
    }

    /// What was switched off and not restored: the line's id, and the line.
    pub fn not_restored(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let open = |line: &&Line| matches!(line.entry, Entry::Power { restored: false, .. });
        self.0.iter().filter(open).map(|line| (line.id.as_str(), &line.entry))
    }

    /// What did not come to its end and said what the device's account was: the line's id, the line, and that account.
    pub(super) fn cut(&self) -> impl Iterator<Item = (&str, &Entry, &Stand)> {
        self.0.iter().filter_map(|line| match &line.entry {
            Entry::Written { device: Some(device), ended: false, .. } => Some((line.id.as_str(), &line.entry, device)),
            _ => None,
        })
    }
}

fn written(lines: &[Line]) -> u64 {
    let bytes = lines.iter().map(|line| match &line.entry {
        Entry::Written { bytes, .. } => *bytes,
        _ => 0,
    });
    bytes.fold(0, u64::saturating_add)
}

/// A ledger that is written.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    book: Book,
}

impl Ledger {
    /// Opens the ledger of `directory`, whose lock is held, and writes it anew without what no longer counts.
    ///
    /// # Errors
    /// It cannot be read or written, or is damaged.
    pub fn open(directory: &Path) -> Result<Self, LedgerError> {
        let book = Book::read(directory)?;
        let path = directory.join(LEDGER_FILE);
        let part = path.with_extension("part");
        let write = || -> io::Result<File> {
            let mut file = File::create(&part)?;
            for line in &book.0 {
                file.write_all(&line_bytes(line)?)?;
            }
            file.sync_all()?;
            fs::rename(&part, &path)?;
            File::open(directory)?.sync_all()?;
            OpenOptions::new().append(true).open(&path)
        };
        match write() {
            Ok(file) => Ok(Self { path, file, book }),
            Err(source) => Err(LedgerError::Io { path, source }),
        }
    }

    /// One that cannot be written.
    #[cfg(test)]
    pub(super) fn on_full_disk() -> Self {
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        Self { path, file, book: Book::default() }
    }

    /// What counts by now.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Appends what happened, durably, in place of an earlier line of `id`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, id: &str, entry: Entry) -> Result<(), LedgerError> {
        self.note(id, entry)?;
        self.file.sync_data().map_err(|source| LedgerError::Io { path: self.path.clone(), source })
    }

    /// Appends how the data of a workload were prepared, durably.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append_prepared(&mut self, prepared: Prepared) -> Result<(), LedgerError> {
        let id = format!("prepared-{}", prepared.workload);
        self.append(&id, Entry::Prepared(Box::new(prepared)))
    }

    /// Appends what happened so that it outlives us, without waiting for the device, which may be measured.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note(&mut self, id: &str, entry: Entry) -> Result<(), LedgerError> {
        let line = Line { id: id.to_owned(), at_unix_s: WallAnchor::now().unix_ns / 1_000_000_000, entry };
        let written = line_bytes(&line).and_then(|bytes| self.file.write_all(&bytes));
        written.map_err(|source| LedgerError::Io { path: self.path.clone(), source })?;
        self.book.put(line);
        Ok(())
    }

    /// An id that no other line has.
    pub fn fresh_id(what: &str) -> String {
        format!("{what}-{}-{}", WallAnchor::now().unix_ns, std::process::id())
    }
}

fn line_bytes(line: &Line) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(bytes: u64) -> Entry {
        Entry::Written { what: "run".to_owned(), bytes, counted: Counted::Device, device: None, ended: false }
    }

    fn filled(ended: bool) -> Entry {
        Entry::Precondition { kind: Precondition::Random, bytes: 7, ended }
    }

    #[test]
    fn the_last_line_of_each_id_counts() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        for (id, bytes) in [("a", 1), ("b", 10), ("a", 5), ("a", 8)] {
            ledger.append(id, wrote(bytes)).unwrap();
        }
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 18);
        assert_eq!(&Book::read(dir.path()).unwrap(), ledger.book());
        drop(ledger);
        Ledger::open(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(LEDGER_FILE)).unwrap().lines().count(), 2);
        assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), 18);
    }

    #[test]
    fn wherever_a_line_is_cut_what_was_before_counts_and_what_follows_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        ledger.append("a", wrote(4)).unwrap();
        let whole = fs::read(dir.path().join(LEDGER_FILE)).unwrap();
        ledger.append("a", wrote(9)).unwrap();
        let both = fs::read(dir.path().join(LEDGER_FILE)).unwrap();
        for length in whole.len()..both.len() - 1 {
            fs::write(dir.path().join(LEDGER_FILE), &both[..length]).unwrap();
            let book = Book::read(dir.path()).unwrap();
            assert!([4, 9].contains(&book.written_bytes()), "cut at {length}");
            let before = book.written_bytes();
            Ledger::open(dir.path()).unwrap().append("b", wrote(100)).unwrap();
            assert_eq!(Book::read(dir.path()).unwrap().written_bytes(), before + 100);
        }
    }

    #[test]
    fn a_damaged_line_is_told_and_not_skipped() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(LEDGER_FILE), "{\"id\":\"a\"}\n").unwrap();
        let error = Ledger::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
    }

    #[test]
    fn a_preconditioning_holds_from_its_end_on_and_is_none_while_another_is_unfinished() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        ledger.append("before", wrote(50)).unwrap();
        ledger.append("p", filled(false)).unwrap();
        assert_eq!(ledger.book().precondition(), None);
        ledger.append("fill", wrote(1000)).unwrap();
        ledger.append("p", filled(true)).unwrap();
        assert_eq!(ledger.book().precondition().map(|(kind, bytes, _)| (kind, bytes)), Some((Precondition::Random, 7)));
        assert_eq!(ledger.book().written_since_precondition_bytes(), Some(0));
        ledger.append("run", wrote(3)).unwrap();
        assert_eq!(ledger.book().written_since_precondition_bytes(), Some(3));
        assert_eq!(ledger.book().written_bytes(), 1053);
        ledger.append("again", filled(false)).unwrap();
        assert_eq!(ledger.book().written_since_precondition_bytes(), None);
    }
}
