//! `queue.jsonl`: the set of a folder, its runs and their states. Lines are appended, each with its checksum, and each is
//! durable before what it announces happens.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use manometer_measure::plan::Settings;
use manometer_measure::{Directory, json_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::QueueError;
use crate::definition::ReferencedFiles;
use crate::prepare::disk_fit::DiskFits;

/// The file's name in the output folder.
pub(super) const FILE: &str = "queue.jsonl";

/// The name of a damaged file after it was rebuilt.
pub(super) const DAMAGED_FILE: &str = "queue.jsonl.damaged";

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum JournalLine {
    /// The set: the first line.
    Set(SetDescription),
    /// A run: one line for each, in order.
    Run(RunEntry),
    /// A run changed its state.
    State(StateTransition),
    /// The set was resumed with other parameters.
    Resumed(ResumeParameters),
    /// An incomplete recording was moved out of the way.
    SetAside {
        /// The run.
        run: String,
        /// Its new folder, below the output folder.
        to: PathBuf,
    },
}

/// The files of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SetDescription {
    /// The version that created it.
    pub manometer: String,
    /// The files, in order.
    pub files: Vec<ExperimentSource>,
    /// How far the data in each device directory were shrunk to fit the disk.
    pub fits: DiskFits,
}

impl SetDescription {
    /// The parameters with which it was started.
    pub(super) fn parameters(&self) -> ResumeParameters {
        let budget =
            |source: &ExperimentSource| source.resolved.pointer("/device/write_budget").cloned().unwrap_or_default();
        ResumeParameters { manometer: self.manometer.clone(), write_budgets: self.files.iter().map(budget).collect() }
    }
}

/// What may change when a set is resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ResumeParameters {
    /// The version that runs it.
    pub manometer: String,
    /// `device.write_budget` of each file, in order; null where it has none.
    pub write_budgets: Vec<Value>,
}

/// One experiment file of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ExperimentSource {
    /// The file as given.
    pub file: PathBuf,
    /// The device directory, absolute.
    pub directory: PathBuf,
    /// The whole file, `extends` and `--set` applied.
    pub resolved: Value,
    /// Hashes of the files that it references.
    pub referenced: ReferencedFiles,
}

/// One run of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunEntry {
    /// Its id, which is also the name of its folder.
    pub run: String,
    /// Its experiment file.
    pub file: PathBuf,
    /// The hash of its own experiment, before any shrinking: rapidhash V3 of the TOML without `device.write_budget`.
    pub hash: String,
    /// The settings that the sweep gives it.
    pub settings: Settings,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// Whether it is the reference.
    pub reference: bool,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It has not started.
    Waiting,
    /// It is running, or was when the program was killed.
    Running,
    /// Its recording is complete.
    Done,
    /// It failed, or could not start.
    Failed,
    /// The user interrupted it.
    Interrupted,
    /// The interval of its combination was narrow enough without it.
    NotNeeded,
}

/// A change of the state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StateTransition {
    /// The run.
    pub run: String,
    /// Its new state.
    pub state: RunState,
    /// When, in seconds since 1970.
    pub at_unix_s: f64,
    /// Why it failed, or was interrupted before it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The folders whose data it created: later runs of the set may replace them.
    #[serde(alias = "made", default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<PathBuf>,
}

/// The file, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Creates the file with its first lines, atomically.
    pub(super) fn create(out: &Directory, lines: &[JournalLine]) -> Result<Self, QueueError> {
        let bytes: Vec<u8> = lines.iter().flat_map(json_line::encode).collect();
        let written = out.replace(FILE, &bytes).and_then(|()| out.sync());
        written.map_err(QueueError::io(&path_in(out)))?;
        Self::append_to(out)
    }

    /// Opens and reads the file. An incomplete last line was never acted upon and is removed.
    pub(super) fn open(out: &Directory) -> Result<(Self, JournalContent), QueueError> {
        let io = QueueError::io(&path_in(out));
        let bytes = match out.read_all(FILE, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(QueueError::Missing { out: out.path().to_owned() });
            }
            read => read.map_err(&io)?,
        };
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let content = parse(&bytes[..complete]);
        let journal = Self::append_to(out)?;
        journal.file.set_len(complete as u64).map_err(io)?;
        Ok((journal, content))
    }

    /// Replaces the damaged file by `lines` and keeps it under another name.
    pub(super) fn rebuild(out: &Directory, lines: &[JournalLine]) -> Result<Self, QueueError> {
        let kept = out.read_all(FILE, MOST_BYTES).and_then(|bytes| out.replace(DAMAGED_FILE, &bytes));
        kept.map_err(QueueError::io(&out.path().join(DAMAGED_FILE)))?;
        Self::create(out, lines)
    }

    fn append_to(out: &Directory) -> Result<Self, QueueError> {
        let path = path_in(out);
        let file = out.append(FILE).map_err(QueueError::io(&path))?;
        Ok(Self { path, file })
    }

    /// Appends a line durably.
    pub(super) fn append(&mut self, line: &JournalLine) -> Result<(), QueueError> {
        let written = self.file.write_all(&json_line::encode(line)).and_then(|()| self.file.sync_data());
        written.map_err(QueueError::io(&self.path))
    }
}

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct JournalContent {
    /// The lines that could be read.
    pub lines: Vec<JournalLine>,
    /// The number of the first line that could not be read, from 1, and why.
    pub damaged: Option<(usize, String)>,
}

