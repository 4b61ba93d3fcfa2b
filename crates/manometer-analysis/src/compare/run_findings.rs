//! The findings of the compared runs themselves: a comparison is as reliable as its runs.

use std::path::Path;

use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};

use super::runs::{ComparedRun, ComparedRuns};
use crate::findings::{Rule, fatal, minor, rules, with_strength};

/// The most runs named in a finding.
const MAX_NAMED: usize = 8;

/// The most runs whose own words a finding repeats.
const MAX_QUOTED: usize = 3;

/// The most runs named in a clause.
pub(crate) const MAX_IN_CLAUSE: usize = 3;

pub(super) const NO_RECORDING: Rule = Rule {
    id: "no-recording",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Result, "a directory holds no recording"),
    source: "the directory",
    meaning: "a directory among those of recordings has no `plan.json` and was skipped",
    remedy: "Move the directory elsewhere, or run its experiment.",
};

pub(super) const VOID_RECORDING: Rule = Rule {
    id: "void-recording",
    severity: Severity::Error,
    threat: fatal(ThreatTarget::Result, "a compared recording is void"),
    source: "the recordings",
    meaning: "a compared recording is void by itself, for another reason than that it does not measure storage: a serious \
        threat if it is of a series and not the last one",
    remedy: "Measure the void recording again, or leave it out.",
};

/// A finding about compared runs, with what happened in which of them as the clause of a sentence.
#[derive(Debug, Clone)]
pub(super) struct RunFinding {
    pub(super) finding: Finding,
    pub(super) clause: String,
}

/// One side of a comparison, or one point of a series.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// `A`, `B`; `None` in a series.
    pub(super) name: Option<&'static str>,
    pub(super) runs: &'a ComparedRuns,
    /// Whether the result needs it: both sides of a pair, the last point of a series.
    pub(super) is_needed: bool,
}

/// The void runs, the errors of all runs one by one, their warnings by rule with the runs that have them, and the skipped
/// folders.
pub(super) fn run_findings(sides: &[Side<'_>]) -> Vec<RunFinding> {
    let mut runs: Vec<&ComparedRun> = Vec::new();
    let mut skipped: Vec<&Path> = Vec::new();
    for side in sides {
        // A folder may be compared with itself.
        for run in &side.runs.runs {
            if !runs.iter().any(|known| known.dir == run.dir) {
                runs.push(run);
            }
        }
        for dir in &side.runs.skipped {
            if !skipped.contains(&dir.as_path()) {
                skipped.push(dir);
            }
        }
    }
    let void = sides.iter().flat_map(void_runs);
    let errors = runs.iter().flat_map(|run| errors(run));
    void.chain(errors).chain(warnings(&runs)).chain(skipped.into_iter().map(skipped_folder)).collect()
}

/// Why [`recordings_in`](super::recordings_in) skips a directory of a set, after "it".
pub fn skip_reason(dir: &Path) -> &'static str {
    if dir.is_symlink() { "is a symbolic link" } else { "holds no recording" }
}

/// The void runs of one side.
fn void_runs<'a>(side: &Side<'a>) -> impl Iterator<Item = RunFinding> + use<'a> {
    let Side { name, runs, is_needed } = *side;
    runs.runs.iter().filter_map(move |run| {
        let (clause, text) = run.void.as_ref()?;
        let dir = run.dir.display();
        let who = name.map_or_else(|| dir.to_string(), |name| format!("{name} ({dir})"));
        let finding = VOID_RECORDING.finding(None, &format!("{who} is void, because {clause}: {text}"));
        let finding = if is_needed { finding } else { with_strength(finding, ThreatStrength::Serious) };
        Some(RunFinding { finding, clause: format!("{who} is void, because {clause}") })
    })
}

/// The errors of one run, each with its folder.
fn errors(run: &ComparedRun) -> impl Iterator<Item = RunFinding> {
    let errors = run.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|error| RunFinding {
        finding: Finding { text: format!("{}: {}", run.dir.display(), error.text), ..error.clone() },
        clause: format!("{} in {}", clause(&error.id), run.dir.display()),
    })
}

