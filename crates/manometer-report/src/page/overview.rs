//! Several recordings on one page: what they say together, and what each is about.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use manometer_analysis::compare;
use manometer_analysis::runs_verdict::{RunsVerdict, judge_runs};
use manometer_analysis::summary::{PhaseSummary, RunSummary};
use manometer_analysis::verdict::Conclusion;
use manometer_measure::Recording;

use super::html::{escape, heading};
use super::run_status::describe_status;
use crate::{AnalysedRecording, text};

/// The headline and the verdict of all of them.
pub(super) fn head(recordings: &[AnalysedRecording]) -> String {
    let together: Vec<&Recording> = recordings.iter().map(|recorded| &recorded.recording).collect();
    let judged: Vec<_> = recordings.iter().map(AnalysedRecording::judged).collect();
    let findings = compare::common_findings(&together);
    let RunsVerdict { headline, verdict } = judge_runs(&judged, &findings);
    let (first, rest) = first_part(&headline);
    let whole = rest.map(|_| format!("<details><summary>The whole sentence</summary>{}</details>", escape(&headline)));
    format!(
        "<header class=\"run\"><h1>{}</h1>\n{}<p class=\"facts\"><span>{}</span></p>\n<div class=\"reading\">\n{}</div>\
         </header>\n",
        heading(first),
        whole.unwrap_or_default(),
        escape(&title(recordings)),
        super::verdict::of_runs(&verdict)
    )
}

/// A headline up to its first semicolon and what follows, where the whole is too long for a heading.
fn first_part(headline: &str) -> (&str, Option<&str>) {
    const LONG: usize = 320;
    match headline.split_once("; ") {
        Some((first, rest)) if headline.len() > LONG => (first, Some(rest)),
        _ => (headline, None),
    }
}

fn title(recordings: &[AnalysedRecording]) -> String {
    let experiments: BTreeSet<&str> = recordings.iter().map(|recorded| recorded.summary.experiment.as_str()).collect();
    let phases: usize = recordings.iter().map(|recorded| recorded.summary.phases.len()).sum();
    const MAX_NAMED: usize = 3;
    let of = match experiments.len() {
        count if count > MAX_NAMED => format!("{count} experiments"),
        _ => experiments.into_iter().collect::<Vec<_>>().join(", "),
    };
    format!("{} runs of {of}, {} phases", recordings.len(), text::count(phases as u64))
}

const COLUMNS: [&str; 5] = ["Run", "Headline", "Pressure", "Verdict", "Ended"];

/// A cell: its text as markup, and what it is sorted by.
type Cell = (String, String);

/// The table of all runs, under their `names` and with their `links`, to be filtered and sorted.
pub(super) fn table(recordings: &[AnalysedRecording], names: &[String], links: &[String]) -> String {
    let mut html = String::from(
        "<section><h2 id=\"runs\">All runs</h2>\n<p class=\"filter\" hidden><label>Filter <input type=\"search\" \
         placeholder=\"words in any order\" aria-controls=\"runs-table\"></label> <output></output></p>\n\
         <div class=\"box\"><table role=\"table\" id=\"runs-table\">\n<thead role=\"rowgroup\"><tr role=\"row\">",
    );
    for column in COLUMNS {
        _ = write!(html, "<th role=\"columnheader\" scope=\"col\" aria-sort=\"none\"><span>{column}</span></th>");
    }
    html.push_str("</tr></thead>\n<tbody role=\"rowgroup\">\n");
    for (index, recorded) in recordings.iter().enumerate() {
        _ = write!(
            html,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" data-sort=\"{index}\"><a href=\"{}\">Run \
             {}</a><small>{}</small></th>",
            escape(&links[index]),
            index + 1,
            escape(&names[index])
        );
        for (column, (cell, key)) in COLUMNS[1..].iter().zip(cells(&recorded.summary)) {
            _ = write!(
                html,
                "<td role=\"cell\" data-column=\"{column}\" data-sort=\"{}\"><div>{cell}</div></td>",
                escape(&key)
            );
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div></section>\n"
}

fn cells(summary: &RunSummary) -> [Cell; COLUMNS.len() - 1] {
    let phase = judged_phase(summary);
    let value = phase.and_then(|phase| phase.pressure.value);
    let grade = summary.verdict.grade;
    let plain = |text: String| (escape(&text), text);
    [
        plain(summary.headline.clone()),
        (phase.map_or_else(String::new, pressure), value.map_or_else(String::new, |value| value.to_string())),
        (text::capitalised(grade.name()), (grade as u8).to_string()),
        plain(describe_status(&summary.status)),
    ]
}

/// The phase that the headline is about, if that is one with a pressure: never one from which nothing can be concluded.
fn judged_phase(summary: &RunSummary) -> Option<&PhaseSummary> {
    let id = summary.claim_phase.as_ref().filter(|_| summary.verdict.about == Conclusion::Pressure)?;
    summary.phases.iter().find(|phase| phase.id == *id)
}

fn pressure(phase: &PhaseSummary) -> String {
    let pressure = &phase.pressure;
    let Some(value) = pressure.value else { return text::NOT_MEASURED.to_owned() };
    let interval = match (pressure.ci_low, pressure.ci_high) {
        (Some(low), Some(high)) => format!("95 % interval {} to {}", text::pressure(low), text::pressure(high)),
        _ => "no interval".to_owned(),
    };
    let phase = escape(&format!("{} {}", phase.id, phase.label));
    format!("<b>{}</b><small>{interval} · {phase}</small>", text::pressure(value))
}
