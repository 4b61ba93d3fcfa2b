//! The queue: the runs of a sweep or of several files, one after another.
//!
//! [`plan_set`] lists the runs of a set. [`Queue`] keeps their states in `queue.jsonl`, so that an interrupted set resumes at
//! its first run that is not done. Performing a run is left to the caller of [`Queue::run_left`].

pub mod cost;
mod differences;
pub mod dry_run;
mod error;
pub mod forecast;
mod journal;
mod recordings;
mod repeat_width;
mod run_order;
pub mod runs;
pub mod single_run;
mod stop_rule;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::clock::WallAnchor;
use manometer_measure::event::{Event, Finding, RunStatus, Severity};
use manometer_measure::recording::OutDirectory;
use manometer_measure::secrets::redact;
use manometer_measure::{Directory, Recording, RecordingError};
use rapidhash::v3::rapidhash_v3;

pub use error::QueueError;
pub use journal::RunState;
pub use recordings::missing_recordings;
pub use run_order::unlike_states;
pub use runs::{PlannedRun, PlannedSet, plan_set, runs_of};

use self::differences::differences;
use self::journal::{
    ExperimentSource, Journal, JournalContent, JournalLine, RunEntry, SetDescription, StateTransition,
};
pub use self::recordings::RUNS_FOLDER;
use self::recordings::{created_by_run, fault_of};
use crate::conductor::RunError;
use crate::definition::Experiment;
use crate::lock::DirectoryLock;
use crate::prepare::disk_fit::DiskFits;
use crate::prepare::write_account::WriteStop;

/// The folder of recordings that do not count, below the output folder.
const ASIDE_FOLDER: &str = "set-aside";

/// The experiments of a set, each with its file.
pub type Files = [(PathBuf, Experiment)];

/// A run and its state.
#[derive(Debug, Clone)]
pub struct QueuedRun {
    /// The run.
    pub planned: PlannedRun,
    /// The folder of its recording.
    pub dir: PathBuf,
    /// Its state.
    pub state: RunState,
    id: String,
}

impl QueuedRun {
    /// Opens its recording, in the output folder `out` of its set.
    ///
    /// # Errors
    /// There is none, or its plan cannot be read.
    pub fn recording(&self, out: &Directory) -> Result<Recording, RecordingError> {
        Recording::open_below(out, self.folder())
    }

    /// The folder of its recording, in the output folder of its set.
    pub fn folder(&self) -> PathBuf {
        Path::new(RUNS_FOLDER).join(&self.id)
    }
}

/// A set of runs in an output folder, which is locked.
#[derive(Debug)]
pub struct Queue {
    runs: Vec<QueuedRun>,
    /// The folders whose data runs of the set created.
    created: BTreeSet<PathBuf>,
    /// The version that started the set.
    started_by: String,
    /// Why `queue.jsonl` was rebuilt.
    rebuilt: Option<String>,
    /// The runs whose recordings were lost or damaged after their end.
    damaged: Vec<String>,
    journal: Journal,
    /// Of the output folder.
    lock: DirectoryLock,
}

