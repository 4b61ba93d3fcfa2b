//! `queue.jsonl`: the set that a folder is of, its runs and what became of them. Lines are only appended, and each is
//! on the disk before what it says is done.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use manometer_measure::plan::Settings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::QueueError;
use crate::file::Referenced;
use crate::fit::Fits;

/// The file's name in the output folder.
pub(super) const FILE: &str = "queue.jsonl";

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Line {
    /// What the set was made of: the first line.
    Set(Made),
    /// A run: one for each, in order.
    Run(Entry),
    /// What became of a run.
    State(Became),
    /// The set was taken up with what it may be taken up with.
    Resumed(Terms),
    /// A recording that does not count was moved out of the way.
    SetAside {
        /// The run.
        run: String,
        /// Where it lies now, below the output folder.
        to: PathBuf,
    },
}

/// What a set is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Made {
    /// The version that made it.
    pub manometer: String,
    /// The files, in order.
    pub files: Vec<Source>,
    /// How far the data in each device directory shrank to fit the disk, where they did.
    pub fits: Fits,
}

impl Made {
    /// The terms that it was begun on.
    pub(super) fn terms(&self) -> Terms {
        let budget = |source: &Source| source.resolved.pointer("/device/write_budget").cloned().unwrap_or_default();
        Terms { manometer: self.manometer.clone(), write_budgets: self.files.iter().map(budget).collect() }
    }
}

/// What may change while a set is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Terms {
    /// The version that runs it.
    pub manometer: String,
    /// `device.write_budget` of each file, in order; null where it has none.
    pub write_budgets: Vec<Value>,
}

/// One experiment file of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Source {
    /// The file as it was named.
    pub file: PathBuf,
    /// The device directory, absolute.
    pub directory: PathBuf,
    /// The whole, `extends` and `--set` applied.
    pub resolved: Value,
    /// What the files say that it names.
    pub referenced: Referenced,
}

/// One run of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its id, also its folder's name.
    pub run: String,
    /// The file that it is of.
    pub file: PathBuf,
    /// The hash of its own experiment, before any shrinking: rapidhash V3 of the TOML without `device.write_budget`.
    pub hash: String,
    /// What the sweep sets.
    pub settings: Settings,
    /// Which repeat of its combination it is, from 1.
    pub repeat: u32,
    /// Whether it is the reference.
    pub reference: bool,
}

/// What a run is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has not begun.
    Waiting,
    /// It runs, or did when the program was cut off.
    Running,
    /// Its recording is whole.
    Done,
    /// It failed, or could not begin.
    Failed,
    /// Somebody stopped it.
    Interrupted,
    /// Its combination was narrow enough without it.
    NotNeeded,
}

/// That a run went from one state to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Became {
    /// The run.
    pub run: String,
    /// Its state from now on.
    pub state: State,
    /// When, in seconds since 1970.
    pub at_unix_s: f64,
    /// Why, where it failed or was stopped before it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The folders whose data it made: later runs of the set may make it anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<PathBuf>,
}

/// The file, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Writes the beginning, all or nothing.
    pub(super) fn create(out: &Path, lines: &[Line]) -> Result<Self, QueueError> {
        let path = out.join(FILE);
        let beginning = out.join(format!("{FILE}.new"));
        let write = || {
            let mut file = File::create(&beginning)?;
            lines.iter().try_for_each(|line| file.write_all(&bytes_of(line)))?;
            file.sync_all()?;
            fs::rename(&beginning, &path)?;
            sync_folder(out)
        };
        write().map_err(QueueError::io(&path))?;
        Self::append_to(path)
    }

    /// Reads what is there. A last line that was not written to its end was never acted upon: it is cut off.
    pub(super) fn open(out: &Path) -> Result<(Self, Vec<Line>), QueueError> {
        let path = out.join(FILE);
        let io = QueueError::io(&path);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(QueueError::Missing { out: out.to_owned() });
            }
            read => read.map_err(&io)?,
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let lines = parse(&path, &text[..whole])?;
        let journal = Self::append_to(path)?;
        journal.file.set_len(whole as u64).map_err(io)?;
        Ok((journal, lines))
    }

    fn append_to(path: PathBuf) -> Result<Self, QueueError> {
        let file = OpenOptions::new().append(true).open(&path).map_err(QueueError::io(&path))?;
        Ok(Self { path, file })
    }

    /// Appends a line and waits until it is on the disk.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), QueueError> {
        let written = self.file.write_all(&bytes_of(line)).and_then(|()| self.file.sync_data());
        written.map_err(QueueError::io(&self.path))
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<Line>, QueueError> {
    let damaged = |(index, error): (usize, serde_json::Error)| QueueError::Damaged {
        path: path.to_owned(),
        line: index + 1,
        reason: error.to_string(),
    };
    let numbered = text.lines().enumerate();
    numbered.map(|(index, line)| serde_json::from_str(line).map_err(|error| damaged((index, error)))).collect()
}

fn bytes_of(line: &Line) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).expect("a line is plain data");
    bytes.push(b'\n');
    bytes
}

/// Makes a new or renamed entry of `folder` survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(run: &str, state: State) -> Line {
        Line::State(Became { run: run.to_owned(), state, at_unix_s: 1.5, reason: None, made: Vec::new() })
    }

    fn written(lines: &[Line]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(dir.path(), &lines[..1]).unwrap();
        lines[1..].iter().for_each(|line| journal.append(line).unwrap());
        dir
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let lines = [state("001", State::Running), state("001", State::Done), state("002", State::NotNeeded)];
        let dir = written(&lines);
        assert_eq!(Journal::open(dir.path()).unwrap().1, lines);
    }

    #[test]
    fn a_queue_cut_anywhere_holds_its_whole_lines_and_goes_on() {
        let lines = [state("001", State::Running), state("001", State::Done)];
        let dir = written(&lines);
        let bytes = fs::read(dir.path().join(FILE)).unwrap();
        for cut in 0..bytes.len() {
            fs::write(dir.path().join(FILE), &bytes[..cut]).unwrap();
            let (mut journal, read) = Journal::open(dir.path()).unwrap();
            assert_eq!(read, lines[..read.len()]);
            journal.append(&lines[0]).unwrap();
            assert_eq!(Journal::open(dir.path()).unwrap().1.len(), read.len() + 1);
        }
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        let dir = written(&[state("001", State::Running)]);
        fs::write(dir.path().join(FILE), "{\"line\":\"state\"}\n").unwrap();
        let error = Journal::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("queue.jsonl, line 1"), "{error}");
    }

    #[test]
    fn a_folder_without_a_queue_says_so() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Journal::open(dir.path()).unwrap_err().to_string().contains("holds no queue"));
    }
}
