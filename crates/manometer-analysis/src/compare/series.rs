//! Three and more recordings in order: where their performance changed.

use std::path::PathBuf;

use manometer_measure::event::Finding;
use manometer_measure::plan::{Better, Criterion, Settings};
use serde::Serialize;

use super::own::own_findings;
use super::pair::{common_criterion, phase_name};
use super::read::{Group, RunPhase, Runs};
use super::{CompareError, Direction, Reached, Verdict, checked_bound, is_empty, unlike};
use crate::statistics::change::{self, Change};

/// A series of recordings, phase by phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesComparison {
    /// What is judged.
    pub criterion: Criterion,
    /// Changes of at most this share do not matter.
    pub bound: f64,
    /// The recordings, or folders of repeats, in order.
    pub recordings: Vec<PathBuf>,
    /// The phases that the last one has, and one before it.
    pub phases: Vec<PhaseSeries>,
    /// The other phases, with which recordings have them.
    pub not_compared: Vec<String>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
}

/// One phase over the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseSeries {
    /// Its id in the plan.
    pub id: String,
    /// What is special about it.
    pub label: String,
    /// What a sweep set for the runs; empty without one.
    #[serde(skip_serializing_if = "is_empty")]
    pub settings: Settings,
    /// What it reaches now by what it reached before the first change for the worse that was not mended; else the last
    /// change, after by before; null without one.
    pub ratio: Option<f64>,
    /// Always null: a series has no interval.
    pub ci_low: Option<f64>,
    /// Always null.
    pub ci_high: Option<f64>,
    /// Different where it changed; else unknown, since no change found is not yet none.
    pub verdict: Verdict,
    /// Which way that goes.
    pub direction: Option<Direction>,
    /// What each recording reached; null where it has none.
    pub reached: Vec<Reached>,
    /// The changes, in order.
    pub changes: Vec<ChangeOfPhase>,
}

/// A place in the series where a phase's performance changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeOfPhase {
    /// The first recording after it, counted from 0.
    pub index: usize,
    /// Its folder.
    pub recording: PathBuf,
    /// The mean before it, from the change before or the begin.
    pub before: f64,
    /// The mean from there on, up to the next change or the end.
    pub after: f64,
    /// After by before.
    pub ratio: f64,
    /// The p-value of the t-test between both.
    pub p_value: f64,
    /// Which way it goes.
    pub direction: Direction,
    /// Of a change for the worse: the first recording, counted from 0, of a later stretch that is back within the bound
    /// of what was before; null where none is, and of a change for the better.
    pub mended: Option<usize>,
}

impl ChangeOfPhase {
    /// Whether it made the phase worse, and no later stretch is back.
    fn is_regression(&self) -> bool {
        self.direction == Direction::Worse && self.mended.is_none()
    }
}

impl PhaseSeries {
    /// The first change for the worse that was not mended.
    pub fn regression(&self) -> Option<&ChangeOfPhase> {
        self.changes.iter().find(|change| change.is_regression())
    }

    /// What it reaches from the last change on.
    pub fn now(&self) -> Option<f64> {
        self.changes.last().map(|change| change.after)
    }
}

impl SeriesComparison {
    /// The phases with a change for the worse that was not mended.
    pub fn regressions(&self) -> impl Iterator<Item = &PhaseSeries> {
        self.phases.iter().filter(|phase| phase.regression().is_some())
    }
}

/// Finds where the phases of `recordings` changed; changes of at most the share `bound` are merged away.
///
/// # Errors
/// They are judged by different criteria, have no phase in common, or `bound` is no share.
pub fn series(recordings: &[Runs], bound: f64) -> Result<SeriesComparison, CompareError> {
    let bound = checked_bound(bound)?;
    let all = || recordings.iter().flat_map(|runs| &runs.runs);
    let criterion = common_criterion(all())?.clone();
    let groups: Vec<Vec<Group<'_>>> = recordings.iter().map(Runs::groups).collect();
    // Where no recording has a sweep, what single ones set is what is compared.
    let plain = groups.iter().all(|groups| groups.len() == 1);
    let last = groups.last().map(Vec::as_slice).unwrap_or_default();
    let mut phases = Vec::new();
    let mut not_compared = Vec::new();
    for named in named(last) {
        let reached = reached(named, &groups, plain);
        match reached.iter().filter(|one| one.mean.is_some()).count() {
            0 => not_compared.push(format!("{}: no recording measured it", phase_name(named.0, named.1))),
            1 => not_compared.push(format!("{}: only one recording measured it", phase_name(named.0, named.1))),
            _ => phases.push(told(named, reached, recordings, &criterion, bound)),
        }
    }
    not_compared.extend(no_longer_there(&groups, plain));
    if phases.is_empty() {
        let (first, last) = (&recordings[0].path, &recordings[recordings.len() - 1].path);
        let detail = "in a series a phase counts that the last recording and one before it measured".to_owned();
        return Err(CompareError::NothingInCommon { a: first.clone(), b: last.clone(), detail });
    }
    let mut findings = own_findings(recordings);
    findings.extend(unlike(all().map(|run| (run.dir.as_path(), &run.conditions))));
    let recordings = recordings.iter().map(|runs| runs.path.clone()).collect();
    Ok(SeriesComparison { criterion, bound, recordings, phases, not_compared, findings })
}

/// A phase and what a sweep set for its runs.
type Named<'a> = (&'a RunPhase, &'a Settings);

/// All phases of one recording.
fn named<'a>(groups: &[Group<'a>]) -> Vec<Named<'a>> {
    groups.iter().flat_map(|group| group.phases().into_iter().map(|phase| (phase, group.settings))).collect()
}

