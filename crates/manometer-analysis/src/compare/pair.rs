//! The comparison of two sides, A and B: phase by phase, with intervals and a verdict.

use std::path::PathBuf;

use manometer_measure::event::Finding;
use manometer_measure::plan::{BetterDirection, Criterion, Settings};
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use super::conditions::differences;
use super::error::CompareError;
use super::gate::GateResult;
use super::judge::judge_runs_compared;
use super::needed_lengths::NeededLengths;
use super::run_findings::{Side, run_findings};
use super::runs::{ComparedRun, ComparedRuns, Measurement, RunGroup, RunPhase};
use super::verdict::{Direction, MeanOverRuns, PhaseVerdict, checked_bound, is_empty, runs_needed};
use super::workloads::SweptSettings;
use crate::estimate::IntervalEstimate;
use crate::pressure::loss;
use crate::statistics::bootstrap::{BootstrapMean, RunValue, difference_interval, ratio_interval};
use crate::statistics::moments::mean;
use crate::verdict::{Grade, Verdict};

/// The comparison of two recordings, or two sets of repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The criterion by which they are compared.
    pub criterion: Criterion,
    /// Differences of less than this share do not matter.
    pub bound: f64,
    /// The folder of A.
    pub a: PathBuf,
    /// The folder of B.
    pub b: PathBuf,
    /// The phases that both have.
    pub phases: Vec<PhaseComparison>,
    /// The phases, and the settings of a sweep, that only one side has: `A w3 (…)`, `B x = 1 (w0, w1)`.
    pub not_compared: Vec<String>,
    /// What the comparison may be used for, and why.
    pub verdict: Verdict,
    /// What a reader must know.
    pub findings: Vec<Finding>,
}

/// The comparison of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseComparison {
    /// Its id in the plan.
    pub id: String,
    /// Its label: the settings that set it apart.
    pub label: String,
    /// What a sweep set for the runs; empty without a sweep.
    #[serde(skip_serializing_if = "is_empty")]
    pub settings: Settings,
    /// What a sweep set for the runs of B, where it differs: `settings` are then those of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_b: Option<Settings>,
    /// The performance of B divided by that of A.
    pub ratio: Option<f64>,
    /// The lower end of the ratio's 95 % interval.
    pub ci_low: Option<f64>,
    /// The upper end of the ratio's 95 % interval.
    pub ci_high: Option<f64>,
    /// Same, different or unknown.
    pub verdict: PhaseVerdict,
    /// Whether B is shown to be no worse than A, beyond the bound.
    pub gate: GateResult,
    /// The direction of the difference, if they differ.
    pub direction: Option<Direction>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The estimated number of additional runs on each side for a verdict; null where none are needed or a thousand are not
    /// enough.
    pub runs_needed: Option<usize>,
    /// The estimated length of the phase at which single runs decide the gate, in seconds, the longer of `needed_a_s` and
    /// `needed_b_s`; null where it is decided, with repeats, and where no length is known to decide it.
    pub needed_s: Option<f64>,
    /// The length that A needs; null where it is as long.
    pub needed_a_s: Option<f64>,
    /// The length that B needs; null where it is as long.
    pub needed_b_s: Option<f64>,
    /// The number of rounds that make this length in interleaved plans; absent in ladders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_rounds: Option<usize>,
    /// The performance of A.
    pub a: MeanOverRuns,
    /// The performance of B.
    pub b: MeanOverRuns,
    /// The performance of B minus that of A, in the criterion's unit.
    pub difference: IntervalEstimate,
    /// The comparison of the pressures; null for `w0`.
    pub pressure: Option<PressureComparison>,
}

/// The pressures of a phase in A and in B.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PressureComparison {
    /// The mean over the runs of A.
    pub a: Option<f64>,
    /// The mean over the runs of B.
    pub b: Option<f64>,
    /// B minus A.
    pub difference: IntervalEstimate,
    /// B divided by A; without an interval where A is not significantly above 0.
    pub ratio: IntervalEstimate,
}

impl Comparison {
    /// The phases in which B is worse than A, beyond the bound.
    pub fn regressions(&self) -> impl Iterator<Item = &PhaseComparison> {
        self.phases.iter().filter(|phase| phase.direction == Some(Direction::Worse))
    }
}

/// All bootstraps have the same seed, so that a comparison is reproducible.
const SEED: u64 = 1;

const NO_REPEAT: &str = "the phase is too short for a confidence interval, and there is no second run to compare with";

