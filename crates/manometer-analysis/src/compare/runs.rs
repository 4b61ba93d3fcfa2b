//! The recordings to compare, single or as the runs of a folder, with the results of their phases.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::Recording;
use manometer_measure::clock::WallAnchor;
use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};
use manometer_measure::plan::{Criterion, InterleavedRounds, PhaseKind, Plan, Settings};
use serde_json::Value;

use super::conditions::Conditions;
use super::error::CompareError;
use crate::criterion::is_latency;
use crate::findings::{DAMAGED, evaluate_rules};
use crate::interleaved::{MIN_ROUNDS, paired};
use crate::phase_result::{PhaseResult, baseline, evaluate_phases};
use crate::recording_data::RecordingData;
use crate::statistics::SampleMean;
use crate::statistics::bootstrap::BatchNoise;
use crate::statistics::moments::mean;
use crate::verdict::{Grade, Reason, Verdict, judge, judged_by};

/// One recording, or the runs of one folder.
#[derive(Debug)]
pub struct ComparedRuns {
    /// The folder as given.
    pub path: PathBuf,
    /// The runs in the order of their names; at least one.
    pub runs: Vec<ComparedRun>,
    /// Folders among them that hold no recording.
    pub skipped: Vec<PathBuf>,
}

/// Runs with the same settings: repeats of each other.
#[derive(Debug)]
pub struct RunGroup<'a> {
    /// What a sweep set for them.
    pub settings: &'a Settings,
    /// The runs.
    pub runs: Vec<&'a ComparedRun>,
}

/// One recording, as needed for a comparison.
#[derive(Debug)]
pub struct ComparedRun {
    /// Its folder.
    pub dir: PathBuf,
    /// The criterion by which it is compared.
    pub criterion: Criterion,
    /// What a sweep set for it.
    pub settings: Settings,
    /// The phases in which the primary ran.
    pub phases: Vec<RunPhase>,
    /// The conditions that should be equal in compared recordings.
    pub conditions: Conditions,
    /// When it started, what it was to do, and where.
    identity: (WallAnchor, Plan, Value),
    /// Its own errors, warnings and serious threats.
    pub findings: Vec<Finding>,
    /// Why its numbers are void: the clause and the text of the decisive reason; `None` where they are not.
    pub(super) void: Option<(String, String)>,
}

/// One phase of one run.
#[derive(Debug, Default)]
pub struct RunPhase {
    /// Its id in the plan.
    pub id: String,
    /// Its label: the settings that set it apart.
    pub label: String,
    /// The settings in force.
    pub settings: Settings,
    /// The mean of the criterion.
    pub mean: Option<f64>,
    /// The noise of the mean; `None` where the phase is too short.
    pub noise: Option<BatchNoise>,
    /// The noise of the ratio to `w0`'s blocks of the same rounds, in which drift cancels; `None` in a ladder.
    pub(super) noise_in_rounds: Option<BatchNoise>,
    /// How long it was measured, in seconds.
    pub length_s: f64,
    /// The number of its blocks; 0 in a ladder.
    pub blocks: usize,
    /// The number of rounds after which the order is balanced; 1 in a ladder.
    pub balanced_rounds: usize,
    /// The shortest length that has a confidence interval, in seconds; `None` where it has one, or nothing was measured.
    pub needed_s: Option<f64>,
    /// Why there is no mean.
    pub reason: Option<String>,
    /// Why nothing can be concluded from the mean, as a clause; `None` where something can.
    pub(super) void: Option<String>,
    /// Whether it is the run's own `w0`.
    pub is_baseline: bool,
}

impl ComparedRuns {
    /// Reads the recording `path`, or those in it: in `path/runs`, or directly below it.
    ///
    /// # Errors
    /// There is none, one cannot be opened, or has no primary.
    pub fn read(path: &Path) -> Result<Self, CompareError> {
        let (recordings, skipped) = recordings_in(path)?;
        let runs = recordings.iter().map(|dir| ComparedRun::read(dir)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { path: path.to_owned(), runs, skipped })
    }

