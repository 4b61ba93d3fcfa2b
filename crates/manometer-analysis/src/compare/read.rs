//! What is compared: recordings, alone or as the runs of one folder, and what each phase of theirs showed.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::Recording;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::{Criterion, PhaseKind, Settings};

use super::CompareError;
use super::unlike::Conditions;
use crate::findings::findings;
use crate::sources::Sources;
use crate::statistics::Measured;
use crate::statistics::bootstrap::Noise;
use crate::summarise::{Judged, baseline, judge_all};

/// One recording, or the runs of one folder.
#[derive(Debug)]
pub struct Runs {
    /// The folder as it was named.
    pub path: PathBuf,
    /// The runs in the order of their names; at least one.
    pub runs: Vec<Run>,
    /// Folders among them that hold no recording.
    pub skipped: Vec<PathBuf>,
}

/// Runs with the same settings: repeats of each other.
#[derive(Debug)]
pub struct Group<'a> {
    /// What a sweep set for them.
    pub settings: &'a Settings,
    /// The runs.
    pub runs: Vec<&'a Run>,
}

/// One recording as far as it is compared.
#[derive(Debug)]
pub struct Run {
    /// Its folder.
    pub dir: PathBuf,
    /// What is judged.
    pub criterion: Criterion,
    /// What a sweep set for it.
    pub settings: Settings,
    /// The phases in which the primary ran.
    pub phases: Vec<RunPhase>,
    /// Facts that should be equal where recordings are compared, by name.
    pub conditions: Conditions,
    /// Its own errors and warnings.
    pub findings: Vec<Finding>,
}

/// One phase of one run.
#[derive(Debug)]
pub struct RunPhase {
    /// Its id in the plan.
    pub id: String,
    /// What is special about it.
    pub label: String,
    /// The settings in force.
    pub settings: Settings,
    /// The mean of the criterion.
    pub mean: Option<f64>,
    /// How unsure it is; nothing where the phase is too short.
    pub noise: Option<Noise>,
    /// Why there is no mean.
    pub reason: Option<String>,
    /// Whether it is the run's own `w0`.
    pub is_baseline: bool,
}

impl Runs {
    /// Reads the recording `path`, or those in it: in `path/runs`, or directly below it.
    ///
    /// # Errors
    /// There is none, one cannot be opened, or has no primary.
    pub fn read(path: &Path) -> Result<Self, CompareError> {
        let (recordings, skipped) = recordings_in(path)?;
        let runs = recordings.iter().map(|dir| Run::read(dir)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { path: path.to_owned(), runs, skipped })
    }

    /// The runs by what a sweep set for them, in the order in which settings first appear.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for run in &self.runs {
            match groups.iter_mut().find(|group| *group.settings == run.settings) {
                Some(group) => group.runs.push(run),
                None => groups.push(Group { settings: &run.settings, runs: vec![run] }),
            }
        }
        groups
    }
}

impl<'a> Group<'a> {
    /// The phases that any of the runs has, each once.
    pub(super) fn phases(&self) -> Vec<&'a RunPhase> {
        let mut phases: Vec<&RunPhase> = Vec::new();
        for phase in self.runs.iter().flat_map(|run| &run.phases) {
            if !phases.iter().any(|known| known.is_same(phase)) {
                phases.push(phase);
            }
        }
        phases
    }
}

/// The recordings that `path` stands for, itself or those in it (in its `runs`, where it has that), and the folders
/// beside them that are none.
///
/// # Errors
/// There is no recording.
pub fn recordings_in(path: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), CompareError> {
    let is_recording = |dir: &PathBuf| dir.join("plan.json").is_file();
    if is_recording(&path.to_owned()) {
        return Ok((vec![path.to_owned()], Vec::new()));
    }
    let runs = path.join("runs");
    let below = if runs.is_dir() { runs } else { path.to_owned() };
    let entries = fs::read_dir(&below).map_err(|_| CompareError::NoRecording(path.to_owned()))?;
    let mut dirs: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|dir| dir.is_dir()).collect();
    dirs.sort();
    let (recordings, skipped): (Vec<PathBuf>, Vec<PathBuf>) = dirs.into_iter().partition(is_recording);
    if recordings.is_empty() { Err(CompareError::NoRecording(path.to_owned())) } else { Ok((recordings, skipped)) }
}

impl Run {
    /// Reads the recording in `dir`.
    ///
    /// # Errors
    /// It cannot be opened, or has no primary.
    pub fn read(dir: &Path) -> Result<Self, CompareError> {
        let recording = Recording::open(dir)?;
        if recording.plan.primary().is_none() {
            return Err(CompareError::NoPrimary(dir.to_owned()));
        }
        let sources = Sources::read(&recording);
        let judged = judge_all(&recording, &sources);
        let own_baseline = baseline(&judged).map(|one| one.phase.id.clone());
        let with_primary = judged.iter().filter(|one| one.phase.kind != PhaseKind::Solo);
        let findings = findings(&recording, &sources, &judged);
        Ok(Self {
            dir: dir.to_owned(),
            criterion: recording.plan.criterion.clone(),
            settings: recording.plan.sweep.clone(),
            phases: with_primary.map(|one| RunPhase::of(one, own_baseline.as_deref())).collect(),
            conditions: Conditions::of(&recording),
            findings: findings.into_iter().filter(|finding| finding.severity > Severity::Info).collect(),
        })
    }

    /// The phase that pressures of this run are measured against.
    pub(super) fn baseline(&self) -> Option<&RunPhase> {
        self.phases.iter().find(|phase| phase.is_baseline)
    }

    /// The phase that is the same as `other` of another run.
    pub(super) fn same_phase(&self, other: &RunPhase) -> Option<&RunPhase> {
        self.phases.iter().find(|phase| phase.is_same(other))
    }
}

impl RunPhase {
    /// Whether both are the same phase of one plan: by id, label and settings.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.id, &self.label, &self.settings) == (&other.id, &other.label, &other.settings)
    }

    fn of(one: &Judged<'_>, own_baseline: Option<&str>) -> Self {
        let noise_of = |measured: &Measured| Noise::of(&one.values, measured);
        Self {
            id: one.phase.id.clone(),
            label: one.phase.label.clone(),
            settings: one.phase.settings.clone(),
            mean: one.performance.told.mean,
            noise: one.performance.measured.as_ref().and_then(noise_of),
            reason: one.performance.told.mean.is_none().then(|| one.performance.told.reason.clone()).flatten(),
            is_baseline: own_baseline == Some(one.phase.id.as_str()),
        }
    }
}
