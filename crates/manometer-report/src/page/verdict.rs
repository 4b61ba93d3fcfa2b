//! The verdict, before the numbers: what the result may be used for, and why.

use std::fmt::Write as _;

use manometer_analysis::verdict::{GoalResult, Grade, Reason, Verdict};

use super::html::escape;

/// Reasons that are shown at once.
const AT_ONCE: usize = 3;

/// The grade with its reasons: those that decide at once, the others behind a click.
pub(super) fn section(verdict: &Verdict) -> String {
    let class = match verdict.grade {
        Grade::Sound => "sound",
        Grade::Indicative => "warning",
        Grade::Void => "error",
    };
    let (first, others) = verdict.reasons.split_at(verdict.reasons.len().min(AT_ONCE));
    let mut html = format!(
        "<div class=\"notice {class}\"><p class=\"verdict\"><strong>{}</strong>: {}.</p>{}",
        verdict.title(),
        verdict.meaning(),
        list(first)
    );
    if !others.is_empty() {
        _ = write!(html, "<details><summary>{} more</summary>{}</details>", others.len(), list(others));
    }
    html + "</div>\n"
}

/// Whether the goal is met.
pub(super) fn goal(goal: &GoalResult) -> String {
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
    if reasons.is_empty() {
        return String::new();
    }
    let mut html = String::from("<ol class=\"findings\">\n");
    for reason in reasons {
        let class = match reason.allows {
            Grade::Sound => "info",
            Grade::Indicative => "warning",
            Grade::Void => "error",
        };
        let phases = reason.phases.iter().map(|phase| format!("<span class=\"phase\">{}</span> ", escape(phase)));
        _ = writeln!(
            html,
            "<li class=\"{class}\">{}{} <code>{}</code></li>",
            phases.collect::<String>(),
            escape(&reason.text),
            escape(&reason.id)
        );
    }
    html + "</ol>\n"
}
