//! A and B: phase by phase, with intervals and a verdict.

use std::path::PathBuf;

use manometer_measure::event::Finding;
use manometer_measure::plan::{Better, Criterion, Settings};
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use super::own::own_findings;
use super::read::{Group, Run, RunPhase, Runs};
use super::{
    CompareError, Direction, Interval, Reached, Verdict, checked_bound, is_empty, runs_needed, unlike, verdict, words,
};
use crate::statistics::bootstrap::{Side, Unit, difference_interval, ratio_interval};

/// Two recordings, or two sets of repeats, beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What is judged.
    pub criterion: Criterion,
    /// Differences of less than this share do not matter.
    pub bound: f64,
    /// The folder of A.
    pub a: PathBuf,
    /// The folder of B.
    pub b: PathBuf,
    /// The phases that both have.
    pub phases: Vec<PhaseComparison>,
    /// The phases, and the settings of a sweep, of one that the other does not have: `A w3 (…)`, `B x = 1 (w0, w1)`.
    pub not_compared: Vec<String>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
}

/// One phase of A beside the same of B.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseComparison {
    /// Its id in the plan.
    pub id: String,
    /// What is special about it.
    pub label: String,
    /// What a sweep set for the runs; empty without one.
    #[serde(skip_serializing_if = "is_empty")]
    pub settings: Settings,
    /// The performance of B by that of A.
    pub ratio: Option<f64>,
    /// The lower end of the ratio's 95 % interval.
    pub ci_low: Option<f64>,
    /// Its upper end.
    pub ci_high: Option<f64>,
    /// Same, different, or not to be told.
    pub verdict: Verdict,
    /// Which way it goes, where they differ.
    pub direction: Option<Direction>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// About how many further runs on each side would tell; null where they need none, or a thousand are not enough.
    pub runs_needed: Option<usize>,
    /// What A reached.
    pub a: Reached,
    /// What B reached.
    pub b: Reached,
    /// The performance of B less that of A, in the criterion's unit.
    pub difference: Interval,
    /// The same of the pressures; null for `w0`.
    pub pressure: Option<Pressures>,
}

/// The pressures of a phase in A and in B.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pressures {
    /// The mean over the runs of A.
    pub a: Option<f64>,
    /// The mean over the runs of B.
    pub b: Option<f64>,
    /// B less A.
    pub difference: Interval,
    /// B by A; no interval where A is not surely above 0.
    pub ratio: Interval,
}

impl Comparison {
    /// The phases in which B is worse than A, beyond the bound.
    pub fn regressions(&self) -> impl Iterator<Item = &PhaseComparison> {
        self.phases.iter().filter(|phase| phase.direction == Some(Direction::Worse))
    }
}

/// Every bootstrap draws the same, so that a comparison can be repeated.
const SEED: u64 = 1;

const NO_REPEAT: &str = "the phase is too short for an interval, and there is no second run to compare with";

/// Compares `b` with `a`; differences of less than the share `bound` do not matter.
///
/// # Errors
/// They are judged by different criteria, have no phase in common, or `bound` is no share.
pub fn pair(a: &Runs, b: &Runs, bound: f64) -> Result<Comparison, CompareError> {
    let bound = checked_bound(bound)?;
    let criterion = common_criterion(a.runs.iter().chain(&b.runs))?.clone();
    let mut phases = Vec::new();
    let mut not_compared = Vec::new();
    let (groups_a, groups_b) = (a.groups(), b.groups());
    let pairs = matched(&groups_a, &groups_b);
    for (one, other) in &pairs {
        for phase in one.phases() {
            match (places(phase, one), places(phase, other)) {
                (_, theirs) if theirs.is_empty() => not_compared.push(format!("A {}", phase_name(phase, one.settings))),
                (ours, theirs) => phases.push(compare_phase(phase, one.settings, &ours, &theirs, &criterion, bound)),
            }
        }
        let missing = other.phases().into_iter().filter(|phase| places(phase, one).is_empty());
        not_compared.extend(missing.map(|phase| format!("B {}", phase_name(phase, other.settings))));
    }
    let alone_a = groups_a.iter().filter(|group| !pairs.iter().any(|(one, _)| one.settings == group.settings));
    let alone_b = groups_b.iter().filter(|group| !pairs.iter().any(|(_, other)| other.settings == group.settings));
    not_compared.extend(alone_a.map(|group| format!("A {}", group_name(group))));
    not_compared.extend(alone_b.map(|group| format!("B {}", group_name(group))));
    if phases.is_empty() {
        let detail = format!("A has {}; B has {}", phases_of(a), phases_of(b));
        return Err(CompareError::NothingInCommon { a: a.path.clone(), b: b.path.clone(), detail });
    }
    let mut findings = own_findings([a, b]);
    findings.extend(unlike(a.runs.iter().chain(&b.runs).map(|run| (run.dir.as_path(), &run.conditions))));
    Ok(Comparison { criterion, bound, a: a.path.clone(), b: b.path.clone(), phases, not_compared, findings })
}

