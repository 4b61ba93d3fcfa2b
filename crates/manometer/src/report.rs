//! `manometer report`: an HTML page of recordings.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use manometer_analysis::compare;
use manometer_analysis::findings::DAMAGED;
use manometer_experiment::queue::missing_recordings;
use manometer_report::{AnalysedRecording, write_demo};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::exit_status::{ExitStatus, wrong_request};
use crate::metrics;
use crate::output::{self, Format};
use crate::recordings::{
    FILE, common_findings, labelled_summaries, runs_document, runs_text, write_page_to, write_summary,
};

/// The name of the recording that comes with the program, and of the directory that it is written to.
const DEMO: &str = "demo";

/// Analyse recordings and write a report: one HTML file that needs no network.
///
/// Of more than eight recordings that file is an overview, with a page for each run in a directory next to it. Also
/// rewrites the `summary.json` of each recording. `demo` is a recording that comes with the program: it is written into
/// the directory `demo` if there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer report demo\n  \
    manometer report manometer-runs/a-recording\n  \
    manometer report runs/001 runs/002 --out both.html\n  \
    manometer report manometer-runs/a-sweep   # all its runs\n  \
    manometer report runs/001 --metrics /var/lib/node_exporter/textfile/manometer.prom")]
pub struct Args {
    /// Recordings, or directories of recordings from a sweep or an import.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// Report's file [default: `report.html` in the first recording].
    #[arg(long)]
    out: Option<PathBuf>,
    /// Also write the results as OpenMetrics text, for node_exporter's textfile collector.
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Writes the report and prints the summaries.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let demo = Path::new(DEMO);
    if args.recordings == [demo] && !demo.exists() {
        write_demo(demo).with_context(|| format!("cannot write the recording {DEMO}"))?;
    }
    let (recorded, is_incomplete) = match read_all(&args.recordings) {
        Ok(recorded) => recorded,
        Err(error) => return Ok(wrong_request(error)),
    };
    recorded.par_iter().try_for_each(|one| match write_summary(one) {
        // A recording may be read-only; with `--out` the report is written nevertheless.
        Err(error) if args.out.is_some() => {
            output::note(&format!("cannot write summary.json: {error}"));
            Ok(())
        }
        result => result,
    })?;
    let missing: Vec<PathBuf> = args.recordings.iter().flat_map(|path| missing_recordings(path)).collect();
    for dir in &missing {
        let what = if dir.exists() { "has lost its plan.json" } else { "is missing" };
        let dir = dir.display();
        output::note(&format!("{dir} {what}, though its queue counts it as done: `run --resume` measures it again"));
    }
    let status = if missing.is_empty() && !is_incomplete { status(&recorded) } else { ExitStatus::Failed };
    let page = args.out.clone().unwrap_or_else(|| args.recordings[0].join(FILE));
    write_page_to(&page, &recorded)?;
    if let Some(path) = &args.metrics {
        metrics::write(path, &recorded)?;
    }
    if args.format == Format::Json {
        return match recorded.as_slice() {
            [one] => output::print_json(&one.summary),
            many => output::print_json(&runs_document(many, &common_findings(many))),
        }
        .map(|()| status);
    }
    match recorded.as_slice() {
        [one] => output::print_text(&crate::text::summary(&one.summary))?,
        many => {
            output::print_text(labelled_summaries(many).trim_end())?;
            output::print_text(&runs_text(many, &common_findings(many)))?;
        }
    }
    output::print_text(&format!("\nReport: {}", page.display()))?;
    Ok(status)
}

/// The report is incomplete if a file of a recording is damaged. What is damaged is named: more urgent findings may hide it.
fn status(recorded: &[AnalysedRecording]) -> ExitStatus {
    let mut status = ExitStatus::Done;
    for one in recorded {
        for finding in one.summary.findings.iter().filter(|finding| finding.id == DAMAGED.id) {
            output::note(&format!("{}: {}: {}", one.recording.dir.display(), finding.id, finding.text));
            status = ExitStatus::Failed;
        }
    }
    status
}

/// Reads the recordings in `paths`, which can be directories of recordings; and whether some cannot be read, which are named.
///
/// # Errors
/// None can be read.
fn read_all(paths: &[PathBuf]) -> anyhow::Result<(Vec<AnalysedRecording>, bool)> {
    let mut all = Vec::new();
    for path in paths {
        // If there is none, reading the folder gives the reason.
        let (dirs, skipped) = compare::recordings_in(path).unwrap_or_else(|_| (vec![path.clone()], Vec::new()));
        for dir in &skipped {
            output::note(&format!("{} {}: skipped", dir.display(), compare::skip_reason(dir)));
        }
        all.extend(dirs);
    }
    let mut recorded = Vec::new();
    let mut unreadable = Vec::new();
    for result in all.par_iter().map(|dir| AnalysedRecording::open(dir)).collect::<Vec<_>>() {
        match result {
            Ok(one) => recorded.push(one),
            Err(error) => unreadable.push(error),
        }
    }
    match (recorded.is_empty(), unreadable.pop()) {
        (true, Some(error)) => Err(error.into()),
        (_, last) => {
            unreadable.extend(last);
            unreadable.iter().for_each(|error| output::note(&format!("{error}: left out")));
            Ok((recorded, !unreadable.is_empty()))
        }
    }
}
