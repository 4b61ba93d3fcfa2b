//! The verdict beside the result: what the result may be used for, at most three caveats, and what to do next.

use std::fmt::Write as _;

use manometer_analysis::rules;
use manometer_analysis::summary::RunSummary;
use manometer_analysis::verdict::{GoalResult, Grade, Reason, Verdict};
use manometer_measure::event::Finding;

use super::findings::anchor;
use super::html::escape;
use crate::text;

/// Caveats on the first screen; the findings have all.
const MAX_CAVEATS: usize = 3;
/// Remedies that are shown as what to do next.
const MAX_REMEDIES: usize = 2;

/// The verdict on run `number`, its caveats with links to `findings`, and what to do next.
pub(super) fn of_run(summary: &RunSummary, findings: &[Finding], number: usize) -> String {
    let verdict = &summary.verdict;
    let link = |reason: &Reason| {
        let same = |finding: &&Finding| finding.id == reason.id && finding.text == reason.text;
        let place = findings.iter().position(|finding| same(&finding));
        place.or_else(|| findings.iter().position(|finding| finding.id == reason.id)).map(|at| anchor(number, at))
    };
    let mut html = grade(verdict);
    html.push_str(&summary.goal.as_ref().map(goal).unwrap_or_default());
    let shown = verdict.reasons.len().min(MAX_CAVEATS);
    html.push_str(&caveats(&verdict.reasons[..shown], link));
    let more = findings.len().saturating_sub(shown);
    if more > 0 {
        let more = text::counted(more as u64, "more finding");
        _ = writeln!(html, "<p class=\"more\"><a href=\"#findings-{number}\">{more}</a></p>");
    }
    let needed = summary
        .longest_needed()
        .map(|(phase, needed)| format!("{}; {} needs most.", text::capitalised(&needed.reason), escape(phase)));
    html + &next(verdict, needed)
}

/// The verdict on several runs. Its reasons are in no other place of the page: all of them, behind a click.
pub(super) fn of_runs(verdict: &Verdict) -> String {
    let shown = verdict.reasons.len().min(MAX_CAVEATS);
    let mut html = grade(verdict) + &caveats(&verdict.reasons[..shown], |_| None) + &next(verdict, None);
    if !verdict.reasons.is_empty() {
        let all = text::counted(verdict.reasons.len() as u64, "caveat");
        _ = writeln!(html, "<details><summary>{all} in full</summary>{}</details>", list(&verdict.reasons));
    }
    html
}

fn class(grade: Grade) -> &'static str {
    match grade {
        Grade::Sound => "sound",
        Grade::Indicative => "warning",
        Grade::Void => "error",
    }
}

fn grade(verdict: &Verdict) -> String {
    format!(
        "<p class=\"notice verdict {}\"><strong>{}</strong>: {}.</p>\n",
        class(verdict.grade),
        verdict.title(),
        verdict.meaning()
    )
}

/// What happened, in a line each; `link` leads to the finding.
fn caveats(reasons: &[Reason], link: impl Fn(&Reason) -> Option<String>) -> String {
    if reasons.is_empty() {
        return String::new();
    }
    let mut html = String::from("<ol class=\"caveats\">\n");
    for reason in reasons {
        let clause = text::capitalised(&reason.clause_with_phases());
        let clause = escape(without_list(&clause));
        _ = match link(reason) {
            Some(anchor) => writeln!(html, "<li><a href=\"#{anchor}\">{clause}</a>.</li>"),
            None => writeln!(html, "<li>{clause}.</li>"),
        };
    }
    html + "</ol>\n"
}

/// A long clause without the list in brackets that ends it: the names of runs, which stand below in full.
fn without_list(clause: &str) -> &str {
    const LONG: usize = 160;
    if clause.len() > LONG { clause.split(" (").next().unwrap_or(clause) } else { clause }
}

/// What to do next: the remedies of the gravest reasons and the length that phases `need`; else the next step.
fn next(verdict: &Verdict, needed: Option<String>) -> String {
    let mut steps: Vec<String> = Vec::new();
    for reason in verdict.reasons.iter().filter(|reason| reason.allows > Grade::Sound) {
        let remedy = rules::of_id(&reason.id).map_or("", |rule| rule.remedy);
        if !remedy.is_empty() && !steps.iter().any(|step| step == remedy) {
            steps.push(remedy.to_owned());
        }
    }
    steps.truncate(MAX_REMEDIES);
    steps.extend(needed);
    if steps.is_empty() {
        let next = match verdict.grade {
            Grade::Sound => "Vary one setting, measure again, and compare both recordings: manometer compare A B.",
            Grade::Indicative | Grade::Void => "Do what the findings say, and measure again.",
        };
        steps.push(next.to_owned());
    }
    let steps: String = steps.iter().map(|step| format!("<li>{step}</li>\n")).collect();
    format!("<div class=\"next\"><h3>What to do next</h3>\n<ul>{steps}</ul></div>\n")
}

/// Whether the goal is met.
fn goal(goal: &GoalResult) -> String {
    let limit = format!("a pressure of at most {:.2} in every phase", goal.pressure);
    let (class, text) = match goal.met {
        Some(true) => ("sound", format!("<strong>Goal met</strong>: {limit}.")),
        Some(false) => {
            let missed = goal.phases.iter().filter(|phase| phase.met == Some(false)).map(|phase| phase.id.as_str());
            let missed = missed.collect::<Vec<_>>().join(", ");
            ("error", format!("<strong>Goal missed</strong>: {limit}; above it: {}.", escape(&missed)))
        }
        None => {
            let reason = goal.reason.as_deref().unwrap_or("no phase decides it");
            ("warning", format!("<strong>Goal undecided</strong>: {limit}. {}.", escape(reason)))
        }
    };
    format!("<p class=\"notice {class}\">{text}</p>\n")
}

fn list(reasons: &[Reason]) -> String {
    let mut html = String::from("<ol class=\"findings\">\n");
    for reason in reasons {
        _ = writeln!(
            html,
            "<li class=\"{}\">{} <code>{}</code></li>",
            class(reason.allows),
            escape(&reason.text),
            escape(&reason.id)
        );
    }
    html + "</ol>\n"
}
