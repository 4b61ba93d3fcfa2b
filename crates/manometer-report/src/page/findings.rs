//! What a reader must know: that a run is incomplete near the top, all findings further down.

use std::fmt::Write as _;

use manometer_analysis::findings::{damaged, sort_by_threat};
use manometer_analysis::summary::RunSummary;
use manometer_measure::Severity;
use manometer_measure::event::Finding;

use super::html::escape;
use super::run_status::{describe_status, is_complete};
use crate::recording_reader::RecordingReader;

/// The analysis' findings, and what the page itself found while it read the recording; the gravest first.
pub(super) fn collect(reader: &RecordingReader) -> Vec<Finding> {
    // Series that no chart draws are read too: their damage is a finding as well.
    for series in reader.recording.series() {
        reader.check(&series);
    }
    let mut findings = reader.summary.findings.clone();
    let damage = reader.recording.damage.iter().cloned().chain(reader.unreadable());
    let is_new = |text: &String| !reader.summary.findings.iter().any(|finding| finding.text.contains(text));
    findings.extend(damaged(&damage.filter(is_new).collect::<Vec<_>>()));
    sort_by_threat(&mut findings);
    findings
}

/// That the run is incomplete, which must be read before the numbers.
pub(super) fn notices(summary: &RunSummary) -> String {
    if is_complete(summary) {
        return String::new();
    }
    format!(
        "<p class=\"notice error\"><strong>This run is incomplete</strong>: {}. The page shows what it measured, and gaps for \
         the rest.</p>\n",
        escape(&describe_status(&summary.status))
    )
}

/// The anchor of the finding at `place` of run `number`.
pub(super) fn anchor(number: usize, place: usize) -> String {
    format!("finding-{number}-{}", place + 1)
}

/// All findings of run `number`.
pub(super) fn list(findings: &[Finding], number: usize) -> String {
    if findings.is_empty() {
        return "<p>Nothing out of the ordinary.</p>\n".to_owned();
    }
    let mut html = String::from("<ul class=\"findings\">\n");
    for (place, finding) in findings.iter().enumerate() {
        let (class, word) = match finding.severity {
            Severity::Info => ("info", "Note"),
            Severity::Warning => ("warning", "Warning"),
            Severity::Error => ("error", "Error"),
        };
        let phases = finding.phase_ids().map(|phase| format!(" <span class=\"phase\">{}</span>", escape(phase)));
        _ = writeln!(
            html,
            "<li class=\"{class}\" id=\"{}\"><span class=\"severity\">{word}</span>{} {} <code>{}</code></li>",
            anchor(number, place),
            phases.collect::<String>(),
            escape(&finding.text),
            escape(&finding.id)
        );
    }
    html.push_str("</ul>\n");
    html
}