/// The one criterion of all `runs`.
pub(super) fn common_criterion<'a>(runs: impl Iterator<Item = &'a Run>) -> Result<&'a Criterion, CompareError> {
    let mut runs = runs.peekable();
    let first = *runs.peek().expect("a folder of runs holds at least one");
    match runs.find(|run| run.criterion != first.criterion) {
        None => Ok(&first.criterion),
        Some(other) => Err(CompareError::UnlikeCriteria {
            a: first.dir.clone(),
            by_a: words(&first.criterion),
            b: other.dir.clone(),
            by_b: words(&other.criterion),
        }),
    }
}

/// The groups with the same settings; where each side has one only, these two, whatever was set.
fn matched<'a, 'b>(a: &'b [Group<'a>], b: &'b [Group<'a>]) -> Vec<(&'b Group<'a>, &'b Group<'a>)> {
    if let ([one], [other]) = (a, b) {
        return vec![(one, other)];
    }
    a.iter().filter_map(|one| Some((one, b.iter().find(|other| other.settings == one.settings)?))).collect()
}

/// A run and one of its phases.
type Place<'a> = (&'a Run, &'a RunPhase);

/// The same `phase` in all runs of `group`.
fn places<'a>(phase: &RunPhase, group: &Group<'a>) -> Vec<Place<'a>> {
    group.runs.iter().filter_map(|run| Some((*run, run.same_phase(phase)?))).collect()
}

/// `w3 (writer.iodepth = 64, writer.block_size = 4KiB)`: the phase, then what a sweep set.
pub(super) fn phase_name(phase: &RunPhase, settings: &Settings) -> String {
    let swept = if settings.is_empty() { String::new() } else { format!(", {}", settings_text(settings)) };
    format!("{} ({}{swept})", phase.id, phase.label)
}

/// `writer.block_size = 4KiB (w0, w1)`: all phases of the runs that a sweep set so.
fn group_name(group: &Group<'_>) -> String {
    let swept = if group.settings.is_empty() { "nothing swept".to_owned() } else { settings_text(group.settings) };
    let ids: Vec<&str> = group.phases().into_iter().map(|phase| phase.id.as_str()).collect();
    format!("{swept} ({})", ids.join(", "))
}

fn settings_text(settings: &Settings) -> String {
    let plain = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    settings.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect::<Vec<_>>().join(", ")
}

