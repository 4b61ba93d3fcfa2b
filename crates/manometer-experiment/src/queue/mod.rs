//! Many runs in order: which, where their recordings lie, what has run and what is left.
//!
//! [`planned`] says which runs a set has; [`Queue`] keeps in `queue.jsonl` what became of each, so that a set that was
//! cut off goes on at the first run that is not done. Running one is left to [`crate::conductor`].

pub mod ahead;
pub mod cost;
mod differences;
pub mod expand;
mod journal;
mod narrow;
mod order;
pub mod single;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_analysis::compare::Run;
use manometer_measure::clock::WallAnchor;
use manometer_measure::event::{Event, Finding, Severity, Status};
use manometer_measure::{Recording, Share};
use rapidhash::v3::rapidhash_v3;
use serde_json::Value;

pub use expand::{Planned, PlannedRun, planned, runs};
pub use journal::State;
pub use order::unlike_states;

use self::differences::differences;
use self::journal::{Became, Entry, Journal, Line, Made, Source};
use crate::conductor::{DirectoryLock, LockError, RunError};
use crate::file::Experiment;
use crate::fit::Fits;

/// Where the recordings lie, and where those that do not count are kept.
const RUNS: &str = "runs";
const ASIDE: &str = "set-aside";

/// A queue that cannot be begun, taken up or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The folder is in use.
    #[error("{} holds runs already: `--resume` goes on where they ended, another --out begins anew", out.display())]
    Exists {
        /// The output folder.
        out: PathBuf,
    },
    /// There is nothing to resume.
    #[error("{} holds no queue: name the --out of the set that was cut off, or leave `--resume` out", out.display())]
    Missing {
        /// The output folder.
        out: PathBuf,
    },
    /// The folder is another set's.
    #[error(
        "{} is the queue of another set: {}. Resume it with the same files and --set, or choose another --out",
        out.display(), differences.join("; ")
    )]
    Another {
        /// The output folder.
        out: PathBuf,
        /// What differs.
        differences: Vec<String>,
    },
    /// The folder is another experiment's recording.
    #[error(
        "{} is the recording of another experiment: {}. Resume it with the same file and --set, or choose another --out",
        out.display(), differences.join("; ")
    )]
    AnotherRecording {
        /// The folder.
        out: PathBuf,
        /// What differs.
        differences: Vec<String>,
    },
    /// The queue's file makes no sense.
    #[error("{}, line {line}: {reason}: the queue cannot be taken up; choose another --out", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Somebody else is at it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl QueueError {
    fn io(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), source }
    }
}

/// The experiments of a set, each with the file it was read from.
pub type Files = [(PathBuf, Experiment)];

/// A run and what became of it.
#[derive(Debug, Clone)]
pub struct QueuedRun {
    /// What it is.
    pub planned: PlannedRun,
    /// Its recording's folder.
    pub dir: PathBuf,
    /// What became of it.
    pub state: State,
    id: String,
}

/// A set of runs in an output folder, held against other processes.
#[derive(Debug)]
pub struct Queue {
    out: PathBuf,
    runs: Vec<QueuedRun>,
    made: BTreeSet<PathBuf>,
    /// The version that began the set.
    begun_by: String,
    journal: Journal,
    _held: DirectoryLock,
}

