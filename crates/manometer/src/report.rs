//! `manometer report`: recordings become a page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use manometer_analysis::compare::{self, Conditions};
use manometer_analysis::summary::Summary;
use manometer_measure::event::Finding;
use manometer_measure::recording;
use manometer_measure::{Recording, RecordingError};
use manometer_report::Recorded;
use serde_json::{Value, json};

use crate::format::{self, Format};
use crate::{WRONG_REQUEST, table};

/// The report's name in the recording's folder.
pub const FILE: &str = "report.html";

/// Analyse a recording anew and write its report: one HTML file that opens anywhere.
#[derive(Args)]
#[command(after_help = "Examples:\n  manometer report manometer-runs/a-recording\n  \
    manometer report runs/001 runs/002 --out both.html\n  \
    manometer report manometer-runs/a-sweep   # all of its runs")]
pub struct Arguments {
    /// Folders of recordings, or of runs as a sweep or an import leaves them.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// The page's file; `report.html` in the first recording unless said.
    #[arg(long)]
    out: Option<PathBuf>,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Writes the page and prints what it says.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let recorded = match read_all(&arguments.recordings) {
        Ok(recorded) => recorded,
        Err(error) => {
            format::problem(&error);
            return Ok(ExitCode::from(WRONG_REQUEST));
        }
    };
    for one in &recorded {
        let dir = &one.recording.dir;
        // Somebody else's recording may be read-only; with a page of its own elsewhere, that is no failure.
        match write_summary(dir, &one.summary) {
            Err(error) if arguments.out.is_some() => format::note(&format!("summary.json was not written: {error}")),
            outcome => outcome?,
        }
    }
    let page = arguments.out.clone().unwrap_or_else(|| arguments.recordings[0].join(FILE));
    write_page(&page, &recorded)?;
    if arguments.format == Format::Json {
        return match recorded.as_slice() {
            [one] => format::json(&one.summary),
            many => format::json(&runs_document(many, &across(many))),
        }
        .map(|()| ExitCode::SUCCESS);
    }
    for one in &recorded {
        format::text(&table::summary(&one.summary))?;
    }
    let across = table::findings(&across(&recorded));
    format::text(&format!("{across}\nReport: {}", page.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads what `paths` name, folders of runs too.
fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<Recorded>> {
    let mut recorded = Vec::new();
    for path in paths {
        // Of what holds none, reading tells what is missing.
        let (dirs, skipped) = compare::recordings_in(path).unwrap_or_else(|_| (vec![path.clone()], Vec::new()));
        for dir in &skipped {
            format::note(&format!("{} is no recording: it is left out", dir.display()));
        }
        for dir in dirs {
            recorded.push(read(&dir)?);
        }
    }
    Ok(recorded)
}

/// Analyses the recording in `dir`, writes `summary.json` and the report beside it.
pub fn summarise_and_write(dir: &Path) -> anyhow::Result<Recorded> {
    let recorded = read(dir)?;
    write_summary(dir, &recorded.summary)?;
    write_page(&dir.join(FILE), std::slice::from_ref(&recorded))?;
    Ok(recorded)
}

/// Reads and analyses the recording in `dir`.
pub fn read(dir: &Path) -> Result<Recorded, RecordingError> {
    let recording = Recording::open(dir)?;
    let summary = manometer_analysis::summarise(&recording);
    let settings = recording.plan.sweep.clone();
    Ok(Recorded { recording, summary, settings })
}

/// The machine form of several runs; `findings` are those over all of them.
pub fn runs_document(recorded: &[Recorded], findings: &[Finding]) -> Value {
    let repeats = compare::repeats(&recordings(recorded));
    let one = |(one, repeat): (&Recorded, u32)| {
        let Recorded { recording, settings, summary } = one;
        let reference = recording.plan.reference;
        json!({
            "dir": recording.dir, "settings": settings, "reference": reference, "repeat": repeat, "summary": summary,
        })
    };
    json!({ "runs": recorded.iter().zip(repeats).map(one).collect::<Vec<_>>(), "findings": findings })
}

/// What a reader of several runs together must know: what should be the same in all of them and is not, a sweep's
/// reference among it.
pub fn across(recorded: &[Recorded]) -> Vec<Finding> {
    let conditions: Vec<Conditions> = recorded.iter().map(|one| Conditions::of(&one.recording)).collect();
    let mut findings = compare::unlike(recorded.iter().map(|one| one.recording.dir.as_path()).zip(&conditions));
    findings.extend(compare::reference_drift(&recordings(recorded)));
    findings
}

fn recordings(recorded: &[Recorded]) -> Vec<&Recording> {
    recorded.iter().map(|one| &one.recording).collect()
}

fn write_summary(dir: &Path, summary: &Summary) -> anyhow::Result<()> {
    let path = dir.join("summary.json");
    let text = serde_json::to_string_pretty(summary)?;
    Ok(recording::write_file(&path, (text + "\n").as_bytes())?)
}

/// Writes one page over all of `recorded` to `path`.
pub fn write_page(path: &Path, recorded: &[Recorded]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let page = manometer_report::page(recorded, folder)?;
    Ok(recording::write_file(path, page.as_bytes())?)
}
