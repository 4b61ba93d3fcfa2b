//! Recordings read, analysed, and written as summaries and pages.

use std::path::Path;

use anyhow::Context as _;
use manometer_analysis::compare;
use manometer_analysis::runs_verdict::{RunWithSummary, RunsVerdict, judge_runs, run_labels};
use manometer_measure::event::Finding;
use manometer_measure::{Directory, Recording};
use manometer_report::{AnalysedRecording, RUNS_MAX, RunPages, stale_pages};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde_json::{Value, json};

/// The file name of the report in the recording's folder.
pub const FILE: &str = "report.html";

/// The file name of the summary in the recording's folder.
pub const SUMMARY: &str = "summary.json";

/// Analyses `recording`, writes `summary.json` and the report into it.
pub fn summarise_and_write(recording: Recording) -> anyhow::Result<AnalysedRecording> {
    let recorded = AnalysedRecording::of(recording);
    write_summary(&recorded)?;
    let dir = &recorded.recording.dir;
    let files = recorded.recording.files().with_context(|| dir.display().to_string())?;
    write_page(&files, FILE.as_ref(), std::slice::from_ref(&recorded))?;
    Ok(recorded)
}

/// The JSON document of several runs; `findings` are those of all together.
pub fn runs_document(recorded: &[AnalysedRecording], findings: &[Finding]) -> Value {
    let repeats = compare::repeat_numbers(&recordings(recorded));
    let run = |(recorded, repeat): (&AnalysedRecording, u32)| {
        let AnalysedRecording { recording, settings, summary } = recorded;
        let reference = recording.plan.reference;
        json!({
            "dir": recording.dir, "settings": settings, "reference": reference, "repeat": repeat, "summary": summary,
        })
    };
    let RunsVerdict { headline, verdict } = runs_verdict(recorded, findings);
    json!({
        "headline": headline,
        "verdict": verdict,
        "runs": recorded.iter().zip(repeats).map(run).collect::<Vec<_>>(),
        "findings": findings,
    })
}

/// The summary of each of several runs under its name.
pub fn labelled_summaries(recorded: &[AnalysedRecording]) -> String {
    let runs: Vec<RunWithSummary<'_>> = recorded.iter().map(AnalysedRecording::judged).collect();
    let labelled = recorded.iter().zip(run_labels(&runs));
    let texts = labelled.map(|(one, label)| {
        let dir = one.recording.dir.display();
        format!("\n{label} ({dir}):{}\n", crate::text::summary(&one.summary))
    });
    texts.collect()
}

/// The headline and the verdict of several runs as text, after a line break; `findings` are those of all together.
pub fn runs_text(recorded: &[AnalysedRecording], findings: &[Finding]) -> String {
    let RunsVerdict { headline, verdict } = runs_verdict(recorded, findings);
    format!("\nAll {} runs: {headline}{}", recorded.len(), crate::text::verdict(&verdict, findings))
}

fn runs_verdict(recorded: &[AnalysedRecording], findings: &[Finding]) -> RunsVerdict {
    let runs: Vec<RunWithSummary<'_>> = recorded.iter().map(AnalysedRecording::judged).collect();
    judge_runs(&runs, findings)
}

/// The findings of several runs together: conditions that differ, and a drift of the reference run.
pub fn common_findings(recorded: &[AnalysedRecording]) -> Vec<Finding> {
    compare::common_findings(&recordings(recorded))
}

fn recordings(recorded: &[AnalysedRecording]) -> Vec<&Recording> {
    recorded.iter().map(|one| &one.recording).collect()
}

/// Writes `summary.json` into the recording.
pub fn write_summary(recorded: &AnalysedRecording) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&recorded.summary)? + "\n";
    let written = recorded.recording.files().and_then(|files| files.replace(SUMMARY, text.as_bytes()));
    written.with_context(|| recorded.recording.dir.join(SUMMARY).display().to_string())
}

/// As [`write_page`], to the file `path`, which its user has named.
pub fn write_page_to(path: &Path, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    let (directory, name) = Directory::holding(path).with_context(|| path.display().to_string())?;
    write_page(&directory, name.as_ref(), recorded)
}

/// Writes the report over `recorded` to the file `name` in `directory`: one page, or of many an overview with the pages of the
/// runs beside it. Pages of runs that an earlier report wrote there and this one has not are removed.
pub fn write_page(directory: &Directory, name: &Path, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    let path = directory.path().join(name);
    let write = |file: &Path, page: String| {
        let written = directory.replace(file, page.as_bytes());
        written.with_context(|| directory.path().join(file).display().to_string())
    };
    let runs = if recorded.len() > RUNS_MAX { recorded.len() } else { 0 };
    if runs == 0 {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        write(name, manometer_report::page(recorded, folder)?)?;
    } else {
        let pages = RunPages::new(recorded, &path);
        directory
            .ensure_directory(pages.folder())
            .with_context(|| path.with_file_name(pages.folder()).display().to_string())?;
        // Each page is written before the next is made: all of them together are large.
        (0..runs).into_par_iter().try_for_each(|run| write(&pages.file(run), pages.run(run)?))?;
        write(name, pages.overview()?)?;
    }
    for stale in stale_pages(directory, name, runs)? {
        directory.remove_file(&stale).with_context(|| directory.path().join(&stale).display().to_string())?;
        // Only an empty folder goes.
        let _ = stale.parent().map(|folder| directory.remove_directory(folder));
    }
    Ok(())
}