/// This version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Queue {
    /// Begins the set `files`, whose runs are `planned`, in the folder `out`, which may hold no other.
    ///
    /// # Errors
    /// The folder holds runs, is in use, or cannot be written.
    pub fn begin(out: &Path, files: &Files, planned: &Planned) -> Result<Self, QueueError> {
        let used = |name: &str| fs::read_dir(out.join(name)).is_ok_and(|mut entries| entries.next().is_some());
        if out.join(journal::FILE).exists() || used(RUNS) || out.join("plan.json").exists() {
            return Err(QueueError::Exists { out: out.to_owned() });
        }
        let held = DirectoryLock::take(out)?;
        let made = made_of(files, planned.fits.clone())?;
        let lines = [Line::Set(made)].into_iter().chain(entries(files, planned).into_iter().map(Line::Run));
        let journal = Journal::create(out, &lines.collect::<Vec<_>>())?;
        Ok(Self {
            out: out.to_owned(),
            runs: queued(out, planned),
            made: BTreeSet::new(),
            begun_by: VERSION.to_owned(),
            journal,
            _held: held,
        })
    }

    /// Takes up the set `files`, whose runs are `planned`, in the folder `out` where it ended; data stay shrunk by the
    /// same share.
    ///
    /// # Errors
    /// The folder holds no queue or that of another set, is in use, or cannot be written.
    pub fn resume(out: &Path, files: &Files, planned: &Planned) -> Result<Self, QueueError> {
        if !out.join(journal::FILE).exists() {
            return Err(QueueError::Missing { out: out.to_owned() });
        }
        let held = DirectoryLock::take(out)?;
        let (journal, lines) = Journal::open(out)?;
        let mut lines = lines.into_iter();
        let path = out.join(journal::FILE);
        let Some(Line::Set(there)) = lines.next() else {
            let reason = "the first line does not say which set it is".to_owned();
            return Err(QueueError::Damaged { path, line: 1, reason });
        };
        let asked = made_of(files, there.fits.clone())?;
        let mut different = differences(&there, &asked);
        let wanted = entries(files, planned);
        let rest: Vec<Line> = lines.collect();
        let kept: Vec<&Entry> = rest.iter().filter_map(entry).collect();
        if different.is_empty() && !kept.iter().copied().eq(wanted.iter()) {
            different.push(format!("version {} made other runs of it", there.manometer));
        }
        if !different.is_empty() {
            return Err(QueueError::Another { out: out.to_owned(), differences: different });
        }
        let terms = rest.iter().rev().find_map(|line| match line {
            Line::Resumed(terms) => Some(terms.clone()),
            _ => None,
        });
        let unsaid = terms.unwrap_or_else(|| there.terms()) != asked.terms();
        let planned = Planned { runs: planned.runs.clone(), fits: there.fits };
        let mut queue = Self {
            out: out.to_owned(),
            runs: queued(out, &planned),
            made: BTreeSet::new(),
            begun_by: there.manometer,
            journal,
            _held: held,
        };
        rest.into_iter().for_each(|line| queue.replay(line));
        if unsaid {
            queue.journal.append(&Line::Resumed(asked.terms()))?;
        }
        Ok(queue)
    }

    /// The version that began the set, where it is another than this.
    pub fn other_version(&self) -> Option<&str> {
        Some(self.begun_by.as_str()).filter(|version| *version != VERSION)
    }

    /// The runs in order.
    pub fn runs(&self) -> &[QueuedRun] {
        &self.runs
    }

    /// The folders whose data runs of this set made.
    pub fn made(&self) -> &BTreeSet<PathBuf> {
        &self.made
    }

    /// The next run, which is written down as running; nothing once all are done. A recording that was cut off in its
    /// place is set aside first, and a whole one counted.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn begin_next(&mut self) -> Result<Option<usize>, QueueError> {
        loop {
            let open = |run: &QueuedRun| !matches!(run.state, State::Done | State::NotNeeded);
            let Some(index) = self.runs.iter().position(open) else { return Ok(None) };
            if self.runs[index].dir.exists() && self.take_over(index)? {
                continue;
            }
            if self.is_narrow_without(index) || self.is_idle_reference(index) {
                self.becomes(index, State::NotNeeded, None, Vec::new())?;
                continue;
            }
            self.becomes(index, State::Running, None, Vec::new())?;
            return Ok(Some(index));
        }
    }

    /// Writes down how the run `index` ended, and the folders whose data it `made`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn ended(&mut self, index: usize, status: Status, made: BTreeSet<PathBuf>) -> Result<(), QueueError> {
        let (state, reason) = match status {
            Status::Complete => (State::Done, None),
            Status::Interrupted => (State::Interrupted, None),
            Status::Failed => (State::Failed, Some("a workload failed: its recording says which".to_owned())),
        };
        if state == State::Done {
            self.keep(index)?;
        }
        self.becomes(index, state, reason, made.into_iter().collect())
    }

    /// Writes down why the run `index` could not begin, or not be recorded, and the folders whose data it `made` all
    /// the same.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn refused(&mut self, index: usize, error: &RunError, made: BTreeSet<PathBuf>) -> Result<(), QueueError> {
        let state = if error.is_interrupted() { State::Interrupted } else { State::Failed };
        self.becomes(index, state, Some(error.to_string()), made.into_iter().collect())
    }

    /// What a reader of the whole set must know: an order that leaves unlike states, and the combinations that ran as
    /// often as they may and whose interval is still too wide.
    pub fn findings(&self) -> Vec<Finding> {
        let planned: Vec<PlannedRun> = self.runs.iter().map(|run| run.planned.clone()).collect();
        let last = |index: &usize| {
            let run = &self.runs[*index];
            let most = run.planned.experiment.rules.until.map(|(_, most)| most);
            run.planned.combination.is_some() && most == Some(run.planned.repeat) && run.state == State::Done
        };
        let wide = (0..self.runs.len()).filter(last).filter_map(|index| self.still_wide(index));
        unlike_states(&planned).into_iter().chain(wide).collect()
    }

    fn still_wide(&self, index: usize) -> Option<Finding> {
        let planned = &self.runs[index].planned;
        let (Share(wanted), most) = planned.experiment.rules.until?;
        let width = width(&self.repeats_before(index, true));
        if width.is_some_and(|width| width <= wanted) {
            return None;
        }
        let got = width.map_or("there is none".to_owned(), |width| format!("it is {:.2} % wide", 100.0 * width));
        let swept = crate::file::settings_text(&planned.experiment.swept);
        let of = if swept.is_empty() { String::new() } else { format!(" with {swept}") };
        Some(Finding {
            id: "repeats-too-wide".to_owned(),
            severity: Severity::Warning,
            phase: None,
            text: format!(
                "After {most} runs{of} the interval over them should be {:.2} % wide at most, and {got}. Raise `at_most`, \
                 run longer phases, or find out what differs from run to run.",
                100.0 * wanted
            ),
        })
    }

    /// Whether the repeats of the same combination before `index` are enough.
    fn is_narrow_without(&self, index: usize) -> bool {
        let planned = &self.runs[index].planned;
        let Some((Share(wanted), _)) = planned.experiment.rules.until else { return false };
        let repeats = self.repeats_before(index, false);
        let enough = repeats.len() >= planned.experiment.rules.repeats as usize;
        let may_be = planned.combination.is_some() && enough && planned.repeat > planned.experiment.rules.repeats;
        may_be && width(&repeats).is_some_and(|width| width <= wanted)
    }

    /// Whether the run `index` is a reference that nothing needs, because runs between references were not needed.
    fn is_idle_reference(&self, index: usize) -> bool {
        let runs: Vec<&PlannedRun> = self.runs.iter().map(|run| &run.planned).collect();
        let is_done = |other: usize| self.runs[other].state == State::Done;
        expand::is_idle_reference(&runs, index, is_done, |other| self.is_narrow_without(other))
    }

    /// The repeats of the combination of `index` that were done before it, or with it.
    fn repeats_before(&self, index: usize, with: bool) -> Vec<&QueuedRun> {
        let of = |run: &QueuedRun| (run.planned.file, run.planned.combination);
        let same = |run: &&QueuedRun| of(run) == of(&self.runs[index]) && run.state == State::Done;
        self.runs[..index + usize::from(with)].iter().filter(same).collect()
    }

    /// Counts the recording that lies where `index` is to run, if it is whole; else sets it aside.
    fn take_over(&mut self, index: usize) -> Result<bool, QueueError> {
        let QueuedRun { dir, planned, state, id, .. } = self.runs[index].clone();
        let recording = Recording::open(&dir).ok();
        let made = recording.iter().flat_map(|recording| made_in(recording, &planned.experiment.directory)).collect();
        if recording.is_some_and(|recording| recording.status() == Some(Status::Complete)) {
            self.keep(index)?;
            self.becomes(index, State::Done, None, made)?;
            return Ok(true);
        }
        self.made.extend(made);
        let why = if state == State::Failed { "failed" } else { "interrupted" };
        let free = |number: &u32| !self.out.join(ASIDE).join(format!("{id}.{why}-{number}")).exists();
        let number = (1..).find(free).unwrap_or(u32::MAX);
        let to = Path::new(ASIDE).join(format!("{id}.{why}-{number}"));
        let aside = self.out.join(ASIDE);
        let moved = fs::create_dir_all(&aside).and_then(|()| fs::rename(&dir, self.out.join(&to)));
        moved.and_then(|()| journal::sync_folder(&aside)).map_err(QueueError::io(&dir))?;
        self.journal.append(&Line::SetAside { run: id, to })?;
        Ok(false)
    }

    fn becomes(
        &mut self,
        index: usize,
        state: State,
        reason: Option<String>,
        made: Vec<PathBuf>,
    ) -> Result<(), QueueError> {
        let run = self.runs[index].id.clone();
        let at_unix_s = (WallAnchor::now().unix_ns / 1_000_000) as f64 / 1e3;
        let line = Line::State(Became { run, state, at_unix_s, reason, made });
        self.journal.append(&line)?;
        self.replay(line);
        Ok(())
    }

    /// Waits until the recording of `index` is on the disk: a queue that outlives a power cut must not count one that
    /// does not.
    fn keep(&self, index: usize) -> Result<(), QueueError> {
        let dir = &self.runs[index].dir;
        let synced = fs::File::open(dir).and_then(|folder| Ok(rustix::fs::syncfs(&folder)?));
        synced.map_err(QueueError::io(dir))
    }

    /// Takes over what a line says of a run.
    fn replay(&mut self, line: Line) {
        let Line::State(Became { run, state, made, .. }) = line else { return };
        self.runs.iter_mut().filter(|known| known.id == run).for_each(|known| known.state = state);
        self.made.extend(made);
    }
}

