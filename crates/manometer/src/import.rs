//! `manometer import`: other tools' results become recordings.

use std::path::PathBuf;

use clap::Subcommand;
use manometer_import::{ImportError, Tool, import, storiks};
use manometer_report::AnalysedRecording;

use crate::exit_status::ExitStatus;
use crate::output::{self, Format};
use crate::recordings;

/// Make recordings of other tools' results: reports, comparisons and charts work on them as on our own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer import storiks ycsb_wb-at3_bs512.out.xz --out slides-512\n  \
    manometer import storiks *.out.xz --out slides   # one report over all\n  \
    manometer import ycsb run.txt READ.hdr UPDATE.hdr --out ycsb\n  \
    manometer import fio job_bw.1.log job_iops.1.log --out fio\n  \
    manometer import resctl-bench result.json.gz --out resctl\n  \
    manometer import flags experiment.flags --out experiment.toml")]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Logs of Storiks 0.1 and of rocksdb_test 1.x (`.out`, also packed).
    Storiks(Files),
    /// What YCSB printed with `-s`, and its histogram logs (`READ.hdr`), which belong to the file before them.
    Ycsb(Files),
    /// What RocksDB's db_bench printed with `--stats_interval_seconds`: each benchmark becomes a phase.
    #[command(name = "db_bench")]
    DbBench(Files),
    /// fio's documents (`--output-format=json+ --status-interval`), or its logs (`NAME_bw.1.log` and so on), of which
    /// those that are named alike are one run.
    Fio(Files),
    /// The results of resctl-bench 2.x (`.json`, also packed): each job, or run of `iocost-qos`, becomes a phase.
    #[command(name = "resctl-bench")]
    ResctlBench(Files),
    /// Storiks' parameter files (`.flags`, with those that they name): an experiment file.
    Flags(Flags),
}

#[derive(Debug, clap::Args)]
struct Files {
    /// The files: one becomes a recording, several become recordings in `runs/001`, `runs/002` …
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The folder to make.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct Flags {
    /// The file.
    file: PathBuf,
    /// The experiment file to make; standard output unless said.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Imports and prints what the recordings say.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let done = match &args.from {
        From::Storiks(files) => make(Tool::Storiks, files),
        From::Ycsb(files) => make(Tool::Ycsb, files),
        From::DbBench(files) => make(Tool::DbBench, files),
        From::Fio(files) => make(Tool::Fio, files),
        From::ResctlBench(files) => make(Tool::ResctlBench, files),
        From::Flags(flags) => convert(flags),
    };
    match done {
        Ok(()) => Ok(ExitStatus::Done),
        Err(error) => {
            let is_ours = error.downcast_ref::<ImportError>().is_some();
            output::error(&error);
            Ok(if is_ours { ExitStatus::WrongRequest } else { ExitStatus::Failed })
        }
    }
}

fn make(tool: Tool, files: &Files) -> anyhow::Result<()> {
    let dirs = import(tool, &files.files, &files.out)?;
    let recorded = dirs.iter().map(|dir| recordings::summarise_and_write(dir)).collect::<Result<Vec<_>, _>>()?;
    tell(files, &recorded)
}

fn tell(files: &Files, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    if let [one] = recorded {
        return match files.format {
            Format::Json => output::print_json(&one.summary),
            Format::Text => {
                output::print_text(&crate::text::summary(&one.summary))?;
                output::print_text(&format!("\nReport: {}", files.out.join(recordings::FILE).display()))
            }
        };
    }
    let page = files.out.join(recordings::FILE);
    recordings::write_page(&page, recorded)?;
    let findings = recordings::common_findings(recorded);
    match files.format {
        Format::Json => output::print_json(&recordings::runs_document(recorded, &findings)),
        Format::Text => {
            for one in recorded {
                output::print_text(&crate::text::summary(&one.summary))?;
            }
            output::print_text(&format!("{}\nReport: {}", crate::text::findings(&findings), page.display()))
        }
    }
}

fn convert(flags: &Flags) -> anyhow::Result<()> {
    let text = storiks::experiment_of_flags(&flags.file)?;
    match &flags.out {
        Some(path) => Ok(manometer_measure::recording::write_file(path, text.as_bytes())?),
        None => output::print_text(text.trim_end()),
    }
}
