//! The ledger of a device directory: the bytes written to the device from there, and the data that are prepared.
//!
//! `.manometer-ledger.jsonl` holds one JSON document per line. Lines are appended, and the last line of each id is valid:
//! a run that updates its bytes is never counted twice, whenever it is killed. An incomplete last line is ignored. The
//! holder of the directory's lock writes; every process may read.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use manometer_measure::clock::WallAnchor;
use manometer_measure::{Directory, Span};
use manometer_target::engine::directory::DatabaseManifest;
use manometer_workload::settings::WorkloadSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::settle::SettleResult;
use super::write_counter::{CountSource, CounterReading};
use crate::definition::{DiskFit, Precondition};

/// The name of the ledger in the device directory.
pub const LEDGER_FILE: &str = ".manometer-ledger.jsonl";

/// The largest ledger that is read.
const MOST_BYTES: u64 = 1 << 30;

/// A ledger that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// An error of the file system.
    #[error("{}: {source}: the ledger of the bytes written to the device must be readable and writable", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An invalid line.
    #[error(
        "{} line {line}: {source}: the bytes written to the device are unknown; correct the line, or remove the file to \
         start counting from 0",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Whether both workloads create the same files.
fn create_same_files(one: &WorkloadSettings, other: &WorkloadSettings) -> bool {
    match (one, other) {
        (WorkloadSettings::Io(one), WorkloadSettings::Io(other)) => {
            (one.file_size, one.files) == (other.file_size, other.files)
        }
        _ => false,
    }
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerLine {
    /// What it is about. A later line of the same id replaces it.
    pub id: String,
    /// When it was written, in seconds since 1970.
    pub at_unix_s: u64,
    /// Its content.
    #[serde(flatten)]
    pub entry: LedgerEntry,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum LedgerEntry {
    /// The bytes that a run or a step of a preparation has written so far.
    Written {
        /// The writer: `run`, `precondition`, `load`, `snapshot` …
        what: String,
        /// The bytes.
        bytes: u64,
        /// Where the count comes from.
        counted: CountSource,
        /// The device's counter at that time; nothing where processes are counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<CounterReading>,
        /// Whether it has ended.
        ended: bool,
    },
    /// The free space was filled.
    Precondition {
        /// How.
        kind: Precondition,
        /// The bytes that this wrote.
        bytes: u64,
        /// Whether it has ended.
        ended: bool,
    },
    /// The data of a workload were created.
    Prepared(Box<PreparedData>),
    /// Power-state transitions were disabled.
    Power {
        /// The kernel files, and their values before.
        before: Vec<(PathBuf, String)>,
        /// The boot of the host in which they were disabled: another one starts with the defaults.
        #[serde(default)]
        boot_id: Option<String>,
        /// Whether the values are restored.
        restored: bool,
    },
    /// Data were shrunk to fit the disk.
    Fit(DiskFit),
}

/// The data of a workload, and how they were prepared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreparedData {
    /// The workload.
    pub workload: String,
    /// The settings of the workload that created the data, or under which they settled.
    pub settings: Value,
    /// The fingerprint of those settings and of the files that they reference.
    #[serde(default)]
    pub fingerprint: u64,
    /// The seed of the data.
    pub seed: u64,
    /// The marker of the database; files have none.
    #[serde(default)]
    pub marker: Option<DatabaseManifest>,
    /// Whether the files were rewritten with random writes.
    pub rewritten: bool,
    /// How they settled; nothing where they did not.
    pub settled: Option<SettleResult>,
    /// Whether the preparation has ended.
    pub ended: bool,
}

impl PreparedData {
    /// Whether a workload of `settings` and `seed` starts with these data, or, with `reuse`, may.
    pub fn serves(&self, settings: &WorkloadSettings, seed: u64, reuse: bool) -> bool {
        let matches = || match settings.marker(seed) {
            Some(required) => self.marker.as_ref().is_some_and(|there| there.serves(&required, reuse)),
            None => {
                let there: Option<WorkloadSettings> = serde_json::from_value(self.settings.clone()).ok();
                self.seed == seed && there.is_some_and(|there| create_same_files(&there, settings))
            }
        };
        self.ended && matches()
    }

    /// Whether they have settled under a workload of `settings`, or did not within `max_time` or longer.
    pub fn has_settled(&self, settings: &WorkloadSettings, max_time: Span) -> bool {
        let is_enough = |settled: SettleResult| settled.steady || max_time.seconds() <= settled.seconds;
        self.settled.is_some_and(is_enough) && self.fingerprint == settings.fingerprint()
    }
}

/// The valid lines of a ledger, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LedgerEntries(Vec<LedgerLine>);

impl LedgerEntries {
    /// Reads the ledger of `directory`, empty where there is none.
    ///
    /// # Errors
    /// It cannot be read, or a line other than the last is invalid.
    pub fn read(directory: &Path) -> Result<Self, LedgerError> {
        match Directory::open(directory) {
            Ok(held) => Self::read_in(&held),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(LedgerError::Io { path: directory.join(LEDGER_FILE), source }),
        }
    }

    /// As [`Self::read`], of a directory held open.
    fn read_in(directory: &Directory) -> Result<Self, LedgerError> {
        let path = directory.path().join(LEDGER_FILE);
        let text = match directory.read_all(LEDGER_FILE, MOST_BYTES) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(LedgerError::Io { path, source }),
        };
        let mut entries = Self::default();
        let lines: Vec<&str> = text.split('\n').collect();
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_str(line) {
                Ok(line) => entries.put(line),
                // Written incompletely.
                Err(_) if index + 1 == lines.len() => {}
                Err(source) => return Err(LedgerError::Damaged { path, line: index + 1, source }),
            }
        }
        Ok(entries)
    }

    /// Adds a line, which replaces an earlier one of its id.
    fn put(&mut self, line: LedgerLine) {
        self.0.retain(|other| other.id != line.id);
        self.0.push(line);
    }

    /// All bytes ever written to the device from here.
    pub fn written_bytes(&self) -> u64 {
        written(&self.0)
    }

    /// The last preconditioning, its bytes and the time of its end; nothing where it did not end.
    pub fn precondition(&self) -> Option<(Precondition, u64, u64)> {
        self.last_precondition().and_then(|index| match &self.0[index] {
            LedgerLine { at_unix_s, entry: LedgerEntry::Precondition { kind, bytes, ended: true }, .. } => {
                Some((*kind, *bytes, *at_unix_s))
            }
            _ => None,
        })
    }

    /// The bytes written since then; nothing without a preconditioning.
    pub fn written_since_precondition_bytes(&self) -> Option<u64> {
        self.precondition()?;
        Some(written(&self.0[self.last_precondition()? + 1..]))
    }

    fn last_precondition(&self) -> Option<usize> {
        self.0.iter().rposition(|line| matches!(line.entry, LedgerEntry::Precondition { .. }))
    }

    /// The data of `workload` as they were prepared last.
    pub fn prepared(&self, workload: &str) -> Option<&PreparedData> {
        self.0.iter().rev().find_map(|line| match &line.entry {
            LedgerEntry::Prepared(prepared) if prepared.workload == workload => Some(&**prepared),
            _ => None,
        })
    }

    /// How far experiments of `required_bytes` were shrunk last.
    pub fn disk_fit(&self, required_bytes: u64) -> Option<DiskFit> {
        self.0.iter().rev().find_map(|line| match line.entry {
            LedgerEntry::Fit(fit) if fit.required_bytes == required_bytes => Some(fit),
            _ => None,
        })
    }

    /// The ids and the entries of disabled power states that are not restored.
    pub fn power_not_restored(&self) -> impl Iterator<Item = (&str, &LedgerEntry)> {
        let open = |line: &&LedgerLine| matches!(line.entry, LedgerEntry::Power { restored: false, .. });
        self.0.iter().filter(open).map(|line| (line.id.as_str(), &line.entry))
    }

    /// The ids, the entries and the counter readings of writers that have not ended.
    pub(super) fn unfinished_writes(&self) -> impl Iterator<Item = (&str, &LedgerEntry, &CounterReading)> {
        self.0.iter().filter_map(|line| match &line.entry {
            LedgerEntry::Written { device: Some(device), ended: false, .. } => {
                Some((line.id.as_str(), &line.entry, device))
            }
            _ => None,
        })
    }
}