/// The width of the interval over `repeats`.
fn width(repeats: &[&QueuedRun]) -> Option<f64> {
    let read: Vec<Run> = repeats.iter().map(|run| Run::read(&run.dir)).collect::<Result<_, _>>().ok()?;
    narrow::widest(&read)
}

fn entry(line: &Line) -> Option<&Entry> {
    match line {
        Line::Run(entry) => Some(entry),
        _ => None,
    }
}

/// The runs as they wait in the folder `out`.
fn queued(out: &Path, planned: &Planned) -> Vec<QueuedRun> {
    let numbered = (1..).zip(planned.fitted());
    numbered
        .map(|(number, planned)| QueuedRun {
            planned,
            dir: out.join(RUNS).join(id_of(number)),
            state: State::Waiting,
            id: id_of(number),
        })
        .collect()
}

fn id_of(number: usize) -> String {
    format!("{number:03}")
}

fn entries(files: &Files, planned: &Planned) -> Vec<Entry> {
    let numbered = (1..).zip(&planned.runs);
    numbered
        .map(|(number, run)| Entry {
            run: id_of(number),
            file: files[run.file].0.clone(),
            hash: format!("{:016x}", rapidhash_v3(run.experiment.identity().as_bytes())),
            settings: run.experiment.swept.clone(),
            repeat: run.repeat,
            reference: run.combination.is_none(),
        })
        .collect()
}

fn made_of(files: &Files, fits: Fits) -> Result<Made, QueueError> {
    let source = |(file, experiment): &(PathBuf, Experiment)| {
        let directory = std::path::absolute(&experiment.directory).map_err(QueueError::io(&experiment.directory))?;
        let (resolved, referenced) = (experiment.resolved.clone(), experiment.referenced());
        Ok(Source { file: file.clone(), directory, resolved, referenced })
    };
    let files = files.iter().map(source).collect::<Result<_, QueueError>>()?;
    Ok(Made { manometer: VERSION.to_owned(), files, fits })
}

/// The folders whose data the run of `recording` made, as far as it says: those of workloads that were ready and had
/// not found theirs.
fn made_in(recording: &Recording, directory: &Path) -> Vec<PathBuf> {
    let made = |event: &Event| match event {
        Event::Ready { workload, facts } if facts.get("reused") != Some(&Value::Bool(true)) => {
            Some(directory.join(workload))
        }
        _ => None,
    };
    recording.events.iter().filter_map(|line| made(&line.event)).collect()
}