fn phases_of(runs: &Runs) -> String {
    let groups = runs.groups();
    let names =
        groups.iter().flat_map(|group| group.phases().into_iter().map(|phase| phase_name(phase, group.settings)));
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn compare_phase(
    phase: &RunPhase,
    settings: &Settings,
    a: &[Place<'_>],
    b: &[Place<'_>],
    criterion: &Criterion,
    bound: f64,
) -> PhaseComparison {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let reached = |places: &[Place<'_>]| Reached::of(&places.iter().map(|(_, phase)| *phase).collect::<Vec<_>>());
    let (reached_a, reached_b) = (reached(a), reached(b));
    let ratio = reached_a.mean.zip(reached_b.mean).map(|(a, b)| b / a).filter(|ratio| ratio.is_finite());
    let mut side =
        |places: &[Place<'_>]| Side::of(&places.iter().filter_map(performance).collect::<Vec<_>>(), &mut random);
    let sides = side(a).zip(side(b));
    let ends = sides.as_ref().and_then(|(a, b)| ratio_interval(a, b));
    let verdict = verdict(ends, bound);
    let needed = sides.as_ref().filter(|_| verdict == Verdict::Unknown && ends.is_some());
    let difference = match reached_a.mean.zip(reached_b.mean) {
        Some((a, b)) => Interval::of(b - a, sides.as_ref().and_then(|(a, b)| difference_interval(a, b)), NO_REPEAT),
        None => Interval::missing(&missing_reason(a, b)),
    };
    let is_baseline = a.iter().chain(b).all(|(_, phase)| phase.is_baseline);
    PhaseComparison {
        id: phase.id.clone(),
        label: phase.label.clone(),
        settings: settings.clone(),
        ratio,
        ci_low: ends.map(|ends| ends.0),
        ci_high: ends.map(|ends| ends.1),
        verdict,
        direction: ratio.filter(|_| verdict == Verdict::Different).map(|ratio| Direction::of(ratio, criterion)),
        reason: ends.is_none().then(|| match ratio {
            None => missing_reason(a, b),
            Some(_) if sides.is_none() => NO_REPEAT.to_owned(),
            Some(_) => "no interval: the performance of A is not surely above 0".to_owned(),
        }),
        runs_needed: needed.and_then(|(a, b)| runs_needed(a, b, bound)),
        a: reached_a,
        b: reached_b,
        difference,
        pressure: (!is_baseline).then(|| pressures(a, b, criterion.better, &mut random)),
    }
}

/// Why one of them has no mean.
fn missing_reason(a: &[Place<'_>], b: &[Place<'_>]) -> String {
    let gap = a.iter().chain(b).find(|(_, phase)| phase.mean.is_none());
    let reason = gap.map(|(run, phase)| {
        let reason = phase.reason.as_deref().unwrap_or("it was not measured");
        format!("not measured in {}: {reason}", run.dir.display())
    });
    reason.unwrap_or_else(|| "no ratio: the performance of A is 0".to_owned())
}

/// The performance that one run shows.
pub(super) fn performance((_, phase): &Place<'_>) -> Option<Unit> {
    Some(Unit { value: phase.mean?, noise: phase.noise.clone().map(|noise| (1.0, noise)).into_iter().collect() })
}

/// The pressure that one run shows against its own `w0`, so that what made the whole run slower counts for nothing.
fn pressure((run, phase): &Place<'_>, better: Better) -> Option<Unit> {
    let alone = run.baseline()?;
    let (beside_mean, alone_mean) = (phase.mean?, alone.mean.filter(|mean| *mean > 0.0)?);
    let (sign, value) = match better {
        Better::Higher => (-1.0, 1.0 - beside_mean / alone_mean),
        Better::Lower => (1.0, beside_mean / alone_mean - 1.0),
    };
    let noise = match (&phase.noise, &alone.noise) {
        (Some(beside), Some(alone)) => {
            vec![(sign / alone_mean, beside.clone()), (-sign * beside_mean / (alone_mean * alone_mean), alone.clone())]
        }
        _ => Vec::new(),
    };
    Some(Unit { value, noise })
}

fn pressures(a: &[Place<'_>], b: &[Place<'_>], better: Better, random: &mut Xoshiro256PlusPlus) -> Pressures {
    let units = |places: &[Place<'_>]| places.iter().filter_map(|place| pressure(place, better)).collect::<Vec<_>>();
    let (a, b) = (units(a), units(b));
    let mean =
        |units: &[Unit]| crate::statistics::moments::mean(&units.iter().map(|unit| unit.value).collect::<Vec<_>>());
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let sides = Side::of(&a, random).zip(Side::of(&b, random));
    let (difference, ratio) = match mean_a.zip(mean_b) {
        None => {
            let missing = Interval::missing("one of them has no pressure: the phase or its `w0` was not measured");
            (missing.clone(), missing)
        }
        Some((one, other)) => {
            let ends = |of: fn(&Side, &Side) -> Option<(f64, f64)>| sides.as_ref().and_then(|(a, b)| of(a, b));
            let unsure =
                if sides.is_none() { NO_REPEAT } else { "no interval: the pressure of A is not surely above 0" };
            (
                Interval::of(other - one, ends(difference_interval), NO_REPEAT),
                Interval::of(other / one, ends(ratio_interval), unsure),
            )
        }
    };
    Pressures { a: mean_a, b: mean_b, difference, ratio }
}