fn written(lines: &[LedgerLine]) -> u64 {
    let bytes = lines.iter().map(|line| match &line.entry {
        LedgerEntry::Written { bytes, .. } => *bytes,
        _ => 0,
    });
    bytes.fold(0, u64::saturating_add)
}

/// A ledger open for writing.
#[derive(Debug)]
pub struct Ledger {
    directory: Directory,
    file: File,
    entries: LedgerEntries,
}

impl Ledger {
    /// Opens the ledger of `directory`, whose lock is held, and rewrites it without replaced lines.
    ///
    /// # Errors
    /// It cannot be read or written, or has an invalid line.
    pub fn open(directory: &Directory) -> Result<Self, LedgerError> {
        let entries = LedgerEntries::read_in(directory)?;
        let write = || -> io::Result<File> {
            let lines: Vec<Vec<u8>> = entries.0.iter().map(line_bytes).collect::<io::Result<_>>()?;
            directory.replace(LEDGER_FILE, &lines.concat())?;
            directory.sync()?;
            directory.append(LEDGER_FILE)
        };
        match write() {
            Ok(file) => Ok(Self { directory: directory.clone(), file, entries }),
            Err(source) => Err(LedgerError::Io { path: directory.path().join(LEDGER_FILE), source }),
        }
    }

    /// The ledger of the folder `path`.
    #[cfg(test)]
    pub(crate) fn in_folder(path: &Path) -> Self {
        Self::open(&Directory::open(path).unwrap()).unwrap()
    }

