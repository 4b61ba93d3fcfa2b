//! The comparison of a series of recordings, three or more in order: where their performance changed.

use std::path::PathBuf;

use manometer_measure::event::Finding;
use manometer_measure::plan::{BetterDirection, Criterion, Settings};
use serde::Serialize;

use super::conditions::differences;
use super::error::CompareError;
use super::gate::GateResult;
use super::judge::judge_runs_compared;
use super::pair::{PhaseComparison, check_distinct, common_criterion, compare_phase, phase_name};
use super::run_findings::{Side, run_findings};
use super::runs::{ComparedRuns, Measurement, RunGroup, RunPhase};
use super::verdict::{Direction, MeanOverRuns, PhaseVerdict, checked_bound, is_empty};
use super::workloads::SweptSettings;
use crate::statistics::change_points::{ChangePoint, change_points};
use crate::verdict::{Grade, Verdict};

/// The comparison of a series of recordings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesComparison {
    /// The criterion by which they are compared.
    pub criterion: Criterion,
    /// Changes of at most this share do not matter.
    pub bound: f64,
    /// The recordings, or folders of repeats, in order.
    pub recordings: Vec<PathBuf>,
    /// The phases measured in the last recording and one before it.
    pub phases: Vec<PhaseSeries>,
    /// The other phases, with the recordings that have them.
    pub not_compared: Vec<String>,
    /// What the comparison may be used for, and why.
    pub verdict: Verdict,
    /// What a reader must know.
    pub findings: Vec<Finding>,
}

/// One phase over the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseSeries {
    /// Its id in the plan.
    pub id: String,
    /// Its label: the settings that set it apart.
    pub label: String,
    /// What a sweep set for the runs; empty without a sweep.
    #[serde(skip_serializing_if = "is_empty")]
    pub settings: Settings,
    /// The current performance divided by that before the first regression; without a regression the ratio of the last
    /// change; null without a change.
    pub ratio: Option<f64>,
    /// Always null: a series has no interval.
    pub ci_low: Option<f64>,
    /// Always null.
    pub ci_high: Option<f64>,
    /// Different where it changed, else unknown: that no change was found does not show that there is none.
    pub verdict: PhaseVerdict,
    /// The direction of the ratio.
    pub direction: Option<Direction>,
    /// The performance in each recording.
    #[serde(rename = "reached")]
    pub performances: Vec<MeanOverRuns>,
    /// The changes, in order.
    pub changes: Vec<PerformanceChange>,
    /// The last recording compared with those since the last change; null where there are none.
    pub latest: Option<PhaseComparison>,
}

/// A place in the series where the performance of a phase changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerformanceChange {
    /// The first recording after it, counted from 0.
    pub index: usize,
    /// The folder of that recording.
    pub recording: PathBuf,
    /// The mean before it, since the previous change or the start.
    pub before: f64,
    /// The mean after it, up to the next change or the end.
    pub after: f64,
    /// After divided by before.
    pub ratio: f64,
    /// The p-value of the t-test between both.
    pub p_value: f64,
    /// The direction of the change.
    pub direction: Direction,
    /// For a change for the worse: the first recording, counted from 0, of a later segment within the bound of the
    /// performance before; null where there is none, and for a change for the better.
    #[serde(rename = "mended")]
    pub recovered_at: Option<usize>,
}

impl PerformanceChange {
    /// Whether it is a change for the worse from which the phase did not recover.
    fn is_regression(&self) -> bool {
        self.direction == Direction::Worse && self.recovered_at.is_none()
    }
}

impl PhaseSeries {
    /// The first regression.
    pub fn regression(&self) -> Option<&PerformanceChange> {
        self.changes.iter().find(|change| change.is_regression())
    }

    /// The mean since the last change.
    pub fn current(&self) -> Option<f64> {
        self.changes.last().map(|change| change.after)
    }
}

