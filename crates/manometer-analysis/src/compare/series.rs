//! Three and more recordings in order: where their performance changed.

use std::path::PathBuf;

use manometer_measure::event::Finding;
use manometer_measure::plan::{Criterion, Settings};
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
    /// The last change: what is after it by what was before it; null without one.
    pub ratio: Option<f64>,
    /// Always null: a series has no interval.
    pub ci_low: Option<f64>,
    /// Always null.
    pub ci_high: Option<f64>,
    /// Different where it changed; else unknown, since no change found is not yet none.
    pub verdict: Verdict,
    /// Which way the last change goes.
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
}

impl SeriesComparison {
    /// The phases whose last change is for the worse.
    pub fn regressions(&self) -> impl Iterator<Item = &PhaseSeries> {
        self.phases.iter().filter(|phase| phase.direction == Some(Direction::Worse))
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
            ChangeOfPhase { index, recording, before, after, ratio, p_value, direction }
        })
        .collect();
    let last = changes.last();
    PhaseSeries {
        id: phase.id.clone(),
        label: phase.label.clone(),
        settings: settings.clone(),
        ratio: last.map(|change| change.ratio),
        ci_low: None,
        ci_high: None,
        verdict: if last.is_some() { Verdict::Different } else { Verdict::Unknown },
        direction: last.map(|change| change.direction),
        reached,
        changes,
    }
}