/// What happened, by the rule `id`, as a clause without its place.
fn clause(id: &str) -> String {
    let threat = rules().find(|rule| rule.id == id).and_then(|rule| rule.threat);
    threat.map_or_else(|| format!("`{id}` was reported"), |threat| threat.clause.to_owned())
}

/// One finding for each rule with warnings.
fn warnings(runs: &[&ComparedRun]) -> Vec<RunFinding> {
    let mut ids: Vec<&str> = Vec::new();
    for finding in runs.iter().flat_map(|run| &run.findings).filter(|finding| is_warning(finding)) {
        if !ids.contains(&finding.id.as_str()) {
            ids.push(&finding.id);
        }
    }
    ids.into_iter().map(|id| warning(id, runs)).collect()
}

fn is_warning(finding: &Finding) -> bool {
    finding.severity < Severity::Error
}

/// The warning `id`: what happened in which runs, in their own words, and once what to do about it.
fn warning(id: &str, runs: &[&ComparedRun]) -> RunFinding {
    let own: Vec<(&ComparedRun, &Finding)> = runs
        .iter()
        .flat_map(|run| run.findings.iter().map(move |finding| (*run, finding)))
        .filter(|(_, finding)| is_warning(finding) && finding.id == id)
        .collect();
    let texts = own.iter().map(|(run, finding)| (run.dir.display().to_string(), finding.text.as_str()));
    let text = format!("`{id}` {}", in_own_words(id, "in", texts));
    let mut places: Vec<String> = own.iter().map(|(run, finding)| place(run, finding)).collect();
    places.dedup();
    let threat = own.iter().filter_map(|(_, finding)| finding.threat).max();
    RunFinding {
        finding: Finding { threat, ..Finding::new(id, Severity::Warning, text) },
        clause: format!("{} in {}", clause(id), named(&places, MAX_IN_CLAUSE)),
    }
}

/// What findings of the rule `id` say of the runs that they are of, equal words once, and once what to do about it:
/// `in a and b: The state changed … And in c: … Settle for longer.`
pub(crate) fn in_own_words<'a>(id: &str, preposition: &str, texts: impl Iterator<Item = (String, &'a str)>) -> String {
    let remedy = rules().find(|rule| rule.id == id).map_or("", |rule| rule.remedy);
    let mut by_words: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, text) in texts {
        let words = text.strip_suffix(remedy).unwrap_or(text).trim_end();
        match by_words.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => by_words.push((words, vec![name])),
        }
    }
    let (quoted, rest) = by_words.split_at(by_words.len().min(MAX_QUOTED));
    let quoted: Vec<String> =
        quoted.iter().map(|(words, names)| format!("{preposition} {}: {words}", named(names, MAX_NAMED))).collect();
    let rest: Vec<String> = rest.iter().flat_map(|(_, names)| names).cloned().collect();
    let rest = match rest.is_empty() {
        true => String::new(),
        false => format!(" Also {preposition} {}.", named(&rest, MAX_NAMED)),
    };
    format!("{}{rest} {remedy}", quoted.join(" And ")).trim_end().to_owned()
}

/// The folder of `run` with the phases of its `finding`.
fn place(run: &ComparedRun, finding: &Finding) -> String {
    let phases: Vec<&str> = finding.phase_ids().collect();
    let dir = run.dir.display();
    match phases.as_slice() {
        [] => dir.to_string(),
        few if few.len() <= MAX_IN_CLAUSE => format!("{dir} ({})", few.join(", ")),
        many => format!("{dir} ({} phases)", many.len()),
    }
}

/// `a, b and c`; of more than `max` the first, and how many more.
pub(crate) fn named(names: &[String], max: usize) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= max => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..max].join(", "), names.len() - max),
    }
}

fn skipped_folder(dir: &Path) -> RunFinding {
    let why = skip_reason(dir);
    let finding = NO_RECORDING.finding(None, &format!("{} was skipped: it {why}.", dir.display()));
    RunFinding { finding, clause: format!("{} {why}", dir.display()) }
}
