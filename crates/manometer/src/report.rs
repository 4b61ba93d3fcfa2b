//! `manometer report`: an HTML page of recordings.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use manometer_analysis::compare::{self, Conditions};
use manometer_analysis::summary::Summary;
use manometer_measure::event::Finding;
use manometer_measure::recording;
use manometer_measure::{Recording, RecordingError};
use manometer_report::AnalysedRecording;
use serde_json::{Value, json};

use crate::format::{self, Format};
use crate::{WRONG_REQUEST, table};

/// The file name of the report in the recording's folder.
pub const FILE: &str = "report.html";

/// Analyse recordings and write a report: one HTML file that needs no network.
///
/// Also writes each recording's `summary.json` anew.
#[derive(Args)]
#[command(after_help = "Examples:\n  manometer report manometer-runs/a-recording\n  \
    manometer report runs/001 runs/002 --out both.html\n  \
    manometer report manometer-runs/a-sweep   # all its runs")]
pub struct ReportArgs {
    /// Recordings, or folders of recordings from a sweep or an import.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// The report's file [default: `report.html` in the first recording].
    #[arg(long)]
    out: Option<PathBuf>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Writes the report and prints the summaries.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let recorded = match read_all(&args.recordings) {
        Ok(recorded) => recorded,
        Err(error) => {
            format::problem(&error);
            return Ok(ExitCode::from(WRONG_REQUEST));
        }
    };
    for one in &recorded {
        let dir = &one.recording.dir;
        // A recording may be read-only; with `--out` the report is written nevertheless.
        match write_summary(dir, &one.summary) {
            Err(error) if args.out.is_some() => format::note(&format!("cannot write summary.json: {error}")),
            result => result?,
        }
    }
    let page = args.out.clone().unwrap_or_else(|| args.recordings[0].join(FILE));
    write_page(&page, &recorded)?;
    if args.format == Format::Json {
        return match recorded.as_slice() {
            [one] => format::json(&one.summary),
            many => format::json(&runs_document(many, &common_findings(many))),
        }
        .map(|()| ExitCode::SUCCESS);
    }
    for one in &recorded {
        format::text(&table::summary(&one.summary))?;
    }
    let findings = table::findings(&common_findings(&recorded));
    format::text(&format!("{findings}\nReport: {}", page.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the recordings in `paths`, which may be folders of recordings.
fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<AnalysedRecording>> {
    let mut recorded = Vec::new();
    for path in paths {
        // Where there is none, reading the folder gives the reason.
        let (dirs, skipped) = compare::recordings_in(path).unwrap_or_else(|_| (vec![path.clone()], Vec::new()));
        for dir in &skipped {
            format::note(&format!("{} is not a recording: skipped", dir.display()));
        }
        for dir in dirs {
            recorded.push(read(&dir)?);
        }
    }
    Ok(recorded)
}

/// Analyses the recording in `dir`, writes `summary.json` and the report beside it.
pub fn summarise_and_write(dir: &Path) -> anyhow::Result<AnalysedRecording> {
    let recorded = read(dir)?;
    write_summary(dir, &recorded.summary)?;
    write_page(&dir.join(FILE), std::slice::from_ref(&recorded))?;
    Ok(recorded)
}

/// Reads and analyses the recording in `dir`.
pub fn read(dir: &Path) -> Result<AnalysedRecording, RecordingError> {
    let recording = Recording::open(dir)?;
    let summary = manometer_analysis::summarise(&recording);
    let settings = recording.plan.sweep.clone();
    Ok(AnalysedRecording { recording, summary, settings })
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
    json!({ "runs": recorded.iter().zip(repeats).map(run).collect::<Vec<_>>(), "findings": findings })
}

/// The findings of several runs together: conditions that differ, and a drift of the reference run.
pub fn common_findings(recorded: &[AnalysedRecording]) -> Vec<Finding> {
    let conditions: Vec<Conditions> = recorded.iter().map(|one| Conditions::of(&one.recording)).collect();
    let mut findings =
        compare::condition_differences(recorded.iter().map(|one| one.recording.dir.as_path()).zip(&conditions));
    findings.extend(compare::reference_drift(&recordings(recorded)));
    findings
}

fn recordings(recorded: &[AnalysedRecording]) -> Vec<&Recording> {
    recorded.iter().map(|one| &one.recording).collect()
}

fn write_summary(dir: &Path, summary: &Summary) -> anyhow::Result<()> {
    let path = dir.join("summary.json");
    let text = serde_json::to_string_pretty(summary)?;
    Ok(recording::write_file(&path, (text + "\n").as_bytes())?)
}

/// Writes one page over all of `recorded` to `path`.
pub fn write_page(path: &Path, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let page = manometer_report::page(recorded, folder)?;
    Ok(recording::write_file(path, page.as_bytes())?)
}