    /// A run of `self` and one of `other` that are the same recording.
    pub(super) fn shared_run<'a>(&'a self, other: &'a Self) -> Option<(&'a ComparedRun, &'a ComparedRun)> {
        self.runs.iter().find_map(|run| Some((run, other.runs.iter().find(|other| run.is_copy_of(other))?)))
    }

    /// The runs grouped by what a sweep set for them, in the order in which settings first appear.
    pub fn groups(&self) -> Vec<RunGroup<'_>> {
        let mut groups: Vec<RunGroup<'_>> = Vec::new();
        for run in &self.runs {
            match groups.iter_mut().find(|group| *group.settings == run.settings) {
                Some(group) => group.runs.push(run),
                None => groups.push(RunGroup { settings: &run.settings, runs: vec![run] }),
            }
        }
        groups
    }
}

impl<'a> RunGroup<'a> {
    /// The phases of all runs, each once.
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

/// The recordings of `path`: itself, or those in it (in its `runs`, if it has that); and the directories next to them
/// that are not recordings. In a set no symbolic link is followed.
///
/// # Errors
/// There is no recording.
pub fn recordings_in(path: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), CompareError> {
    let is_recording = |dir: &PathBuf| dir.join("plan.json").is_file();
    if is_recording(&path.to_owned()) {
        return Ok((vec![path.to_owned()], Vec::new()));
    }
    let runs = path.join("runs");
    let parent = if runs.is_dir() && !runs.is_symlink() { runs } else { path.to_owned() };
    let entries = fs::read_dir(&parent).map_err(|_| CompareError::NoRecording(path.to_owned()))?;
    let mut dirs: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|dir| dir.is_dir()).collect();
    dirs.sort();
    let (recordings, skipped): (Vec<PathBuf>, Vec<PathBuf>) =
        dirs.into_iter().partition(|dir| !dir.is_symlink() && is_recording(dir));
    if recordings.is_empty() { Err(CompareError::NoRecording(path.to_owned())) } else { Ok((recordings, skipped)) }
}

impl ComparedRun {
    /// Reads the recording in `dir`.
    ///
    /// # Errors
    /// It cannot be opened, or has no primary.
    pub fn read(dir: &Path) -> Result<Self, CompareError> {
        let recording = Recording::open(dir)?;
        if recording.plan.primary().is_none() {
            return Err(CompareError::NoPrimary(dir.to_owned()));
        }
        let data = RecordingData::read(&recording);
        let recording = judged_by(&recording, &data);
        let results = evaluate_phases(&recording, &data);
        let baseline_id = baseline(&results).map(|baseline| baseline.id().to_owned());
        let primary_phases = results.iter().filter(|result| result.phase.kind != PhaseKind::Solo);
        let findings = evaluate_rules(&recording, &data, &results);
        let verdict = verdict_on_numbers(&findings, &results, &recording.plan.criterion);
        let balanced_rounds = recording.plan.interleaved.as_ref().map_or(1, InterleavedRounds::balanced_rounds);
        let rounds = |result: &PhaseResult<'_>| match baseline(&results) {
            Some(baseline) => paired(&baseline.blocks, &result.blocks),
            None => Vec::new(),
        };
        let of = |result: &PhaseResult<'_>| RunPhase {
            balanced_rounds,
            noise_in_rounds: noise_of_ratio(&rounds(result)),
            void: void_in(&verdict, result.id()),
            ..RunPhase::of(result, baseline_id.as_deref())
        };
        Ok(Self {
            dir: dir.to_owned(),
            criterion: recording.plan.criterion.clone(),
            settings: recording.plan.sweep.clone(),
            phases: primary_phases.map(of).collect(),
            conditions: Conditions::of(&recording),
            identity: (recording.start, recording.plan.clone(), recording.environment.clone()),
            void: void(&verdict),
            findings: findings.into_iter().filter(is_relevant).collect(),
        })
    }

    /// Whether `other` is the same recording, or a copy of it: with the same start on the same host, no two runs measure the same values.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        let place = |run: &Self| run.dir.canonicalize().ok();
        let means = |run: &Self| run.phases.iter().map(|phase| phase.mean).collect::<Vec<_>>();
        let is_measured = self.phases.iter().any(|phase| phase.mean.is_some());
        let is_equal = is_measured && self.identity == other.identity && means(self) == means(other);
        is_equal || place(self).is_some_and(|dir| place(other) == Some(dir))
    }

    /// What is damaged in its recording.
    pub(super) fn damage(&self) -> Option<&str> {
        self.findings.iter().find(|finding| finding.id == DAMAGED.id).map(|finding| finding.text.as_str())
    }

    /// The run's own `w0`.
    pub(super) fn baseline(&self) -> Option<&RunPhase> {
        self.phases.iter().find(|phase| phase.is_baseline)
    }

    /// The phase that matches `other` of another run.
    pub(super) fn same_phase(&self, other: &RunPhase) -> Option<&RunPhase> {
        self.phases.iter().find(|phase| phase.is_same(other))
    }
}

