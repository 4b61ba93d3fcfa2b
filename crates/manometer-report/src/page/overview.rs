//! Several recordings on one page: what each is about, before each is shown in full.

use std::fmt::Write as _;

use manometer_analysis::compare;
use manometer_analysis::runs_verdict::{RunsVerdict, judge_runs};
use manometer_analysis::summary::{PhaseSummary, RunSummary};
use manometer_analysis::verdict::Conclusion;
use manometer_measure::Recording;

use super::html::escape;
use super::run_status::describe_status;
use crate::run_names::names;
use crate::{AnalysedRecording, text};

pub(super) fn section(recordings: &[AnalysedRecording]) -> String {
    let together: Vec<&Recording> = recordings.iter().map(|recorded| &recorded.recording).collect();
    let judged: Vec<_> = recordings.iter().map(AnalysedRecording::judged).collect();
    let findings = compare::common_findings(&together);
    let RunsVerdict { headline, verdict } = judge_runs(&judged, &findings);
    let mut html = format!(
        "<header class=\"run\"><h1>{}</h1>\n<p class=\"facts\"><span>{}</span></p></header>\n{}",
        escape(&headline),
        escape(&title(recordings)),
        super::verdict::section(&verdict)
    );
    html.push_str(
        "<section><h2>All runs</h2>\n<div class=\"box\"><table role=\"table\">\n<thead role=\"rowgroup\"><tr \
         role=\"row\"><th role=\"columnheader\" scope=\"col\">Run</th><th role=\"columnheader\" \
         scope=\"col\">Headline</th><th role=\"columnheader\" scope=\"col\">Pressure</th><th \
         role=\"columnheader\" scope=\"col\">Ended</th></tr></thead>\n<tbody role=\"rowgroup\">\n",
    );
    for (index, (recorded, name)) in recordings.iter().zip(names(recordings)).enumerate() {
        html.push_str(&row(index + 1, recorded, &name));
    }
    html.push_str("</tbody></table></div></section>\n");
    html
}

fn title(recordings: &[AnalysedRecording]) -> String {
    let mut experiments: Vec<&str> = recordings.iter().map(|recorded| recorded.summary.experiment.as_str()).collect();
    experiments.dedup();
    format!("{} runs of {}", recordings.len(), experiments.join(", "))
}

fn row(number: usize, recorded: &AnalysedRecording, name: &str) -> String {
    let summary = &recorded.summary;
    let mut html = String::from("<tr role=\"row\">");
    _ = write!(
        html,
        "<th role=\"rowheader\" scope=\"row\"><a href=\"#run-{number}\">Run {number}</a><small>{}</small></th>",
        escape(name)
    );
    let cells = [
        ("Headline", escape(&summary.headline)),
        ("Pressure", judged_phase(summary).map_or_else(String::new, pressure)),
        ("Ended", escape(&describe_status(&summary.status))),
    ];
    for (column, cell) in cells {
        _ = write!(html, "<td role=\"cell\" data-column=\"{column}\"><div>{cell}</div></td>");
    }
    html.push_str("</tr>\n");
    html
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
