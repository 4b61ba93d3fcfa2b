//! The findings of the compared runs themselves: a comparison is as reliable as its runs.

use std::path::Path;

use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::runs::{ComparedRun, ComparedRuns};
use crate::findings::{Rule, minor, rules};

/// The most runs named in a finding.
const MAX_NAMED: usize = 8;

pub(super) const NO_RECORDING: Rule = Rule {
    id: "no-recording",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Result, "a directory holds no recording"),
    source: "the directory",
    meaning: "a directory among those of recordings has no `plan.json` and was skipped",
    remedy: "Move it elsewhere, or run its experiment.",
};

/// The errors of all runs one by one, their warnings by rule with the runs that have them, and the skipped folders.
pub(super) fn run_findings<'a>(sides: impl IntoIterator<Item = &'a ComparedRuns>) -> Vec<Finding> {
    let mut runs: Vec<&ComparedRun> = Vec::new();
    let mut skipped: Vec<&Path> = Vec::new();
    for side in sides {
        // A folder may be compared with itself.
        for run in &side.runs {
            if !runs.iter().any(|known| known.dir == run.dir) {
                runs.push(run);
            }
        }
        for dir in &side.skipped {
            if !skipped.contains(&dir.as_path()) {
                skipped.push(dir);
            }
        }
    }
    let errors = runs.iter().flat_map(|run| errors(run));
    errors.chain(warnings(&runs)).chain(skipped.into_iter().map(skipped_folder)).collect()
}

/// The errors of one run, each with its folder.
fn errors(run: &ComparedRun) -> impl Iterator<Item = Finding> {
    let errors = run.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|error| Finding { text: format!("{}: {}", run.dir.display(), error.text), ..error.clone() })
}

/// One finding for each rule with warnings.
fn warnings(runs: &[&ComparedRun]) -> Vec<Finding> {
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

/// The warning `id` with the runs that have it, and its meaning.
fn warning(id: &str, runs: &[&ComparedRun]) -> Finding {
    let places: Vec<String> = runs.iter().filter_map(|run| place(id, run)).collect();
    let (named, others) = places.split_at(places.len().min(MAX_NAMED));
    let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    let meaning = rules().find(|rule| rule.id == id).map_or("see its recording", |rule| rule.meaning);
    let text = format!("`{id}` in {}{others}: {meaning}.", named.join(", "));
    let own = runs.iter().flat_map(|run| &run.findings).filter(|finding| finding.id == id);
    let threat = own.filter_map(|finding| finding.threat).max();
    Finding { threat, ..Finding::new(id, Severity::Warning, text) }
}

/// The folder of `run` with the phases of its warning `id`; `None` where it has none.
fn place(id: &str, run: &ComparedRun) -> Option<String> {
    let own: Vec<&Finding> = run.findings.iter().filter(|finding| is_warning(finding) && finding.id == id).collect();
    let phases: Vec<&str> = own.iter().flat_map(|finding| finding.phase_ids()).collect();
    let dir = run.dir.display();
    match (own.is_empty(), phases.is_empty()) {
        (true, _) => None,
        (false, true) => Some(dir.to_string()),
        (false, false) => Some(format!("{dir} ({})", phases.join(", "))),
    }
}

fn skipped_folder(dir: &Path) -> Finding {
    NO_RECORDING.finding(None, &format!("{} was skipped: it has no plan.json.", dir.display()))
}