impl Comparison {
    /// Whether B is shown to be no worse than A: in every phase of A, on a result that is not void.
    pub fn gate(&self) -> GateResult {
        if self.verdict.grade == Grade::Void {
            return GateResult::Undecided;
        }
        let lacks_phases = self.not_compared.iter().any(|phase| phase.starts_with("A "));
        GateResult::of_all(self.phases.iter().map(|phase| phase.gate), lacks_phases)
    }

    /// The phases for which the gate cannot be decided.
    pub fn undecided(&self) -> impl Iterator<Item = &PhaseComparison> {
        self.phases.iter().filter(|phase| phase.gate == GateResult::Undecided)
    }
}

/// Compares `b` with `a`; differences of less than the share `bound` do not matter.
///
/// # Errors
/// They have different criteria or no phase in common, or `bound` is not a share.
pub fn compare_pair(a: &ComparedRuns, b: &ComparedRuns, bound: f64) -> Result<Comparison, CompareError> {
    let bound = checked_bound(bound)?;
    check_distinct([a, b])?;
    let criterion = common_criterion(a.runs.iter().chain(&b.runs))?.clone();
    let mut phases = Vec::new();
    let mut not_compared = Vec::new();
    let (groups_a, groups_b) = (a.groups(), b.groups());
    let pairs = matching_groups(&groups_a, &groups_b);
    for (group_a, group_b) in &pairs {
        for phase in group_a.phases() {
            let (in_a, in_b) = (measurements(phase, group_a), measurements(phase, group_b));
            if in_b.is_empty() {
                not_compared.push(format!("A {}", phase_name(phase, group_a.settings)));
            } else {
                let compared = compare_phase(phase, group_a.settings, &in_a, &in_b, &criterion, bound);
                let settings_b = (group_b.settings != group_a.settings).then(|| group_b.settings.clone());
                phases.push(PhaseComparison { settings_b, ..compared });
            }
        }
        let only_b = group_b.phases().into_iter().filter(|phase| measurements(phase, group_a).is_empty());
        not_compared.extend(only_b.map(|phase| format!("B {}", phase_name(phase, group_b.settings))));
    }
    let only_a = groups_a.iter().filter(|group| !pairs.iter().any(|(a, _)| a.settings == group.settings));
    let only_b = groups_b.iter().filter(|group| !pairs.iter().any(|(_, b)| b.settings == group.settings));
    not_compared.extend(only_a.map(|group| format!("A {}", group_name(group))));
    not_compared.extend(only_b.map(|group| format!("B {}", group_name(group))));
    if phases.is_empty() {
        let detail = format!("A has {}; B has {}", phase_names(a), phase_names(b));
        return Err(CompareError::NothingInCommon { a: a.path.clone(), b: b.path.clone(), detail });
    }
    let sides = [("A", a), ("B", b)].map(|(name, runs)| Side { name: Some(name), runs, is_needed: true });
    let are_matched = pairs.iter().all(|(a, b)| a.settings == b.settings);
    let swept = if are_matched { SweptSettings::Matched } else { SweptSettings::Compared };
    let conditions = a.runs.iter().chain(&b.runs).map(|run| (run.dir.as_path(), &run.conditions));
    let (verdict, findings) = judge_runs_compared(run_findings(&sides), differences(conditions, swept));
    Ok(Comparison { criterion, bound, a: a.path.clone(), b: b.path.clone(), phases, not_compared, verdict, findings })
}

/// Checks that no recording is among two of `sides`.
///
/// # Errors
/// One is.
pub(super) fn check_distinct<'a>(sides: impl IntoIterator<Item = &'a ComparedRuns>) -> Result<(), CompareError> {
    let sides: Vec<&ComparedRuns> = sides.into_iter().collect();
    let pairs =
        sides.iter().enumerate().flat_map(|(index, side)| sides[index + 1..].iter().map(move |other| (side, other)));
    match pairs.filter_map(|(side, other)| side.shared_run(other)).next() {
        Some((a, b)) => Err(CompareError::SameRecording { a: a.dir.clone(), b: b.dir.clone() }),
        None => Ok(()),
    }
}

/// The one criterion of all `runs`.
pub(super) fn common_criterion<'a>(runs: impl Iterator<Item = &'a ComparedRun>) -> Result<&'a Criterion, CompareError> {
    let text = |criterion: &Criterion| format!("{} in {}", criterion.metric, criterion.unit);
    let mut runs = runs.peekable();
    let first = *runs.peek().expect("a directory of runs holds at least one");
    match runs.find(|run| run.criterion != first.criterion) {
        None => Ok(&first.criterion),
        // Without its samples, a paced primary is not known as one.
        Some(other) if let Some((run, damage)) = [first, other].iter().find_map(|run| Some((run, run.damage()?))) => {
            Err(CompareError::Damaged { path: run.dir.clone(), damage: damage.to_owned() })
        }
        Some(other) => Err(CompareError::DifferentCriteria {
            a: first.dir.clone(),
            criterion_a: text(&first.criterion),
            b: other.dir.clone(),
            criterion_b: text(&other.criterion),
        }),
    }
}