/// The verdict on the numbers of a run: whether one is worse than another does not depend on whether they are about storage.
fn verdict_on_numbers(findings: &[Finding], results: &[PhaseResult<'_>], criterion: &Criterion) -> Verdict {
    let is_about_storage = |finding: &&Finding| finding.threat.is_some_and(|threat| threat.to == ThreatTarget::Storage);
    let others: Vec<Finding> = findings.iter().filter(|finding| !is_about_storage(finding)).cloned().collect();
    judge(&others, results, is_latency(criterion))
}

/// The clause and the text of what makes a run void; `None` where it is not.
fn void(verdict: &Verdict) -> Option<(String, String)> {
    let reason = || match verdict.decisive().filter(|reason| reason.allows == Grade::Void) {
        Some(reason) => (reason.clause_with_phases(), reason.text.clone()),
        None => ("nothing was measured".to_owned(), "Nothing was measured.".to_owned()),
    };
    (verdict.grade == Grade::Void).then(reason)
}

/// What leaves nothing to conclude from `phase`, as a clause; `None` where something can be concluded.
fn void_in(verdict: &Verdict, phase: &str) -> Option<String> {
    let is_fatal = |reason: &&Reason| {
        reason.threat.strength == ThreatStrength::Fatal
            && reason.allows > Grade::Sound
            && reason.phases.iter().any(|id| id == phase)
    };
    verdict.reasons.iter().find(is_fatal).map(|reason| reason.clause.clone())
}

/// Whether a finding matters to a comparison: an error, a warning, or a serious threat.
fn is_relevant(finding: &Finding) -> bool {
    let is_serious = finding.threat.is_some_and(|threat| threat.strength >= ThreatStrength::Serious);
    finding.severity > Severity::Info || is_serious
}

impl RunPhase {
    /// Whether both are the same phase of one plan: by id, label and settings.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.id, &self.label, &self.settings) == (&other.id, &other.label, &other.settings)
    }

    fn of(result: &PhaseResult<'_>, baseline_id: Option<&str>) -> Self {
        let estimate = &result.performance.estimate;
        let noise = |sample_mean: &SampleMean| BatchNoise::of(&result.values, sample_mean);
        Self {
            id: result.phase.id.clone(),
            label: result.phase.label.clone(),
            settings: result.phase.settings.clone(),
            mean: estimate.mean,
            length_s: result.length_s(),
            blocks: result.blocks.len(),
            balanced_rounds: 1,
            needed_s: result.shortest_s().filter(|_| result.performance.sample_mean.is_none()),
            noise: result.performance.sample_mean.as_ref().and_then(noise),
            noise_in_rounds: None,
            reason: estimate.reason.clone().filter(|_| estimate.mean.is_none()),
            void: None,
            is_baseline: baseline_id == Some(result.id()),
        }
    }
}

/// The noise of the ratio of a phase to `w0`, both given as the means of their blocks in each of `rounds`: that of the
/// differences phase − ratio · `w0`, in shares of `w0`. `None` for too few rounds for an interval.
fn noise_of_ratio(rounds: &[(f64, f64)]) -> Option<BatchNoise> {
    let (of_baseline, of_phase): (Vec<f64>, Vec<f64>) = rounds.iter().copied().unzip();
    let (count, baseline) = (rounds.len() as f64, mean(&of_baseline)?);
    if rounds.len() < MIN_ROUNDS || baseline <= 0.0 {
        return None;
    }
    let ratio = mean(&of_phase)? / baseline;
    let differences: Vec<f64> = rounds.iter().map(|round| (round.1 - ratio * round.0) / baseline).collect();
    let variance = differences.iter().map(|difference| difference * difference).sum::<f64>() / (count - 1.0);
    let standard_error = (variance / count).sqrt();
    BatchNoise::of(&differences, &SampleMean { mean: 0.0, standard_error, degrees_of_freedom: count - 1.0 })
}

/// A phase as measured in a run.
pub(super) type Measurement<'a> = (&'a ComparedRun, &'a RunPhase);
