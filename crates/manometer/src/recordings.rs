//! Recordings read, analysed, and written as summaries and pages.

use std::path::Path;

use anyhow::Context as _;
use manometer_analysis::compare;
use manometer_analysis::runs_verdict::{RunWithSummary, RunsVerdict, judge_runs, run_labels};
use manometer_analysis::summary::RunSummary;
use manometer_measure::Recording;
use manometer_measure::directory::{Directory, remove_directory, remove_file};
use manometer_measure::event::Finding;
use manometer_measure::recording;
use manometer_report::{AnalysedRecording, RUNS_MAX, RunPages, stale_pages};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde_json::{Value, json};

/// The file name of the report in the recording's folder.
pub const FILE: &str = "report.html";

/// Analyses the recording in `dir`, writes `summary.json` and the report into it.
pub fn summarise_and_write(dir: &Path) -> anyhow::Result<AnalysedRecording> {
    let recorded = AnalysedRecording::open(dir)?;
    write_summary(dir, &recorded.summary)?;
    write_page(&dir.join(FILE), std::slice::from_ref(&recorded))?;
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

pub fn write_summary(dir: &Path, summary: &RunSummary) -> anyhow::Result<()> {
    let path = dir.join("summary.json");
    let text = serde_json::to_string_pretty(summary)?;
    Ok(recording::write_file(&path, (text + "\n").as_bytes())?)
}

/// Writes the report over `recorded` to `path`: one page, or of many an overview with the pages of the runs beside it. Pages
/// of runs that an earlier report wrote there and this one has not are removed.
pub fn write_page(path: &Path, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    let pages = if recorded.len() > RUNS_MAX { recorded.len() } else { 0 };
    match pages {
        0 => write_one_page(path, recorded)?,
        _ => write_pages(&RunPages::new(recorded, path), path, pages)?,
    }
    for stale in stale_pages(path, pages)? {
        remove_file(&stale).with_context(|| stale.display().to_string())?;
        // Only an empty folder goes.
        let _ = stale.parent().map(remove_directory);
    }
    Ok(())
}

fn write_one_page(path: &Path, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let page = manometer_report::page(recorded, folder)?;
    Ok(recording::write_file(path, page.as_bytes())?)
}

fn write_pages(pages: &RunPages<'_>, path: &Path, runs: usize) -> anyhow::Result<()> {
    let folder = pages.folder();
    Directory::create(&folder).with_context(|| folder.display().to_string())?;
    // Each page is written before the next is made: all of them together are large.
    (0..runs).into_par_iter().try_for_each(|run| -> anyhow::Result<()> {
        Ok(recording::write_file(&pages.file(run), pages.run(run)?.as_bytes())?)
    })?;
    Ok(recording::write_file(path, pages.overview()?.as_bytes())?)
}