fn path_in(out: &Directory) -> PathBuf {
    out.path().join(FILE)
}

/// What the file in `out` says; nothing where there is none.
pub(super) fn read(out: &Path) -> JournalContent {
    let bytes = Directory::open(out).and_then(|out| out.read_all(FILE, MOST_BYTES));
    bytes.map_or_else(|_| JournalContent::default(), |bytes| parse(&bytes))
}

fn parse(bytes: &[u8]) -> JournalContent {
    let mut content = JournalContent::default();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        // An earlier version, which adds no checksums, may have resumed the set.
        match json_line::decode(line) {
            Ok((line, _)) => content.lines.push(line),
            Err(error) => {
                content.damaged.get_or_insert((index + 1, error.to_string()));
            }
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn held(dir: &tempfile::TempDir) -> Directory {
        Directory::open(dir.path()).unwrap()
    }

    fn state(run: &str, state: RunState) -> JournalLine {
        let run = run.to_owned();
        JournalLine::State(StateTransition { run, state, at_unix_s: 1.5, reason: None, created: Vec::new() })
    }

    fn written(lines: &[JournalLine]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(&held(&dir), &lines[..1]).unwrap();
        lines[1..].iter().for_each(|line| journal.append(line).unwrap());
        dir
    }

    #[test]
    fn appended_lines_are_read_back() {
        let lines = [state("001", RunState::Running), state("001", RunState::Done), state("002", RunState::NotNeeded)];
        let dir = written(&lines);
        assert_eq!(Journal::open(&held(&dir)).unwrap().1.lines, lines);
    }

    #[test]
    fn the_former_name_of_created_data_is_read() {
        let JournalLine::State(mut transition) = state("001", RunState::Done) else { panic!("not a state") };
        transition.created = vec![PathBuf::from("data/writer")];
        let former = serde_json::to_string(&transition).unwrap().replace("\"created\"", "\"made\"");
        assert!(former.contains("made"), "{former}");
        assert_eq!(serde_json::from_str::<StateTransition>(&former).unwrap(), transition);
    }

    #[test]
    fn a_truncated_file_keeps_its_complete_lines() {
        let lines = [state("001", RunState::Running), state("001", RunState::Done)];
        let dir = written(&lines);
        let bytes = fs::read(dir.path().join(FILE)).unwrap();
        for cut in 0..bytes.len() {
            fs::write(dir.path().join(FILE), &bytes[..cut]).unwrap();
            let (mut journal, JournalContent { lines: read, damaged }) = Journal::open(&held(&dir)).unwrap();
            assert_eq!((&read[..], damaged), (&lines[..read.len()], None));
            journal.append(&lines[0]).unwrap();
            assert_eq!(Journal::open(&held(&dir)).unwrap().1.lines.len(), read.len() + 1);
        }
    }

    #[test]
    fn a_line_with_a_changed_byte_is_left_out_and_those_after_it_are_read() {
        let lines = [state("001", RunState::Running), state("001", RunState::Done), state("002", RunState::Running)];
        let dir = written(&lines);
        let bytes = fs::read(dir.path().join(FILE)).unwrap();
        let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
        for at in ends[0] + 1..ends[1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x84;
            fs::write(dir.path().join(FILE), damaged).unwrap();
            let content = Journal::open(&held(&dir)).unwrap().1;
            assert_eq!((&content.lines[0], &content.lines[1]), (&lines[0], &lines[2]), "byte {at}");
            assert_eq!(content.damaged.unwrap().0, 2, "byte {at}");
        }
    }

    #[test]
    fn a_folder_without_a_queue_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Journal::open(&held(&dir)).unwrap_err().to_string().contains("holds no queue"));
    }
}