impl SeriesComparison {
    /// The phases with a regression.
    pub fn regressions(&self) -> impl Iterator<Item = &PhaseSeries> {
        self.phases.iter().filter(|phase| phase.regression().is_some())
    }
}

impl SeriesComparison {
    /// Whether no phase has a regression, and the last recording is shown to be no worse than those before it.
    pub fn gate(&self) -> GateResult {
        if self.verdict.grade == Grade::Void {
            return GateResult::Undecided;
        }
        GateResult::of_all(self.phases.iter().map(PhaseSeries::gate), false)
    }
}

impl PhaseSeries {
    /// Worse after a regression; else whether the last recording is shown to be no worse than those since the last change.
    pub fn gate(&self) -> GateResult {
        match (self.regression(), &self.latest) {
            (Some(_), _) => GateResult::Worse,
            (None, Some(latest)) => latest.gate,
            // The last recording is itself the first after a change for the better.
            (None, None) if self.changes.last().is_some_and(|change| change.index + 1 == self.performances.len()) => {
                GateResult::NoWorse
            }
            (None, None) => GateResult::Undecided,
        }
    }
}

/// Finds the changes of performance in `recordings`; changes of at most the share `bound` are ignored.
///
/// # Errors
/// They have different criteria or no phase in common, or `bound` is not a share.
pub fn compare_series(recordings: &[ComparedRuns], bound: f64) -> Result<SeriesComparison, CompareError> {
    let bound = checked_bound(bound)?;
    check_distinct(recordings)?;
    let all_runs = || recordings.iter().flat_map(|runs| &runs.runs);
    let criterion = common_criterion(all_runs())?.clone();
    let groups: Vec<Vec<RunGroup<'_>>> = recordings.iter().map(ComparedRuns::groups).collect();
    // Without a sweep in any recording, single recordings are compared even if their settings differ.
    let ignore_settings = groups.iter().all(|groups| groups.len() == 1);
    let last = groups.last().map(Vec::as_slice).unwrap_or_default();
    let mut phases = Vec::new();
    let mut not_compared = Vec::new();
    for phase in swept_phases(last) {
        let performances = performances(phase, &groups, ignore_settings);
        match performances.iter().filter(|performance| performance.mean.is_some()).count() {
            0 => not_compared.push(format!("{}: not measured in any recording", phase.name())),
            1 => not_compared.push(format!("{}: measured in only one recording", phase.name())),
            _ => {
                let series = phase_series(phase, performances, recordings, &criterion, bound);
                let latest = latest(phase, &series, &groups, ignore_settings, &criterion, bound);
                phases.push(PhaseSeries { latest, ..series });
            }
        }
    }
    not_compared.extend(missing_in_last(&groups, ignore_settings));
    if phases.is_empty() {
        let (first, last) = (&recordings[0].path, &recordings[recordings.len() - 1].path);
        let detail = "a series needs phases measured in the last recording and in one before it".to_owned();
        return Err(CompareError::NothingInCommon { a: first.clone(), b: last.clone(), detail });
    }
    let point = |(index, runs)| Side { name: None, runs, is_needed: index + 1 == recordings.len() };
    let points: Vec<Side<'_>> = recordings.iter().enumerate().map(point).collect();
    let swept = if ignore_settings { SweptSettings::Compared } else { SweptSettings::Matched };
    let unlike = differences(all_runs().map(|run| (run.dir.as_path(), &run.conditions)), swept);
    let (verdict, findings) = judge_runs_compared(run_findings(&points), unlike);
    let recordings = recordings.iter().map(|runs| runs.path.clone()).collect();
    Ok(SeriesComparison { criterion, bound, recordings, phases, not_compared, verdict, findings })
}

/// A phase and what a sweep set for its runs.
#[derive(Clone, Copy)]
struct SweptPhase<'a> {
    phase: &'a RunPhase,
    settings: &'a Settings,
}