/// This version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Queue {
    /// Starts the set `files`, whose runs are `planned`, in the folder `out`, which must hold no runs.
    ///
    /// # Errors
    /// The folder holds runs, is in use, or cannot be written.
    pub fn start(out: &Path, files: &Files, planned: &PlannedSet) -> Result<Self, QueueError> {
        let is_used = |name: &str| fs::read_dir(out.join(name)).is_ok_and(|mut entries| entries.next().is_some());
        if out.join(journal::FILE).exists() || is_used(RUNS_FOLDER) || out.join("plan.json").exists() {
            return Err(QueueError::Exists { out: out.to_owned() });
        }
        let lock = DirectoryLock::take(out)?;
        let set = describe_set(files, planned.fits.clone())?;
        let runs = run_entries(files, planned).into_iter().map(JournalLine::Run);
        let lines = [JournalLine::Set(set)].into_iter().chain(runs);
        let journal = Journal::create(lock.directory(), &lines.collect::<Vec<_>>())?;
        Ok(Self {
            runs: waiting_runs(out, planned),
            created: BTreeSet::new(),
            started_by: VERSION.to_owned(),
            rebuilt: None,
            damaged: Vec::new(),
            journal,
            lock,
        })
    }

    /// Resumes the set `files`, whose runs are `planned`, in the folder `out`. Its data stay shrunk as they were. A damaged
    /// `queue.jsonl` is rebuilt from its other lines, the files and the recordings.
    ///
    /// # Errors
    /// The folder holds no queue or that of another set, is in use, or cannot be written.
    pub fn resume(out: &Path, files: &Files, planned: &PlannedSet) -> Result<Self, QueueError> {
        if !out.join(journal::FILE).exists() {
            return Err(QueueError::Missing { out: out.to_owned() });
        }
        let lock = DirectoryLock::take(out)?;
        let (mut journal, JournalContent { lines, damaged }) = Journal::open(lock.directory())?;
        let Some(existing) = lines.iter().find_map(set_description).cloned() else {
            let (line, reason) = damaged.unwrap_or_else(|| (1, "the first line does not describe the set".to_owned()));
            return Err(QueueError::Damaged { path: out.join(journal::FILE), line, reason });
        };
        let rest: Vec<JournalLine> = lines.into_iter().filter(|line| set_description(line).is_none()).collect();
        let requested = describe_set(files, existing.fits.clone())?;
        let mut differences = differences(&existing, &requested);
        let entries = run_entries(files, planned);
        let recorded = || rest.iter().filter_map(run_entry);
        if !recorded().all(|run| entries.contains(run)) && differences.is_empty() {
            differences.push(format!("version {} derived other runs from it", existing.manometer));
        }
        if !differences.is_empty() {
            return Err(QueueError::DifferentSet { out: out.to_owned(), differences });
        }
        let of_line = |(line, reason): (usize, String)| format!("line {line} was damaged: {reason}");
        let is_reordered = !recorded().eq(entries.iter());
        let reordered = is_reordered.then(|| "lines of runs were lost, doubled or exchanged".to_owned());
        let rebuilt = damaged.map(of_line).or(reordered);
        if rebuilt.is_some() {
            let runs = entries.into_iter().map(JournalLine::Run);
            let others = rest.iter().filter(|line| run_entry(line).is_none()).cloned();
            let lines = [JournalLine::Set(existing.clone())].into_iter().chain(runs).chain(others);
            journal = Journal::rebuild(lock.directory(), &lines.collect::<Vec<_>>())?;
        }
        let last_resumed = rest.iter().rev().find_map(|line| match line {
            JournalLine::Resumed(parameters) => Some(parameters.clone()),
            _ => None,
        });
        let parameters = requested.parameters();
        let is_changed = last_resumed.unwrap_or_else(|| existing.parameters()) != parameters;
        let planned = PlannedSet { runs: planned.runs.clone(), fits: existing.fits };
        let mut queue = Self {
            runs: waiting_runs(out, &planned),
            created: BTreeSet::new(),
            started_by: existing.manometer,
            rebuilt,
            damaged: Vec::new(),
            journal,
            lock,
        };
        rest.into_iter().for_each(|line| queue.apply(line));
        queue.look_at_recordings()?;
        if is_changed {
            queue.journal.append(&JournalLine::Resumed(parameters))?;
        }
        Ok(queue)
    }

    /// The version that started the set, where it is another one.
    pub fn other_version(&self) -> Option<&str> {
        Some(self.started_by.as_str()).filter(|version| *version != VERSION)
    }

    /// Why `queue.jsonl` was rebuilt, if it was.
    pub fn rebuilt(&self) -> Option<&str> {
        self.rebuilt.as_deref()
    }

    /// The runs whose recordings were lost or damaged after their end, and which run again, each with what is wrong.
    pub fn damaged(&self) -> &[String] {
        &self.damaged
    }

    /// Its output folder, held open.
    pub fn directory(&self) -> &Directory {
        self.lock.directory()
    }

    /// The runs in order.
    pub fn runs(&self) -> &[QueuedRun] {
        &self.runs
    }

    /// The number of runs that are done or not needed.
    pub fn finished_runs(&self) -> usize {
        self.runs.iter().filter(|run| matches!(run.state, RunState::Done | RunState::NotNeeded)).count()
    }

    /// Runs what is left, one run after another. `perform` does one: it gets its index, its empty folder, the folders whose
    /// data earlier runs created, and those to which it adds its own. `recorded` gets each run that left a recording, and
    /// which attempt it was, from 1. A run that failed is tried again as often as its experiment says, and then left; one
    /// that was interrupted, or stopped by what may be written, is the last.
    ///
    /// # Errors
    /// A run could not begin, `recorded` failed, or the folder cannot be written.
    pub fn run_left<E: From<QueueError> + From<RunError>>(
        &mut self,
        mut perform: impl FnMut(
            usize,
            &QueuedRun,
            &Directory,
            &BTreeSet<PathBuf>,
            &mut BTreeSet<PathBuf>,
        ) -> Result<RunStatus, RunError>,
        mut recorded: impl FnMut(&QueuedRun, u32) -> Result<(), E>,
    ) -> Result<RunStatus, E> {
        let mut failures: BTreeMap<usize, u32> = BTreeMap::new();
        while let Some(index) = self.start_next(&failures)? {
            let mut created = BTreeSet::new();
            let run = &self.runs[index];
            let out = OutDirectory::create_in(self.directory(), &run.folder());
            let outcome = match out {
                Ok(out) => perform(index, run, out.directory(), &self.created, &mut created),
                Err(error) => Err(error.into()),
            };
            match outcome {
                Ok(status) => {
                    self.record_end(index, status, created)?;
                    recorded(&self.runs[index], failures.get(&index).map_or(1, |failed| failed + 1))?;
                    match status {
                        RunStatus::Complete => {}
                        RunStatus::Failed if !self.is_stopped_by_writes(index) => {
                            *failures.entry(index).or_default() += 1;
                        }
                        RunStatus::Failed | RunStatus::Interrupted => return Ok(status),
                    }
                }
                // A run that could not begin has no recording.
                Err(error) => {
                    self.record_failure(index, &error, created)?;
                    return Err(error.into());
                }
            }
        }
        let is_failed = self.runs.iter().any(|run| run.state == RunState::Failed);
        Ok(if is_failed { RunStatus::Failed } else { RunStatus::Complete })
    }

    /// Whether the run `index` was stopped because no more may be written, or could be counted: those after it would be too.
    fn is_stopped_by_writes(&self, index: usize) -> bool {
        let recording = self.runs[index].recording(self.directory());
        let events = recording.map(|recording| recording.events).unwrap_or_default();
        events
            .iter()
            .any(|line| matches!(&line.event, Event::Finding(finding) if WriteStop::IDS.contains(&finding.id.as_str())))
    }

    /// Starts the next run and returns its index; nothing once all are done or have failed too often. An incomplete
    /// recording in its folder is set aside first; a complete one counts as done.
    fn start_next(&mut self, failures: &BTreeMap<usize, u32>) -> Result<Option<usize>, QueueError> {
        loop {
            let open = |index: &usize| {
                let run = &self.runs[*index];
                let failed = failures.get(index).copied().unwrap_or(0);
                !matches!(run.state, RunState::Done | RunState::NotNeeded)
                    && failed <= run.planned.experiment.sweep_rules.retry
            };
            let Some(index) = (0..self.runs.len()).find(open) else { return Ok(None) };
            if self.directory().holds(self.runs[index].folder()) && self.adopt_recording(index)? {
                continue;
            }
            if self.is_sufficient_without(index) || self.is_idle_reference(index) {
                self.set_state(index, RunState::NotNeeded, None, Vec::new())?;
                continue;
            }
            self.set_state(index, RunState::Running, None, Vec::new())?;
            return Ok(Some(index));
        }
    }

    /// Records that the run `index` ended, and the folders whose data it `created`.
    fn record_end(&mut self, index: usize, status: RunStatus, created: BTreeSet<PathBuf>) -> Result<(), QueueError> {
        let (state, reason) = match status {
            RunStatus::Complete => (RunState::Done, None),
            RunStatus::Interrupted => (RunState::Interrupted, None),
            RunStatus::Failed => (RunState::Failed, Some("a workload failed: see its recording".to_owned())),
        };
        if state == RunState::Done {
            self.sync_recording(index)?;
        }
        self.set_state(index, state, reason, created.into_iter().collect())
    }

    /// Records that the run `index` could not start or be recorded, and the folders whose data it `created` nevertheless.
    fn record_failure(&mut self, index: usize, error: &RunError, created: BTreeSet<PathBuf>) -> Result<(), QueueError> {
        let state = if error.is_interrupted() { RunState::Interrupted } else { RunState::Failed };
        self.set_state(index, state, Some(error.to_string()), created.into_iter().collect())
    }

    /// Findings about the whole set: an order that leaves different states, and combinations whose interval is too wide
    /// after the maximum number of repeats.
    pub fn findings(&self) -> Vec<Finding> {
        let planned: Vec<PlannedRun> = self.runs.iter().map(|run| run.planned.clone()).collect();
        let last = |index: &usize| {
            let run = &self.runs[*index];
            let max = run.planned.experiment.sweep_rules.stop.map(|stop| stop.max_repeats);
            run.planned.combination.is_some() && max == Some(run.planned.repeat) && run.state == RunState::Done
        };
        let wide = (0..self.runs.len()).filter(last).filter_map(|index| self.too_wide(index));
        unlike_states(&planned).into_iter().chain(wide).chain(self.failed_runs()).collect()
    }

    fn failed_runs(&self) -> Option<Finding> {
        let failed: Vec<&str> =
            self.runs.iter().filter(|run| run.state == RunState::Failed).map(|run| run.id.as_str()).collect();
        let (which, all) = (failed.join(", "), self.runs.len());
        (!failed.is_empty()).then(|| {
            let text = format!(
                "{} of {all} runs failed in every attempt and are missing: {which}. Their recordings say why; `--resume` \
                 tries them again.",
                failed.len()
            );
            Finding::new("runs-failed", Severity::Error, text)
        })
    }

    /// Counts what is recorded: also a whole recording that no line names, and none that was lost or damaged since.
    fn look_at_recordings(&mut self) -> Result<(), QueueError> {
        for index in 0..self.runs.len() {
            let run = &self.runs[index];
            let (is_done, exists) = (run.state == RunState::Done, self.directory().holds(run.folder()));
            let fault = if is_done { fault_of(run, &run.recording(self.directory())) } else { None };
            if let Some(fault) = fault {
                self.damaged.push(format!("{} ({fault})", run.id));
                if exists {
                    self.set_aside(index, "damaged")?;
                }
                self.set_state(index, RunState::Waiting, Some(fault), Vec::new())?;
            } else if !is_done && exists {
                self.adopt_recording(index)?;
            }
        }
        Ok(())
    }

    /// Counts the recording in the folder of `index` as done if it is complete and whole; else sets it aside.
    fn adopt_recording(&mut self, index: usize) -> Result<bool, QueueError> {
        let run = &self.runs[index];
        let recording = run.recording(self.directory());
        let directory = &run.planned.experiment.directory;
        let created = recording.iter().flat_map(|recording| created_by_run(recording, directory)).collect();
        let is_complete = recording.as_ref().is_ok_and(|recording| recording.status() == Some(RunStatus::Complete));
        if is_complete && fault_of(run, &recording).is_none() {
            self.sync_recording(index)?;
            self.set_state(index, RunState::Done, None, created)?;
            return Ok(true);
        }
        let why = match run.state {
            RunState::Failed => "failed",
            _ if is_complete => "damaged",
            _ => "interrupted",
        };
        self.created.extend(created);
        self.set_aside(index, why)?;
        Ok(false)
    }

    /// Moves the recording of `index`, which is not to count because of `why`, out of the way.
    fn set_aside(&mut self, index: usize, why: &str) -> Result<(), QueueError> {
        let run = &self.runs[index];
        let (id, out) = (run.id.clone(), self.directory());
        let aside = out.ensure_directory(ASIDE_FOLDER).map_err(QueueError::io(&out.path().join(ASIDE_FOLDER)))?;
        let free = |number: &u32| !aside.holds(format!("{id}.{why}-{number}"));
        let number = (1..).find(free).unwrap_or(u32::MAX);
        let to = Path::new(ASIDE_FOLDER).join(format!("{id}.{why}-{number}"));
        let moved = out.rename(run.folder(), &to).and_then(|()| aside.sync());
        moved.map_err(QueueError::io(&run.dir))?;
        self.journal.append(&JournalLine::SetAside { run: id, to })
    }

    fn set_state(
        &mut self,
        index: usize,
        state: RunState,
        reason: Option<String>,
        created: Vec<PathBuf>,
    ) -> Result<(), QueueError> {
        let run = self.runs[index].id.clone();
        let at_unix_s = (WallAnchor::now().unix_ns / 1_000_000) as f64 / 1e3;
        let line = JournalLine::State(StateTransition { run, state, at_unix_s, reason, created });
        self.journal.append(&line)?;
        self.apply(line);
        Ok(())
    }

    /// Makes the recording of `index` durable before the queue counts it as done.
    fn sync_recording(&self, index: usize) -> Result<(), QueueError> {
        let run = &self.runs[index];
        let folder = self.directory().directory(run.folder());
        folder.and_then(|folder| folder.sync_file_system()).map_err(QueueError::io(&run.dir))
    }

    /// Applies a line to the states of the runs.
    fn apply(&mut self, line: JournalLine) {
        let JournalLine::State(StateTransition { run, state, created, .. }) = line else { return };
        self.runs.iter_mut().filter(|known| known.id == run).for_each(|known| known.state = state);
        self.created.extend(created);
    }
}