/// The phases that only recordings before the last one have, each once with how many have it.
fn no_longer_there(groups: &[Vec<Group<'_>>], plain: bool) -> Vec<String> {
    let Some((last, before)) = groups.split_last() else { return Vec::new() };
    let same = |one: &Named<'_>, other: &Named<'_>| one.0.is_same(other.0) && (plain || one.1 == other.1);
    let there = named(last);
    let mut gone: Vec<(Named<'_>, usize)> = Vec::new();
    for one in before.iter().flat_map(|groups| named(groups)) {
        match gone.iter_mut().find(|(known, _)| same(known, &one)) {
            Some((_, count)) => *count += 1,
            None if there.iter().any(|known| same(known, &one)) => {}
            None => gone.push((one, 1)),
        }
    }
    let text = |(one, count): (Named<'_>, usize)| {
        format!("{}: not in the last recording, in {count} before it", phase_name(one.0, one.1))
    };
    gone.into_iter().map(text).collect()
}

/// What each recording reached in a phase.
fn reached((phase, settings): Named<'_>, groups: &[Vec<Group<'_>>], plain: bool) -> Vec<Reached> {
    let of = |groups: &Vec<Group<'_>>| {
        let group = groups.iter().find(|group| plain || group.settings == settings);
        let same = group.iter().flat_map(|group| group.runs.iter().filter_map(|run| run.same_phase(phase)));
        Reached::of(&same.collect::<Vec<_>>())
    };
    groups.iter().map(of).collect()
}

fn told(
    (phase, settings): Named<'_>,
    reached: Vec<Reached>,
    recordings: &[Runs],
    criterion: &Criterion,
    bound: f64,
) -> PhaseSeries {
    // What was not measured is left out; the places of the others are kept.
    let measured: Vec<(usize, f64)> =
        reached.iter().enumerate().filter_map(|(index, one)| Some((index, one.mean?))).collect();
    let values: Vec<f64> = measured.iter().map(|(_, mean)| *mean).collect();
    let changes: Vec<ChangeOfPhase> = change::changes(&values, bound)
        .into_iter()
        .map(|Change { index, before, after, p_value }| {
            let index = measured[index].0;
            let (ratio, recording) = (after / before, recordings[index].path.clone());
            let direction = Direction::of(ratio, criterion);
            ChangeOfPhase { index, recording, before, after, ratio, p_value, direction, mended: None }
        })
        .collect();
    let changes = with_mended(changes, criterion, bound);
    let mut told = PhaseSeries {
        id: phase.id.clone(),
        label: phase.label.clone(),
        settings: settings.clone(),
        ratio: changes.last().map(|change| change.ratio),
        ci_low: None,
        ci_high: None,
        verdict: if changes.is_empty() { Verdict::Unknown } else { Verdict::Different },
        direction: None,
        reached,
        changes,
    };
    if let Some((regression, now)) = told.regression().zip(told.now()) {
        told.ratio = Some(now / regression.before);
    }
    told.direction = told.ratio.map(|ratio| Direction::of(ratio, criterion));
    told
}

/// The changes, those for the worse with where a later stretch is back within `bound` of what was before them.
fn with_mended(changes: Vec<ChangeOfPhase>, criterion: &Criterion, bound: f64) -> Vec<ChangeOfPhase> {
    let stretches: Vec<(usize, f64)> = changes.iter().map(|change| (change.index, change.after)).collect();
    let mended = |change: &ChangeOfPhase| {
        let is_back = |mean: f64| match criterion.better {
            Better::Higher => mean >= change.before * (1.0 - bound),
            Better::Lower => mean <= change.before * (1.0 + bound),
        };
        let back = stretches.iter().find(|(index, mean)| *index > change.index && is_back(*mean));
        back.map(|(index, _)| *index).filter(|_| change.direction == Direction::Worse)
    };
    changes.into_iter().map(|change| ChangeOfPhase { mended: mended(&change), ..change }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series whose phase has these means from change to change, ten recordings each; where what was worse was mended.
    fn mended(means: &[f64], better: Better) -> Vec<Option<usize>> {
        let criterion = Criterion { metric: "m".to_owned(), unit: "u".to_owned(), better };
        let changes = means.windows(2).enumerate().map(|(place, pair)| {
            let (index, before, after) = (10 * (place + 1), pair[0], pair[1]);
            let ratio = after / before;
            let (recording, direction) = (PathBuf::new(), Direction::of(ratio, &criterion));
            ChangeOfPhase { index, recording, before, after, ratio, p_value: 0.0, direction, mended: None }
        });
        let told = with_mended(changes.collect(), &criterion, 0.05);
        told.into_iter().map(|change| change.mended).collect()
    }

    #[test]
    fn what_became_worse_is_mended_by_a_later_stretch_within_the_bound() {
        let higher = |means: &[f64]| mended(means, Better::Higher);
        assert_eq!(higher(&[100.0, 70.0, 96.0]), [Some(20), None]);
        assert_eq!(higher(&[100.0, 70.0, 94.0]), [None, None], "a part of it is still gone");
        assert_eq!(higher(&[100.0, 70.0, 80.0, 120.0]), [Some(30), None, None]);
        assert_eq!(higher(&[100.0, 70.0, 98.0, 90.0]), [Some(20), None, None], "mended, and worse again");
        assert_eq!(higher(&[100.0, 120.0]), [None], "what became better needs no mending");
        assert_eq!(mended(&[100.0, 130.0, 104.0], Better::Lower), [Some(20), None]);
        assert_eq!(mended(&[100.0, 130.0, 110.0], Better::Lower), [None, None]);
    }
}