/// The groups with the same settings. If each side has only one group, these two, even if their settings differ.
fn matching_groups<'a, 'b>(a: &'b [RunGroup<'a>], b: &'b [RunGroup<'a>]) -> Vec<(&'b RunGroup<'a>, &'b RunGroup<'a>)> {
    if let ([group_a], [group_b]) = (a, b) {
        return vec![(group_a, group_b)];
    }
    let in_b = |group_a: &&RunGroup<'a>| b.iter().find(|group_b| group_b.settings == group_a.settings);
    a.iter().filter_map(|group_a| Some((group_a, in_b(&group_a)?))).collect()
}

/// `phase` in every run of `group` that has it.
fn measurements<'a>(phase: &RunPhase, group: &RunGroup<'a>) -> Vec<Measurement<'a>> {
    group.runs.iter().filter_map(|run| Some((*run, run.same_phase(phase)?))).collect()
}

/// `w3 (writer.iodepth = 64, writer.block_size = 4KiB)`: the phase with its label and what a sweep set.
pub(super) fn phase_name(phase: &RunPhase, settings: &Settings) -> String {
    let swept = if settings.is_empty() { String::new() } else { format!(", {}", settings_text(settings)) };
    format!("{} ({}{swept})", phase.id, phase.label)
}

/// `writer.block_size = 4KiB (w0, w1)`: what a sweep set, and the phases.
fn group_name(group: &RunGroup<'_>) -> String {
    let swept = if group.settings.is_empty() { "nothing swept".to_owned() } else { settings_text(group.settings) };
    let ids: Vec<&str> = group.phases().into_iter().map(|phase| phase.id.as_str()).collect();
    format!("{swept} ({})", ids.join(", "))
}

fn settings_text(settings: &Settings) -> String {
    let value = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    settings.iter().map(|(key, setting)| format!("{key} = {}", value(setting))).collect::<Vec<_>>().join(", ")
}

