//! What a reader must know: warnings and errors near the top, all findings further down.

use std::fmt::Write as _;

use manometer_analysis::findings::damaged;
use manometer_analysis::summary::Summary;
use manometer_measure::Severity;
use manometer_measure::event::Finding;

use super::html::escape;
use super::run_status::{describe_status, is_complete};
use crate::recording_reader::RecordingReader;
use crate::text;

/// Findings near the top that are shown at once.
const AT_ONCE: usize = 5;

/// The analysis' findings, and what the page itself found while it read the recording; the gravest first.
pub(super) fn collect(reader: &RecordingReader) -> Vec<Finding> {
    // Series that no chart draws are read too: their damage is a finding as well.
    for series in reader.recording.series() {
        reader.samples(&series);
    }
    let mut findings = reader.summary.findings.clone();
    let damage = reader.recording.damage.iter().cloned().chain(reader.unreadable());
    let is_new = |text: &String| !reader.summary.findings.iter().any(|finding| finding.text.contains(text));
    findings.extend(damaged(&damage.filter(is_new).collect::<Vec<_>>()));
    // A client at its limit makes every other number doubtful: that comes first.
    findings.sort_by_key(|finding| (finding.id != "client-bottleneck", std::cmp::Reverse(finding.severity)));
    findings
}

/// What must be read before the numbers: that the run is incomplete, its errors and warnings.
pub(super) fn notices(summary: &Summary, findings: &[Finding]) -> String {
    let grave: Vec<&Finding> = findings.iter().filter(|finding| finding.severity > Severity::Info).collect();
    let mut html = String::new();
    if !is_complete(summary) {
        _ = writeln!(
            html,
            "<p class=\"notice error\"><strong>This run is incomplete</strong>: {}. The page shows what it measured, \
             and gaps for the rest.</p>",
            escape(&describe_status(&summary.status))
        );
    }
    if grave.is_empty() {
        return html;
    }
    let errors = grave.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = grave.len() - errors;
    let counts = [(errors, "error"), (warnings, "warning")];
    let words: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| text::counted(*count as u64, what)).collect();
    let class = if errors > 0 { "error" } else { "warning" };
    _ = writeln!(
        html,
        "<details class=\"notice {class}\" open><summary>{} before you trust the numbers</summary>{}</details>",
        words.join(" and "),
        folded(&grave)
    );
    html
}

/// The first findings, the others behind a click.
fn folded(findings: &[&Finding]) -> String {
    let (first, others) = findings.split_at(findings.len().min(AT_ONCE));
    match others {
        [] => list(first),
        _ => format!("{}<details><summary>{} more</summary>{}</details>", list(first), others.len(), list(others)),
    }
}

pub(super) fn section(findings: &[Finding], level: usize) -> String {
    let all: Vec<&Finding> = findings.iter().collect();
    let list = if all.is_empty() { "<p>Nothing out of the ordinary.</p>\n".to_owned() } else { list(&all) };
    format!("<section><h{level}>Findings</h{level}>\n{list}</section>\n")
}

fn list(findings: &[&Finding]) -> String {
    let mut html = String::from("<ul class=\"findings\">\n");
    for finding in findings {
        let (class, word) = match finding.severity {
            Severity::Info => ("info", "Note"),
            Severity::Warning => ("warning", "Warning"),
            Severity::Error => ("error", "Error"),
        };
        let phase = finding.phase.as_deref().map(|phase| format!(" <span class=\"phase\">{}</span>", escape(phase)));
        _ = writeln!(
            html,
            "<li class=\"{class}\"><span class=\"severity\">{word}</span>{} {} <code>{}</code></li>",
            phase.unwrap_or_default(),
            escape(&finding.text),
            escape(&finding.id)
        );
    }
    html.push_str("</ul>\n");
    html
}
