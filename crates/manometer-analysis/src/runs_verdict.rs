//! The verdict on the runs of a folder together: which of them loses most, and what may be concluded from that.

use std::collections::{BTreeMap, BTreeSet};

use manometer_measure::Recording;
use manometer_measure::event::Finding;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compare::judge_comparison;
use crate::summary::RunSummary;
use crate::verdict::{Conclusion, Grade, Reason, Verdict, capitalised, enumerated, swept};

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
    let mut verdict = judge_comparison(findings);
    let mut by_rule: Vec<(Reason, usize)> = Vec::new();
    for reason in runs.iter().flat_map(|run| &run.summary.verdict.reasons).filter(|reason| reason.allows > Grade::Sound)
    {
        match by_rule.iter_mut().find(|(known, _)| known.id == reason.id) {
            Some((known, count)) => {
                known.allows = known.allows.max(reason.allows);
                *count += 1;
            }
            None => by_rule.push((Reason { phases: Vec::new(), ..reason.clone() }, 1)),
        }
    }
    let all = runs.len();
    let every_run_is_void = runs.iter().all(is_void);
    let named = |(mut reason, count): (Reason, usize)| {
        reason.clause = match count == all {
            true => format!("{} in every run", reason.clause),
            false => format!("{} in {count} of {all} runs", reason.clause),
        };
        // Void runs among others leave the others.
        if !every_run_is_void {
            reason.allows = reason.allows.min(Grade::Indicative);
        }
        reason
    };
    verdict.reasons.extend(by_rule.into_iter().map(named));
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

fn with_verdict(sentence: &str, verdict: &Verdict, runs: &[RunWithSummary<'_>]) -> String {
    let clause = verdict.decisive().map(|reason| reason.clause.clone()).unwrap_or_default();
    let makes_void = |run: &RunWithSummary<'_>, id: &str| {
        run.summary.verdict.reasons.iter().any(|reason| reason.id == id && reason.allows == Grade::Void)
    };
    let is_common = verdict.decisive().is_some_and(|reason| runs.iter().all(|run| makes_void(run, &reason.id)));
    let void = if is_common { clause.clone() } else { "every run is void".to_owned() };
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
}

impl RunPressure {
    fn of(run: usize, summary: &RunSummary) -> Option<Self> {
        let phase = summary.claim_phase.as_ref().filter(|_| summary.verdict.about == Conclusion::Pressure)?;
        let pressure = &summary.phases.iter().find(|other| other.id == *phase)?.pressure;
        Some(Self { run, value: pressure.value?, ends: pressure.ci_low.zip(pressure.ci_high) })
    }

    /// Whether the intervals of both are apart.
    fn is_above(&self, other: &Self) -> bool {
        self.ends.zip(other.ends).is_some_and(|((low, _), (_, high))| low > high)
    }

    fn is_harmful(&self) -> bool {
        self.ends.is_some_and(|(low, _)| low > 0.0)
    }

    fn text(&self) -> String {
        let interval = match self.ends {
            Some((low, high)) => format!("95 % interval {low:.2} to {high:.2}"),
            None => "without a confidence interval".to_owned(),
        };
        format!("pressure {:.2} ({interval})", self.value)
    }
}

/// The runs with the greatest pressure, and the one with the least.
struct RunsComparison {
    /// Those that cannot be told apart from the greatest, which is the first.
    most: Vec<RunPressure>,
    /// The least, where it is below all of those.
    least: Option<RunPressure>,
    /// Those left out: without an interval beside others that have one.
    untested: Vec<RunPressure>,
    labels: Vec<String>,
}

impl RunsComparison {
    /// The comparison of the runs that are not void, or of all where every one is; `None` where none has a pressure.
    fn of(runs: &[RunWithSummary<'_>]) -> Option<Self> {
        let every_run_is_void = runs.iter().all(is_void);
        let usable = runs.iter().enumerate().filter(|(_, run)| every_run_is_void || !is_void(run));
        let all = usable.filter_map(|(index, run)| RunPressure::of(index, run.summary));
        let (mut tested, untested): (Vec<_>, Vec<_>) = all.partition(|run| run.ends.is_some());
        let (tested, untested) = match tested.is_empty() {
            true => (untested, Vec::new()),
            false => {
                tested.sort_by(|one, other| other.value.total_cmp(&one.value));
                (tested, untested)
            }
        };
        let mut tested = tested.into_iter();
        let greatest = tested.next()?;
        let (below, close): (Vec<_>, Vec<_>) = tested.partition(|other| greatest.is_above(other));
        let most = std::iter::once(greatest).chain(close).collect();
        Some(Self { most, least: below.into_iter().last(), untested, labels: labels(runs) })
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
        let greatest = &self.most[0];
        let effect = runs[greatest.run].summary.claim.clone();
        let names = self.names(&self.most);
        let is_only_label = self.labels.iter().all(|label| *label == names[0]);
        let sentence = match names.as_slice() {
            [name] if self.least.is_some() && greatest.is_harmful() => {
                let verb = if is_plural(name) { "hurt" } else { "hurts" };
                format!("{name} {verb} most: {effect}")
            }
            [_] if is_only_label => effect,
            [name] => format!("with {name}, {effect}"),
            _ if self.least.is_some() && greatest.is_harmful() => {
                format!("{} hurt most and cannot be told apart: with {}, {effect}", enumerated(&names), names[0])
            }
            _ if self.least.is_some() => format!("with {}, {effect}", names[0]),
            _ => format!("no run can be told apart from the others; with {}, {effect}", names[0]),
        };
        match &self.least {
            Some(least) => format!("{sentence}; {} the least: {}", self.label(least), least.text()),
            None => sentence,
        }
    }

    /// Which runs are left out, and why, in sentences.
    fn left_out(&self, runs: &[RunWithSummary<'_>]) -> Vec<String> {
        let void = runs.iter().zip(&self.labels).filter(|(run, _)| is_void(run));
        let void: Vec<String> = void.map(|(_, label)| label.clone()).collect();
        let void_runs = (!void.is_empty() && void.len() < runs.len())
            .then(|| format!("Left out, because void: {}.", enumerated(&void)));
        let untested = self.names(&self.untested);
        let untested = (!untested.is_empty()).then(|| format!("Untested: {}.", enumerated(&untested)));
        void_runs.into_iter().chain(untested).collect()
    }
}

/// Whether a label is that of several things: `512 KiB blocks`.
fn is_plural(label: &str) -> bool {
    ["blocks", "threads", "writes"].iter().any(|end| label.ends_with(end))
}

/// A name for each run: what the sweep set for it, where runs differ in it, with the kernel and the device where they differ.
fn labels(runs: &[RunWithSummary<'_>]) -> Vec<String> {
    let swept_settings: Vec<BTreeMap<String, String>> = runs.iter().map(|run| facts(run.recording)).collect();
    let differs = |key: &String| {
        let mut values = swept_settings.iter().map(|facts| facts.get(key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let name = |(index, facts): (usize, &BTreeMap<String, String>)| {
        let parts: Vec<&str> = facts.iter().filter(|(key, _)| differs(key)).map(|(_, text)| text.as_str()).collect();
        match parts.is_empty() {
            true => runs[index]
                .recording
                .dir
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            false => parts.join(", "),
        }
    };
    swept_settings.iter().enumerate().map(name).collect()
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