    /// A ledger that cannot be written.
    #[cfg(test)]
    pub(super) fn on_full_disk() -> Self {
        let directory = Directory::open(Path::new("/dev")).unwrap();
        let file = directory.append("full").unwrap();
        Self { directory, file, entries: LedgerEntries::default() }
    }

    /// The device directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    fn error(&self, source: io::Error) -> LedgerError {
        LedgerError::Io { path: self.directory.path().join(LEDGER_FILE), source }
    }

    /// Its valid entries.
    pub fn entries(&self) -> &LedgerEntries {
        &self.entries
    }

    /// Appends an entry durably. It replaces an earlier one of `id`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, id: &str, entry: LedgerEntry) -> Result<(), LedgerError> {
        self.append_unsynced(id, entry)?;
        self.file.sync_data().map_err(|source| self.error(source))
    }

    /// Appends the data of a workload durably.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append_prepared(&mut self, prepared: PreparedData) -> Result<(), LedgerError> {
        let id = format!("prepared-{}", prepared.workload);
        self.append(&id, LedgerEntry::Prepared(Box::new(prepared)))
    }

    /// Appends an entry so that it outlives this process, without waiting for the device, which may be measured.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append_unsynced(&mut self, id: &str, entry: LedgerEntry) -> Result<(), LedgerError> {
        let line = LedgerLine { id: id.to_owned(), at_unix_s: WallAnchor::now().unix_s(), entry };
        let written = line_bytes(&line).and_then(|bytes| self.file.write_all(&bytes));
        written.map_err(|source| self.error(source))?;
        self.entries.put(line);
        Ok(())
    }

    /// A new id for a line.
    pub fn new_id(what: &str) -> String {
        format!("{what}-{}-{}", WallAnchor::now().unix_ns, std::process::id())
    }
}

fn line_bytes(line: &LedgerLine) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn wrote(bytes: u64) -> LedgerEntry {
        LedgerEntry::Written { what: "run".to_owned(), bytes, counted: CountSource::Device, device: None, ended: false }
    }

    fn filled(ended: bool) -> LedgerEntry {
        LedgerEntry::Precondition { kind: Precondition::Random, bytes: 7, ended }
    }

    #[test]
    fn the_last_line_of_each_id_is_valid() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::in_folder(dir.path());
        for (id, bytes) in [("a", 1), ("b", 10), ("a", 5), ("a", 8)] {
            ledger.append(id, wrote(bytes)).unwrap();
        }
        assert_eq!(LedgerEntries::read(dir.path()).unwrap().written_bytes(), 18);
        assert_eq!(&LedgerEntries::read(dir.path()).unwrap(), ledger.entries());
        drop(ledger);
        Ledger::in_folder(dir.path());
        assert_eq!(fs::read_to_string(dir.path().join(LEDGER_FILE)).unwrap().lines().count(), 2);
        assert_eq!(LedgerEntries::read(dir.path()).unwrap().written_bytes(), 18);
    }

    #[test]
    fn an_incomplete_last_line_is_ignored_and_writing_continues() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::in_folder(dir.path());
        ledger.append("a", wrote(4)).unwrap();
        let whole = fs::read(dir.path().join(LEDGER_FILE)).unwrap();
        ledger.append("a", wrote(9)).unwrap();
        let both = fs::read(dir.path().join(LEDGER_FILE)).unwrap();
        for length in whole.len()..both.len() - 1 {
            fs::write(dir.path().join(LEDGER_FILE), &both[..length]).unwrap();
            let entries = LedgerEntries::read(dir.path()).unwrap();
            assert!([4, 9].contains(&entries.written_bytes()), "cut at {length}");
            let before = entries.written_bytes();
            Ledger::in_folder(dir.path()).append("b", wrote(100)).unwrap();
            assert_eq!(LedgerEntries::read(dir.path()).unwrap().written_bytes(), before + 100);
        }
    }

    #[test]
    fn an_invalid_line_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(LEDGER_FILE), "{\"id\":\"a\"}\n").unwrap();
        let error = Ledger::open(&Directory::open(dir.path()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
    }

    #[test]
    fn a_preconditioning_is_valid_from_its_end_until_another_starts() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::in_folder(dir.path());
        ledger.append("before", wrote(50)).unwrap();
        ledger.append("p", filled(false)).unwrap();
        assert_eq!(ledger.entries().precondition(), None);
        ledger.append("fill", wrote(1000)).unwrap();
        ledger.append("p", filled(true)).unwrap();
        assert_eq!(
            ledger.entries().precondition().map(|(kind, bytes, _)| (kind, bytes)),
            Some((Precondition::Random, 7))
        );
        assert_eq!(ledger.entries().written_since_precondition_bytes(), Some(0));
        ledger.append("run", wrote(3)).unwrap();
        assert_eq!(ledger.entries().written_since_precondition_bytes(), Some(3));
        assert_eq!(ledger.entries().written_bytes(), 1053);
        ledger.append("again", filled(false)).unwrap();
        assert_eq!(ledger.entries().written_since_precondition_bytes(), None);
    }
}
