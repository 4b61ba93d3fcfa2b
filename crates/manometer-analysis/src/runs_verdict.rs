//! The verdict on the runs of a folder together: which of them loses most, and what may be concluded from that.

use std::collections::{BTreeMap, BTreeSet};

use manometer_measure::event::Finding;
use manometer_measure::{PhaseKind, Recording};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use statrs::distribution::{ContinuousCDF as _, Normal};

use crate::compare::judge_comparison;
use crate::compare::run_findings::{MAX_IN_CLAUSE, in_own_words, named};
use crate::estimate::IntervalEstimate;
use crate::prose::capitalised;
use crate::statistics::SIGNIFICANCE;
use crate::statistics::holm::adjusted;
use crate::summary::RunSummary;
use crate::verdict::{Conclusion, Grade, Reason, Verdict, enumerated, swept};

/// One of the runs.
#[derive(Debug, Clone, Copy)]
pub struct RunWithSummary<'a> {
    /// Its recording.
    pub recording: &'a Recording,
    /// Its analysis.
    pub summary: &'a RunSummary,
}

/// What the runs together say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsVerdict {
    /// The main result in a sentence.
    pub headline: String,
    /// What it may be used for: the grade of the worst run and of the comparison of the runs.
    pub verdict: Verdict,
}

/// Judges `runs` together; `findings` are those about several of them.
pub fn judge_runs(runs: &[RunWithSummary<'_>], findings: &[Finding]) -> RunsVerdict {
    let verdict = common_verdict(runs, findings);
    let headline = match (criteria(runs).as_slice(), RunsComparison::of(runs)) {
        ([], _) | (_, None) if verdict.grade == Grade::Void => {
            format!("Void: {}. Nothing can be concluded from these {} runs.", void_clause(&verdict, runs), runs.len())
        }
        ([], _) | (_, None) => format!("{} runs, none with a pressure: see what each of them says.", runs.len()),
        ([_], Some(comparison)) => {
            let more = comparison.left_out(runs).into_iter().map(|sentence| format!(" {sentence}"));
            with_verdict(&comparison.sentence(runs), &verdict, runs) + &more.collect::<String>()
        }
        (criteria, Some(_)) => {
            let sentence = format!(
                "the runs are judged by different criteria ({}) and cannot be compared: see each of them",
                enumerated(criteria)
            );
            with_verdict(&sentence, &verdict, runs)
        }
    };
    RunsVerdict { headline, verdict }
}

/// The metrics by which the runs that have a pressure are judged, each once.
fn criteria(runs: &[RunWithSummary<'_>]) -> Vec<String> {
    let with_pressure = runs.iter().filter(|run| run.summary.verdict.about == Conclusion::Pressure);
    let metrics: BTreeSet<&str> = with_pressure.map(|run| run.summary.criterion.metric.as_str()).collect();
    metrics.into_iter().map(str::to_owned).collect()
}

fn is_void(run: &RunWithSummary<'_>) -> bool {
    run.summary.verdict.grade == Grade::Void
}

/// The findings about several runs, and the decisive reasons of each run, merged by rule.
fn common_verdict(runs: &[RunWithSummary<'_>], findings: &[Finding]) -> Verdict {
    let (labels, are_names) = short_labels(runs);
    let mut verdict = judge_comparison(findings);
    let mut by_rule: Vec<Vec<(&str, &Reason)>> = Vec::new();
    for (run, label) in runs.iter().zip(&labels) {
        for reason in run.summary.verdict.reasons.iter().filter(|reason| reason.allows > Grade::Sound) {
            match by_rule.iter_mut().find(|known| known[0].1.id == reason.id) {
                Some(known) => known.push((label, reason)),
                None => by_rule.push(vec![(label, reason)]),
            }
        }
    }
    let every_run_is_void = runs.iter().all(is_void);
    let merged = by_rule.iter().map(|reasons| {
        let reason = merged_reason(reasons, runs.len(), preposition(are_names));
        // Void runs among others leave the others.
        let best = if every_run_is_void { Grade::Void } else { Grade::Indicative };
        Reason { allows: reason.allows.min(best), ..reason }
    });
    verdict.reasons.extend(merged);
    verdict.reasons.sort_by_key(|reason| std::cmp::Reverse((reason.allows, reason.threat)));
    let of_reasons = verdict.reasons.iter().map(|reason| reason.allows).max().unwrap_or_default();
    verdict.grade = if every_run_is_void { Grade::Void } else { of_reasons };
    verdict.about = match () {
        () if runs.iter().any(|run| run.summary.verdict.about == Conclusion::Pressure) => Conclusion::Pressure,
        () if runs.iter().any(|run| run.summary.verdict.about == Conclusion::Performance) => Conclusion::Performance,
        () => Conclusion::Nothing,
    };
    verdict
}

/// The reasons by one rule of several of `all` runs, each with the label of its run, as one that names them after the
/// preposition `with`.
fn merged_reason(reasons: &[(&str, &Reason)], all: usize, with: &str) -> Reason {
    let (_, first) = reasons[0];
    let mut labels: Vec<String> = reasons.iter().map(|(label, _)| (*label).to_owned()).collect();
    labels.dedup();
    let count = reasons.len();
    let place = match count == all {
        true => "every run".to_owned(),
        false => format!("{count} of {all} runs ({})", named(&labels, MAX_IN_CLAUSE)),
    };
    let texts = reasons.iter().map(|(label, reason)| ((*label).to_owned(), reason.text.as_str()));
    Reason {
        allows: reasons.iter().map(|(_, reason)| reason.allows).max().unwrap_or_default(),
        phases: Vec::new(),
        clause: format!("{} in {place}", first.clause),
        text: capitalised(&in_own_words(&first.id, with, texts)),
        ..first.clone()
    }
}

/// Why every run is void: the reason that all of them have, where there is one.
fn void_clause(verdict: &Verdict, runs: &[RunWithSummary<'_>]) -> String {
    let makes_void = |run: &RunWithSummary<'_>, id: &str| {
        run.summary.verdict.reasons.iter().any(|reason| reason.id == id && reason.allows == Grade::Void)
    };
    let common = verdict.decisive().filter(|reason| runs.iter().all(|run| makes_void(run, &reason.id)));
    common.map_or_else(|| "every run is void".to_owned(), |reason| reason.clause.clone())
}

fn with_verdict(sentence: &str, verdict: &Verdict, runs: &[RunWithSummary<'_>]) -> String {
    let clause = verdict.decisive().map(|reason| reason.clause.as_str()).unwrap_or_default();
    let void = void_clause(verdict, runs);
    let is_about_storage = runs.iter().all(|run| run.summary.verdict.is_void_for_storage());
    match verdict.grade {
        Grade::Sound => format!("{}.", capitalised(sentence)),
        Grade::Indicative => format!("Indicative: {sentence}, but {clause}."),
        Grade::Void if is_about_storage => format!("Not a storage result: {void}. {}.", capitalised(sentence)),
        Grade::Void => format!("Void: {void}. Measured, and not to be relied on: {sentence}."),
    }
}

/// The pressure that the headline of a run is about.
struct RunPressure {
    /// Its index.
    run: usize,
    value: f64,
    ends: Option<(f64, f64)>,
    /// Whether the corrected test of its scale tells it from `w0`.
    is_told_from_w0: bool,
}

impl RunPressure {
    fn of(run: usize, summary: &RunSummary) -> Option<Self> {
        let phase = summary.claim_phase.as_ref().filter(|_| summary.verdict.about == Conclusion::Pressure)?;
        let pressure = &summary.phases.iter().find(|other| other.id == *phase)?.pressure;
        let ends = pressure.ci_low.zip(pressure.ci_high);
        Some(Self { run, value: pressure.value?, ends, is_told_from_w0: summary.tells_from_baseline(phase) })
    }

    /// Whether the interval lies above that of `other`.
    fn is_above(&self, other: &Self) -> bool {
        self.ends.zip(other.ends).is_some_and(|((low, _), (_, high))| low > high)
    }

    /// The two-sided p-value of the same pressure as `other`, which is below; 1 where one has no interval.
    fn p_value(&self, other: &Self) -> f64 {
        let Some(((low, _), (_, high))) = self.ends.zip(other.ends) else { return 1.0 };
        let standard_error = ((self.value - low).hypot(high - other.value)) / NORMAL_QUANTILE;
        let difference = self.value - other.value;
        match difference > 0.0 {
            true => 2.0 * Normal::standard().sf(difference / standard_error),
            false => 1.0,
        }
    }

    fn is_harmful(&self) -> bool {
        self.is_told_from_w0 && self.ends.is_some_and(|(low, _)| low > 0.0)
    }

    fn text(&self) -> String {
        let interval = match self.ends {
            Some((low, high)) => format!("95 % interval {low:.2} to {high:.2}"),
            None => "without a confidence interval".to_owned(),
        };
        format!("pressure {:.2} ({interval})", self.value)
    }
}

/// The standard errors in half a 95 % interval, by the normal distribution.
const NORMAL_QUANTILE: f64 = 1.96;

/// Which of `pressures`, the greatest first, are told apart: their intervals are, and they differ significantly in tests that
/// are corrected over all pairs (Holm).
struct ToldApart {
    count: usize,
    /// By pair, that of the first and the second run first.
    pairs: Vec<bool>,
}

impl ToldApart {
    fn of(pressures: &[RunPressure]) -> Self {
        let pairs = || {
            pressures
                .iter()
                .enumerate()
                .flat_map(|(place, one)| pressures[place + 1..].iter().map(move |other| (one, other)))
        };
        let p_values: Vec<f64> = pairs().map(|(one, other)| one.p_value(other)).collect();
        let significant = adjusted(&p_values).into_iter().map(|p_value| p_value <= SIGNIFICANCE);
        let pairs = pairs().zip(significant).map(|((one, other), significant)| significant && one.is_above(other));
        Self { count: pressures.len(), pairs: pairs.collect() }
    }

    /// Whether the runs at these places are.
    fn are_apart(&self, one: usize, other: usize) -> bool {
        let (one, other) = (one.min(other), one.max(other));
        // The pairs of the runs before `one` come first.
        let before = one * (2 * self.count - one - 1) / 2;
        one != other && self.pairs[before + other - one - 1]
    }
}

/// A clause that names more settings of a run is read by nobody: the run has a name.
const MAX_FACTS_IN_CLAUSE: usize = 4;

/// The run with the greatest pressure, and how the others compare with it.
struct RunsComparison {
    greatest: RunPressure,
    /// Those that cannot be told from the greatest.
    close: Vec<RunPressure>,
    /// Whether some run is below the greatest.
    has_lower: bool,
    /// Whether any two runs are told apart.
    has_difference: bool,
    /// The least, where it is told apart from all others and nothing that was not tested could change that.
    least: Option<RunPressure>,
    /// Whether a phase without an interval lies above the greatest.
    has_untested_above: bool,
    /// Those left out: without an interval beside others that have one.
    untested: Vec<RunPressure>,
    labels: Vec<String>,
    /// Whether the labels are the runs' names, not what was swept.
    are_names: bool,
}

impl RunsComparison {
    /// The comparison of the runs that are not void, or of all where every one is; `None` where none has a pressure.
    fn of(runs: &[RunWithSummary<'_>]) -> Option<Self> {
        let every_run_is_void = runs.iter().all(is_void);
        let usable = || runs.iter().enumerate().filter(|(_, run)| every_run_is_void || !is_void(run));
        let all = usable().filter_map(|(index, run)| RunPressure::of(index, run.summary));
        let (mut tested, untested): (Vec<_>, Vec<_>) = all.partition(|run| run.ends.is_some());
        let (tested, untested) = match tested.is_empty() {
            true => (untested, Vec::new()),
            false => {
                tested.sort_by(|one, other| other.value.total_cmp(&one.value));
                (tested, untested)
            }
        };
        let (labels, are_names) = short_labels(runs);
        let apart = ToldApart::of(&tested);
        let least = least_place(&tested, &apart, &labels)
            .filter(|place| untested.is_empty() && untested_phases(&runs[tested[*place].run]).next().is_none());
        let has_lower = (1..tested.len()).any(|place| apart.are_apart(0, place));
        let greatest = tested.first()?.value;
        let above = |pressure: &IntervalEstimate| pressure.value.is_some_and(|value| value > greatest);
        let has_untested_above = usable().any(|(_, run)| untested_phases(run).any(above));
        let (mut close, mut lowest) = (Vec::new(), None);
        let mut places = tested.into_iter().enumerate();
        let (_, greatest) = places.next()?;
        for (place, run) in places {
            match () {
                () if Some(place) == least => lowest = Some(run),
                () if !apart.are_apart(0, place) => close.push(run),
                () => {}
            }
        }
        let has_difference = apart.pairs.contains(&true);
        Some(Self {
            greatest,
            close,
            has_lower,
            has_difference,
            least: lowest,
            has_untested_above,
            untested,
            labels,
            are_names,
        })
    }

    fn label(&self, one: &RunPressure) -> String {
        self.labels[one.run].clone()
    }

    /// The labels of `pressures`, each once.
    fn names(&self, pressures: &[RunPressure]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in pressures.iter().map(|one| self.label(one)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn sentence(&self, runs: &[RunWithSummary<'_>]) -> String {
        let effect = runs[self.greatest.run].summary.claim.clone();
        let name = self.label(&self.greatest);
        let mut close = self.names(&self.close);
        close.retain(|other| *other != name);
        let is_only_label = self.labels.iter().all(|label| *label == name);
        let (verb, pronoun) = if is_plural(&name) { ("hurt", "them") } else { ("hurts", "it") };
        let with = preposition(self.are_names);
        let most = match !self.are_names && runs.iter().all(sweeps_neighbours) {
            true => format!("{name} {verb} most"),
            false => format!("the pressure is greatest {with} {name}"),
        };
        let tested = if self.has_untested_above { "of what was tested, " } else { "" };
        let first = match () {
            () if is_only_label => effect,
            () if self.has_lower && self.greatest.is_harmful() => format!("{tested}{most}: {effect}"),
            () if !close.is_empty() && !self.has_difference => {
                return format!("no run can be distinguished from the others; {with} {name}, {effect}");
            }
            () => format!("{with} {name}, {effect}"),
        };
        let close = match close.is_empty() {
            true => String::new(),
            false => format!("; {} cannot be distinguished from {pronoun}", named(&close, MAX_IN_CLAUSE)),
        };
        let least = self.least.as_ref().map(|least| format!("; {} the least: {}", self.label(least), least.text()));
        format!("{first}{close}{}", least.unwrap_or_default())
    }

    /// Which runs are left out, and why, in sentences; of many the first.
    fn left_out(&self, runs: &[RunWithSummary<'_>]) -> Vec<String> {
        let void = runs.iter().zip(&self.labels).filter(|(run, _)| is_void(run));
        let void: Vec<String> = void.map(|(_, label)| label.clone()).collect();
        let void_runs = (!void.is_empty() && void.len() < runs.len())
            .then(|| format!("Left out, because void: {}.", named(&void, MAX_IN_CLAUSE)));
        let untested = self.names(&self.untested);
        let untested = (!untested.is_empty()).then(|| format!("Untested: {}.", named(&untested, MAX_IN_CLAUSE)));
        void_runs.into_iter().chain(untested).collect()
    }
}

/// The place of the run with the least pressure, if it and its repeats are told apart from every other run.
fn least_place(tested: &[RunPressure], apart: &ToldApart, labels: &[String]) -> Option<usize> {
    let last = tested.len().checked_sub(1)?;
    let label = |place: usize| &labels[tested[place].run];
    let (own, others): (Vec<usize>, Vec<usize>) = (0..=last).partition(|place| label(*place) == label(last));
    let is_apart = |place: &usize| others.iter().all(|other| apart.are_apart(*place, *other));
    (!others.is_empty() && own.iter().all(is_apart)).then_some(last)
}

/// The pressures of the phases with neighbours of a run from which nothing is concluded: without an interval, or void.
fn untested_phases<'a>(run: &RunWithSummary<'a>) -> impl Iterator<Item = &'a IntervalEstimate> {
    let summary = run.summary;
    let phases = summary.phases.iter().filter(|phase| phase.kind == PhaseKind::Pressure);
    let untested = phases.filter(|phase| phase.pressure.ci_low.is_none() || summary.verdict.is_void_in(&phase.id));
    untested.map(|phase| &phase.pressure)
}

/// Whether a sweep sets the neighbours of `run` and nothing else: only they can be said to hurt.
fn sweeps_neighbours(run: &RunWithSummary<'_>) -> bool {
    let plan = &run.recording.plan;
    let is_of_neighbour = |key: &String| {
        plan.neighbours().any(|one| key.strip_prefix(&one.name).is_some_and(|rest| rest.starts_with('.')))
    };
    plan.sweep.keys().all(is_of_neighbour)
}

/// Whether a label is that of several things: `512 KiB blocks`.
fn is_plural(label: &str) -> bool {
    ["blocks", "threads", "writes"].iter().any(|end| label.ends_with(end))
}

/// A name for each run: what the sweep set for it, where runs differ in it, with the kernel and the device where they differ.
pub fn run_labels(runs: &[RunWithSummary<'_>]) -> Vec<String> {
    let label = |(run, facts): (&RunWithSummary<'_>, Vec<String>)| match facts.is_empty() {
        true => folder_name(run),
        false => facts.join(", "),
    };
    runs.iter().zip(distinguishing_facts(runs)).map(label).collect()
}

/// The labels for a sentence, and whether they are the runs' names, because too much sets the runs apart.
fn short_labels(runs: &[RunWithSummary<'_>]) -> (Vec<String>, bool) {
    let are_names = distinguishing_facts(runs).iter().any(|facts| facts.len() > MAX_FACTS_IN_CLAUSE);
    let name = |run| format!("run {}", folder_name(run));
    (if are_names { runs.iter().map(name).collect() } else { run_labels(runs) }, are_names)
}

/// What stands before a short label.
fn preposition(are_names: bool) -> &'static str {
    if are_names { "in" } else { "with" }
}

fn folder_name(run: &RunWithSummary<'_>) -> String {
    run.recording.dir.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// What each run has that not all others have.
fn distinguishing_facts(runs: &[RunWithSummary<'_>]) -> Vec<Vec<String>> {
    let all: Vec<BTreeMap<String, String>> = runs.iter().map(|run| facts(run.recording)).collect();
    let differs = |key: &String| {
        let mut values = all.iter().map(|facts| facts.get(key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let of_run = |facts: &BTreeMap<String, String>| {
        facts.iter().filter(|(key, _)| differs(key)).map(|(_, text)| text.clone()).collect()
    };
    all.iter().map(of_run).collect()
}

/// What may set a run apart, by name: its swept settings, then its device and its kernel.
fn facts(recording: &Recording) -> BTreeMap<String, String> {
    let fact = |path: &str| recording.environment.pointer(path).and_then(Value::as_str);
    let settings = recording.plan.sweep.iter().map(|(key, value)| (key.clone(), swept(key, value)));
    let device = fact("/device/model").or_else(|| fact("/device/name"));
    // `~` sorts them behind the settings.
    let host = [
        ("~device", device.map(str::to_owned)),
        ("~kernel", fact("/host/kernel").map(|name| format!("kernel {name}"))),
    ];
    settings.chain(host.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)))).collect()
}