fn set_description(line: &JournalLine) -> Option<&SetDescription> {
    match line {
        JournalLine::Set(set) => Some(set),
        _ => None,
    }
}

fn run_entry(line: &JournalLine) -> Option<&RunEntry> {
    match line {
        JournalLine::Run(entry) => Some(entry),
        _ => None,
    }
}

/// The runs in the folder `out`, all waiting.
fn waiting_runs(out: &Path, planned: &PlannedSet) -> Vec<QueuedRun> {
    let numbered = (1..).zip(planned.fitted_runs());
    numbered
        .map(|(number, planned)| QueuedRun {
            planned,
            dir: out.join(RUNS_FOLDER).join(id_of(number)),
            state: RunState::Waiting,
            id: id_of(number),
        })
        .collect()
}

fn id_of(number: usize) -> String {
    format!("{number:03}")
}

fn run_entries(files: &Files, planned: &PlannedSet) -> Vec<RunEntry> {
    let numbered = (1..).zip(&planned.runs);
    numbered
        .map(|(number, run)| RunEntry {
            run: id_of(number),
            file: files[run.file].0.clone(),
            hash: format!("{:016x}", rapidhash_v3(run.experiment.identity_toml().as_bytes())),
            settings: run.experiment.swept.clone(),
            repeat: run.repeat,
            reference: run.combination.is_none(),
        })
        .collect()
}

fn describe_set(files: &Files, fits: DiskFits) -> Result<SetDescription, QueueError> {
    let source = |(file, experiment): &(PathBuf, Experiment)| {
        let directory = std::path::absolute(&experiment.directory).map_err(QueueError::io(&experiment.directory))?;
        // As it is written, so that it can be compared with what was written.
        let resolved = redact(&experiment.resolved.to_string()).parse().expect("text in JSON was replaced by text");
        let referenced = experiment.referenced_files();
        Ok(ExperimentSource { file: file.clone(), directory, resolved, referenced })
    };
    let files = files.iter().map(source).collect::<Result<_, QueueError>>()?;
    Ok(SetDescription { manometer: VERSION.to_owned(), files, fits })
}

#[cfg(test)]
mod tests;
