//! What must be known of the compared runs themselves: a comparison is worth no more than they are.

use std::path::Path;

use manometer_measure::event::{Finding, Severity};

use super::read::{Run, Runs};
use super::rules::NO_RECORDING;
use crate::findings::rules;

/// So many runs are named with a warning; of more it is told how many.
const NAMED: usize = 8;

/// The errors of all runs one by one, their warnings kind by kind with the runs that have them, and the folders among
/// them that are no recordings.
pub(super) fn own_findings<'a>(sides: impl IntoIterator<Item = &'a Runs>) -> Vec<Finding> {
    let mut runs: Vec<&Run> = Vec::new();
    let mut skipped: Vec<&Path> = Vec::new();
    for side in sides {
        // The same folder may be compared with itself.
        runs.extend(side.runs.iter().filter(|run| !runs.iter().any(|known| known.dir == run.dir)).collect::<Vec<_>>());
        let fresh = side.skipped.iter().map(|dir| dir.as_path()).filter(|dir| !skipped.contains(dir));
        skipped.extend(fresh.collect::<Vec<_>>());
    }
    let errors = runs.iter().flat_map(|run| errors(run));
    errors.chain(warnings(&runs)).chain(skipped.into_iter().map(left_out)).collect()
}

/// The errors of one run, each with its folder in front.
fn errors(run: &Run) -> impl Iterator<Item = Finding> {
    let errors = run.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|error| Finding { text: format!("{}: {}", run.dir.display(), error.text), ..error.clone() })
}

/// One finding for each kind of warning.
fn warnings(runs: &[&Run]) -> Vec<Finding> {
    let mut ids: Vec<&str> = Vec::new();
    for finding in runs.iter().flat_map(|run| &run.findings).filter(|finding| is_warning(finding)) {
        if !ids.contains(&finding.id.as_str()) {
            ids.push(&finding.id);
        }
    }
    ids.into_iter().map(|id| warning(id, runs)).collect()
}

fn is_warning(finding: &Finding) -> bool {
    finding.severity == Severity::Warning
}

/// Which of `runs` have the warning `id`, and what it means.
fn warning(id: &str, runs: &[&Run]) -> Finding {
    let places: Vec<String> = runs.iter().filter_map(|run| place(id, run)).collect();
    let (named, others) = places.split_at(places.len().min(NAMED));
    let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    let meaning = rules().find(|rule| rule.id == id).map_or("see there", |rule| rule.meaning);
    let text = format!("`{id}` in {}{others}: {meaning}.", named.join(", "));
    Finding { id: id.to_owned(), severity: Severity::Warning, phase: None, text }
}

/// The folder of `run` with the phases that the warning `id` is about; nothing where it has none.
fn place(id: &str, run: &Run) -> Option<String> {
    let own: Vec<&Finding> = run.findings.iter().filter(|finding| is_warning(finding) && finding.id == id).collect();
    let phases: Vec<&str> = own.iter().filter_map(|finding| finding.phase.as_deref()).collect();
    let dir = run.dir.display();
    match (own.is_empty(), phases.is_empty()) {
        (true, _) => None,
        (false, true) => Some(dir.to_string()),
        (false, false) => Some(format!("{dir} ({})", phases.join(", "))),
    }
}

fn left_out(dir: &Path) -> Finding {
    NO_RECORDING.tell(None, &format!("{} was left out: it is no recording, since it has no plan.json.", dir.display()))
}
