//! The verdict on the runs of a folder together: which of them loses most, and what may be concluded from that.

use std::collections::BTreeMap;

use manometer_measure::event::Finding;
use manometer_measure::{Recording, plan};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::grade::{Grade, Reason, Verdict, capitalised};
use super::setting::{enumerated, swept};
use crate::compare::judge_comparison;
use crate::summary::{PhaseSummary, Summary};

/// One of the runs.
#[derive(Debug, Clone, Copy)]
pub struct JudgedRun<'a> {
    /// Its recording.
    pub recording: &'a Recording,
    /// Its analysis.
    pub summary: &'a Summary,
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
pub fn judge_runs(runs: &[JudgedRun<'_>], findings: &[Finding]) -> RunsVerdict {
    let verdict = common_verdict(runs, findings);
    let headline = match worst(runs) {
        None => format!("{} runs, none with a measured pressure.", runs.len()),
        Some(comparison) => with_verdict(&comparison.sentence(runs), &verdict),
    };
    RunsVerdict { headline, verdict }
}

/// The findings about several runs, and the decisive reason of each run, merged by rule.
fn common_verdict(runs: &[JudgedRun<'_>], findings: &[Finding]) -> Verdict {
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
    let named = |(mut reason, count): (Reason, usize)| {
        reason.clause = match count == all {
            true => format!("{} in every run", reason.clause),
            false => format!("{} in {count} of {all} runs", reason.clause),
        };
        // One void run among others leaves the others.
        if count < all {
            reason.allows = reason.allows.min(Grade::Indicative);
        }
        reason
    };
    verdict.reasons.extend(by_rule.into_iter().map(named));
    verdict.reasons.sort_by_key(|reason| std::cmp::Reverse((reason.allows, reason.threat)));
    verdict.grade = verdict.reasons.iter().map(|reason| reason.allows).max().unwrap_or_default();
    verdict
}

fn with_verdict(sentence: &str, verdict: &Verdict) -> String {
    let clause = verdict.decisive().map(|reason| reason.clause.clone()).unwrap_or_default();
    match verdict.grade {
        Grade::Sound => format!("{}.", capitalised(sentence)),
        Grade::Indicative => format!("Indicative: {sentence}, but {clause}."),
        Grade::Void if verdict.is_void_for_storage() => {
            format!("Not a storage result: {clause}. {}.", capitalised(sentence))
        }
        Grade::Void => format!("Void: {clause}. Measured, and not to be relied on: {sentence}."),
    }
}

/// The greatest pressure of a run.
struct RunPressure {
    /// Its index.
    run: usize,
    value: f64,
    ends: Option<(f64, f64)>,
}

impl RunPressure {
    /// The greatest pressure among those with an interval; without any, the greatest.
    fn of(run: usize, summary: &Summary) -> Option<Self> {
        let pressure = |phase: &PhaseSummary| {
            let ends = phase.pressure.ci_low.zip(phase.pressure.ci_high);
            Some(Self { run, value: phase.pressure.value?, ends })
        };
        let phases = summary.phases.iter().filter(|phase| phase.kind == plan::PhaseKind::Pressure);
        let pressures = phases.filter_map(pressure);
        pressures
            .max_by(|one, other| one.ends.is_some().cmp(&other.ends.is_some()).then(one.value.total_cmp(&other.value)))
    }

    /// Whether the intervals of both are apart.
    fn is_above(&self, other: &Self) -> bool {
        self.ends.zip(other.ends).is_some_and(|((low, _), (_, high))| low > high)
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
    labels: Vec<String>,
}

fn worst(runs: &[JudgedRun<'_>]) -> Option<RunsComparison> {
    let labels = labels(runs);
    let mut all: Vec<RunPressure> =
        runs.iter().enumerate().filter_map(|(index, run)| RunPressure::of(index, run.summary)).collect();
    all.sort_by(|one, other| other.value.total_cmp(&one.value));
    let mut all = all.into_iter();
    let greatest = all.next()?;
    let (below, close): (Vec<_>, Vec<_>) = all.partition(|other| greatest.is_above(other));
    let most = std::iter::once(greatest).chain(close).collect();
    Some(RunsComparison { most, least: below.into_iter().last(), labels })
}

impl RunsComparison {
    fn sentence(&self, runs: &[JudgedRun<'_>]) -> String {
        let label = |one: &RunPressure| self.labels[one.run].clone();
        let greatest = &self.most[0];
        let effect = runs[greatest.run].summary.claim.clone();
        let mut names: Vec<String> = Vec::new();
        for name in self.most.iter().map(label) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let sentence = match names.as_slice() {
            [_] if self.least.is_some() => {
                let verb = if is_plural(&names[0]) { "hurt" } else { "hurts" };
                format!("{} {verb} most: {effect}", names[0])
            }
            [_] => effect,
            _ if self.least.is_some() => {
                format!("{} hurt most and cannot be told apart: with {}, {effect}", enumerated(&names), names[0])
            }
            _ => format!("no run can be told apart from the others; with {}, {effect}", names[0]),
        };
        match &self.least {
            Some(least) => format!("{sentence}; {} the least: {}", label(least), least.text()),
            None => sentence,
        }
    }
}

/// Whether a label is that of several things: `512 KiB blocks`.
fn is_plural(label: &str) -> bool {
    ["blocks", "threads", "writes"].iter().any(|end| label.ends_with(end))
}

/// A name for each run: what the sweep set for it, where runs differ in it, with the kernel and the device where they differ.
pub(super) fn labels(runs: &[JudgedRun<'_>]) -> Vec<String> {
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