impl SweptPhase<'_> {
    fn name(&self) -> String {
        phase_name(self.phase, self.settings)
    }

    fn is_same(&self, other: &Self, ignore_settings: bool) -> bool {
        self.phase.is_same(other.phase) && (ignore_settings || self.settings == other.settings)
    }
}

/// All phases of one recording.
fn swept_phases<'a>(groups: &[RunGroup<'a>]) -> Vec<SweptPhase<'a>> {
    let of_group =
        |group: &RunGroup<'a>| group.phases().into_iter().map(|phase| (phase, group.settings)).collect::<Vec<_>>();
    groups.iter().flat_map(of_group).map(|(phase, settings)| SweptPhase { phase, settings }).collect()
}

/// The phases that only recordings before the last one have, each once with their number.
fn missing_in_last(groups: &[Vec<RunGroup<'_>>], ignore_settings: bool) -> Vec<String> {
    let Some((last, before)) = groups.split_last() else { return Vec::new() };
    let in_last = swept_phases(last);
    let mut missing: Vec<(SweptPhase<'_>, usize)> = Vec::new();
    for phase in before.iter().flat_map(|groups| swept_phases(groups)) {
        match missing.iter_mut().find(|(known, _)| known.is_same(&phase, ignore_settings)) {
            Some((_, count)) => *count += 1,
            None if in_last.iter().any(|known| known.is_same(&phase, ignore_settings)) => {}
            None => missing.push((phase, 1)),
        }
    }
    let text = |(phase, count): (SweptPhase<'_>, usize)| {
        format!("{}: not in the last recording, but in {count} before it", phase.name())
    };
    missing.into_iter().map(text).collect()
}

/// The performance of a phase in each recording.
fn performances(phase: SweptPhase<'_>, groups: &[Vec<RunGroup<'_>>], ignore_settings: bool) -> Vec<MeanOverRuns> {
    let in_recording = |groups: &Vec<RunGroup<'_>>| {
        let same = measurements(phase, groups, ignore_settings).into_iter().map(|(_, phase)| phase);
        MeanOverRuns::of(&same.collect::<Vec<_>>())
    };
    groups.iter().map(in_recording).collect()
}