fn phase_names(runs: &ComparedRuns) -> String {
    let groups = runs.groups();
    let names =
        groups.iter().flat_map(|group| group.phases().into_iter().map(|phase| phase_name(phase, group.settings)));
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

pub(super) fn compare_phase(
    phase: &RunPhase,
    settings: &Settings,
    a: &[Measurement<'_>],
    b: &[Measurement<'_>],
    criterion: &Criterion,
    bound: f64,
) -> PhaseComparison {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mean_over_runs =
        |side: &[Measurement<'_>]| MeanOverRuns::of(&side.iter().map(|(_, phase)| *phase).collect::<Vec<_>>());
    let (mean_a, mean_b) = (mean_over_runs(a), mean_over_runs(b));
    let means = mean_a.mean.zip(mean_b.mean);
    let ratio = means.map(|(a, b)| b / a).filter(|ratio| ratio.is_finite());
    let mut bootstrap = |side: &[Measurement<'_>]| {
        BootstrapMean::of(&side.iter().filter_map(performance).collect::<Vec<_>>(), &mut random)
    };
    let sides = bootstrap(a).zip(bootstrap(b));
    // No ratio of throughputs or latencies is below 0.
    let ends = sides.as_ref().and_then(|(a, b)| ratio_interval(a, b)).map(|(low, high)| (low.max(0.0), high));
    let void = a.iter().chain(b).find_map(|(run, phase)| {
        phase.void.as_ref().map(|clause| format!("void in {}, because {clause}", run.dir.display()))
    });
    let (verdict, gate) = match void {
        Some(_) => (PhaseVerdict::Unknown, GateResult::Undecided),
        None => (PhaseVerdict::of(ends, bound), GateResult::of(ends, bound, criterion)),
    };
    let undecided = sides.as_ref().filter(|_| verdict == PhaseVerdict::Unknown && ends.is_some() && void.is_none());
    let difference = match means {
        Some((a, b)) => {
            let ends = sides.as_ref().and_then(|(a, b)| difference_interval(a, b));
            IntervalEstimate::of(b - a, ends, NO_REPEAT)
        }
        None => IntervalEstimate::missing(&missing_reason(a, b)),
    };
    let is_baseline = a.iter().chain(b).all(|(_, phase)| phase.is_baseline);
    let needed = match gate {
        // A longer phase of a void run is as void.
        GateResult::Undecided if void.is_none() => {
            NeededLengths::of(a, b, ratio.zip(ends), GateResult::edge(bound, criterion))
        }
        _ => NeededLengths::default(),
    };
    PhaseComparison {
        id: phase.id.clone(),
        label: phase.label.clone(),
        settings: settings.clone(),
        settings_b: None,
        ratio,
        ci_low: ends.map(|(low, _)| low),
        ci_high: ends.map(|(_, high)| high),
        verdict,
        gate,
        direction: ratio.filter(|_| verdict == PhaseVerdict::Different).map(|ratio| Direction::of(ratio, criterion)),
        // What was not measured says so itself.
        reason: void.filter(|_| ratio.is_some()).or_else(|| {
            ends.is_none().then(|| match ratio {
                None => missing_reason(a, b),
                Some(_) if sides.is_none() => NO_REPEAT.to_owned(),
                Some(_) => "no confidence interval: the performance of A is not significantly above 0".to_owned(),
            })
        }),
        runs_needed: undecided.and_then(|(a, b)| runs_needed(a, b, bound)),
        needed_s: needed.longest_s(),
        needed_a_s: needed.a_s,
        needed_b_s: needed.b_s,
        needed_rounds: needed.rounds,
        a: mean_a,
        b: mean_b,
        difference,
        pressure: (!is_baseline).then(|| compare_pressures(a, b, criterion.better, &mut random)),
    }
}

/// Why there is no ratio.
fn missing_reason(a: &[Measurement<'_>], b: &[Measurement<'_>]) -> String {
    let unmeasured = a.iter().chain(b).find(|(_, phase)| phase.mean.is_none());
    let reason = unmeasured.map(|(run, phase)| {
        let reason = phase.reason.as_deref().unwrap_or("no reason is recorded");
        format!("not measured in {}: {reason}", run.dir.display())
    });
    reason.unwrap_or_else(|| "no ratio: the performance of A is 0".to_owned())
}

/// The performance in one run.
fn performance((_, phase): &Measurement<'_>) -> Option<RunValue> {
    Some(RunValue { value: phase.mean?, noise: phase.noise.clone().map(|noise| (1.0, noise)).into_iter().collect() })
}

/// The pressure in one run, against its own `w0`: what made the whole run slower cancels out.
fn pressure((run, phase): &Measurement<'_>, better: BetterDirection) -> Option<RunValue> {
    let baseline = run.baseline()?;
    let (phase_mean, baseline_mean) = (phase.mean?, baseline.mean.filter(|mean| *mean > 0.0)?);
    let sign = if better == BetterDirection::Higher { -1.0 } else { 1.0 };
    let noise = match (&phase.noise_in_rounds, &phase.noise, &baseline.noise) {
        (Some(paired), ..) => vec![(sign, paired.clone())],
        (None, Some(phase), Some(baseline)) => vec![
            (sign / baseline_mean, phase.clone()),
            (-sign * phase_mean / (baseline_mean * baseline_mean), baseline.clone()),
        ],
        _ => Vec::new(),
    };
    Some(RunValue { value: loss(phase_mean / baseline_mean, better), noise })
}

fn compare_pressures(
    a: &[Measurement<'_>],
    b: &[Measurement<'_>],
    better: BetterDirection,
    random: &mut Xoshiro256PlusPlus,
) -> PressureComparison {
    let pressures = |side: &[Measurement<'_>]| {
        side.iter().filter_map(|measurement| pressure(measurement, better)).collect::<Vec<_>>()
    };
    let (a, b) = (pressures(a), pressures(b));
    let mean_value = |runs: &[RunValue]| mean(&runs.iter().map(|run| run.value).collect::<Vec<_>>());
    let (mean_a, mean_b) = (mean_value(&a), mean_value(&b));
    let sides = BootstrapMean::of(&a, random).zip(BootstrapMean::of(&b, random));
    let (difference, ratio) = match mean_a.zip(mean_b) {
        None => {
            let missing = IntervalEstimate::missing("one side has no pressure: the phase or its `w0` was not measured");
            (missing.clone(), missing)
        }
        Some((a, b)) => {
            let ends = |of: fn(&BootstrapMean, &BootstrapMean) -> Option<(f64, f64)>| {
                sides.as_ref().and_then(|(a, b)| of(a, b))
            };
            let no_ratio = match sides {
                None => NO_REPEAT,
                Some(_) => "no confidence interval: the pressure of A is not significantly above 0",
            };
            (
                IntervalEstimate::of(b - a, ends(difference_interval), NO_REPEAT),
                IntervalEstimate::of(b / a, ends(ratio_interval), no_ratio),
            )
        }
    };
    PressureComparison { a: mean_a, b: mean_b, difference, ratio }
}