/// A phase in the runs of one recording.
fn measurements<'a>(phase: SweptPhase<'_>, groups: &[RunGroup<'a>], ignore_settings: bool) -> Vec<Measurement<'a>> {
    let group = groups.iter().find(|group| ignore_settings || group.settings == phase.settings);
    let runs = group.iter().flat_map(|group| &group.runs);
    runs.filter_map(|run| Some((*run, run.same_phase(phase.phase)?))).collect()
}

/// The last recording compared with those since the last change; `None` where there are none.
fn latest(
    phase: SweptPhase<'_>,
    series: &PhaseSeries,
    groups: &[Vec<RunGroup<'_>>],
    ignore_settings: bool,
    criterion: &Criterion,
    bound: f64,
) -> Option<PhaseComparison> {
    let (last, before) = groups.split_last()?;
    let since = series.changes.last().map_or(0, |change| change.index);
    let earlier: Vec<Measurement<'_>> =
        before.get(since..)?.iter().flat_map(|groups| measurements(phase, groups, ignore_settings)).collect();
    let later = measurements(phase, last, ignore_settings);
    let is_measured = |side: &[Measurement<'_>]| side.iter().any(|(_, phase)| phase.mean.is_some());
    (is_measured(&earlier) && is_measured(&later))
        .then(|| compare_phase(phase.phase, phase.settings, &earlier, &later, criterion, bound))
}

fn phase_series(
    SweptPhase { phase, settings }: SweptPhase<'_>,
    performances: Vec<MeanOverRuns>,
    recordings: &[ComparedRuns],
    criterion: &Criterion,
    bound: f64,
) -> PhaseSeries {
    // Recordings without the phase are left out; the others keep their index.
    let measured: Vec<(usize, f64)> =
        performances.iter().enumerate().filter_map(|(index, performance)| Some((index, performance.mean?))).collect();
    let means: Vec<f64> = measured.iter().map(|(_, mean)| *mean).collect();
    let change = |ChangePoint { index, before, after, p_value }| {
        let index = measured[index].0;
        let (ratio, recording) = (after / before, recordings[index].path.clone());
        let direction = Direction::of(ratio, criterion);
        PerformanceChange { index, recording, before, after, ratio, p_value, direction, recovered_at: None }
    };
    let changes = with_recoveries(change_points(&means, bound).into_iter().map(change).collect(), criterion, bound);
    let mut series = PhaseSeries {
        id: phase.id.clone(),
        label: phase.label.clone(),
        settings: settings.clone(),
        ratio: changes.last().map(|change| change.ratio),
        ci_low: None,
        ci_high: None,
        verdict: if changes.is_empty() { PhaseVerdict::Unknown } else { PhaseVerdict::Different },
        direction: None,
        performances,
        changes,
        latest: None,
    };
    if let Some((regression, current)) = series.regression().zip(series.current()) {
        series.ratio = Some(current / regression.before);
    }
    series.direction = series.ratio.map(|ratio| Direction::of(ratio, criterion));
    series
}

/// The changes, those for the worse with the later segment that is within `bound` of the performance before.
fn with_recoveries(changes: Vec<PerformanceChange>, criterion: &Criterion, bound: f64) -> Vec<PerformanceChange> {
    let segments: Vec<(usize, f64)> = changes.iter().map(|change| (change.index, change.after)).collect();
    let recovered_at = |change: &PerformanceChange| {
        let is_recovered = |mean: f64| match criterion.better {
            BetterDirection::Higher => mean >= change.before * (1.0 - bound),
            BetterDirection::Lower => mean <= change.before * (1.0 + bound),
        };
        let segment = segments.iter().find(|(index, mean)| *index > change.index && is_recovered(*mean));
        segment.map(|(index, _)| *index).filter(|_| change.direction == Direction::Worse)
    };
    changes.into_iter().map(|change| PerformanceChange { recovered_at: recovered_at(&change), ..change }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recoveries in a series with these means from change to change, ten recordings each.
    fn recoveries(means: &[f64], better: BetterDirection) -> Vec<Option<usize>> {
        let criterion = Criterion { metric: "m".to_owned(), unit: "u".to_owned(), better };
        let changes = means.windows(2).enumerate().map(|(place, pair)| {
            let (index, before, after) = (10 * (place + 1), pair[0], pair[1]);
            let ratio = after / before;
            let (recording, direction) = (PathBuf::new(), Direction::of(ratio, &criterion));
            PerformanceChange { index, recording, before, after, ratio, p_value: 0.0, direction, recovered_at: None }
        });
        let changes = with_recoveries(changes.collect(), &criterion, 0.05);
        changes.into_iter().map(|change| change.recovered_at).collect()
    }

    #[test]
    fn a_later_segment_within_the_bound_is_a_recovery() {
        let higher = |means: &[f64]| recoveries(means, BetterDirection::Higher);
        assert_eq!(higher(&[100.0, 70.0, 96.0]), [Some(20), None]);
        assert_eq!(higher(&[100.0, 70.0, 94.0]), [None, None], "only a part is recovered");
        assert_eq!(higher(&[100.0, 70.0, 80.0, 120.0]), [Some(30), None, None]);
        assert_eq!(higher(&[100.0, 70.0, 98.0, 90.0]), [Some(20), None, None], "recovered, and worse again");
        assert_eq!(higher(&[100.0, 120.0]), [None], "a change for the better needs no recovery");
        assert_eq!(recoveries(&[100.0, 130.0, 104.0], BetterDirection::Lower), [Some(20), None]);
        assert_eq!(recoveries(&[100.0, 130.0, 110.0], BetterDirection::Lower), [None, None]);
    }
}
