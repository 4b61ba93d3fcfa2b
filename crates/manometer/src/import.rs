//! `manometer import`: results of other tools as recordings.

use std::path::PathBuf;

use clap::{ArgMatches, Args as _, Command, FromArgMatches, Subcommand};
use manometer_import::{FORMATS, ImportError, ImportFormat, experiment_of_flags, find_format, import};
use manometer_measure::Recording;
use manometer_report::AnalysedRecording;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};
use crate::recordings;

/// Convert results of other tools to recordings, for reports, comparisons and charts.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(""))]
pub struct Args {
    #[command(subcommand)]
    source: Source,
}

/// What to import: files of one of the [`FORMATS`], or Storiks' parameter files.
#[derive(Debug)]
enum Source {
    Results(&'static ImportFormat, Files),
    Flags(Flags),
}

/// Examples of `--help`, at least one for each source.
const EXAMPLES: [&str; 7] = [
    "storiks ycsb_wb-at3_bs512.out.xz --out slides-512",
    "storiks *.out.xz --out slides   # one report over all",
    "ycsb run.txt READ.hdr UPDATE.hdr --out ycsb",
    "db_bench readrandom.txt --out db_bench",
    "fio job_bw.1.log job_iops.1.log --out fio",
    "resctl-bench result.json.gz --out resctl",
    "flags experiment.flags --out experiment.toml",
];

/// The examples of `source`; all for an empty one.
fn examples(source: &str) -> String {
    let own = EXAMPLES.iter().filter(|example| source.is_empty() || example.split(' ').next() == Some(source));
    own.fold("Examples:".to_owned(), |text, example| format!("{text}\n  manometer import {example}"))
}

const FLAGS: &str = "flags";
const FLAGS_ABOUT: &str = "Storiks' parameter files (`.flags`, with the files that they name): an experiment file.";

impl Subcommand for Source {
    fn augment_subcommands(command: Command) -> Command {
        let format = |format: &ImportFormat| {
            Files::augment_args(Command::new(format.name)).about(format.about).after_help(examples(format.name))
        };
        let flags = Flags::augment_args(Command::new(FLAGS)).about(FLAGS_ABOUT).after_help(examples(FLAGS));
        command.subcommands(FORMATS.iter().map(format)).subcommand(flags).subcommand_required(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == FLAGS || find_format(name).is_some()
    }
}

impl FromArgMatches for Source {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        match find_format(name) {
            Some(format) => Ok(Self::Results(format, Files::from_arg_matches(matches)?)),
            None => Ok(Self::Flags(Flags::from_arg_matches(matches)?)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(Debug, clap::Args)]
struct Files {
    /// Files. One becomes a recording; several become recordings in `runs/001`, `runs/002` …
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Directory of the recordings; new or empty.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct Flags {
    /// File.
    file: PathBuf,
    /// Experiment file; standard output by default.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Imports the files and prints the summaries.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let done = match &args.source {
        Source::Results(format, files) => import_files(format, files),
        Source::Flags(flags) => convert(flags),
    };
    match done {
        Ok(()) => Ok(ExitStatus::Done),
        Err(error) if error.is::<ImportError>() => Ok(wrong_request(error)),
        Err(error) => Err(error),
    }
}

fn import_files(format: &ImportFormat, files: &Files) -> anyhow::Result<()> {
    let dirs = import(format, &files.files, &files.out)?;
    let recorded = dirs
        .par_iter()
        .map(|dir| recordings::summarise_and_write(Recording::open(dir)?))
        .collect::<Result<Vec<_>, _>>()?;
    print(files, &recorded)
}

fn print(files: &Files, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    if let [one] = recorded {
        let report = files.out.join(recordings::FILE);
        let text = || format!("{}\n\nReport: {}", crate::text::summary(&one.summary), report.display());
        return files.format.print(|| &one.summary, text);
    }
    let page = files.out.join(recordings::FILE);
    recordings::write_page_to(&page, recorded)?;
    let findings = recordings::common_findings(recorded);
    let text = || {
        let summaries = recordings::labelled_summaries(recorded);
        format!("{summaries}{}\n\nReport: {}", recordings::runs_text(recorded, &findings), page.display())
    };
    files.format.print(|| recordings::runs_document(recorded, &findings), text)
}

fn convert(flags: &Flags) -> anyhow::Result<()> {
    let text = experiment_of_flags(&flags.file)?;
    match &flags.out {
        Some(path) => Ok(manometer_measure::recording::write_file(path, text.as_bytes())?),
        None => output::print_text(text.trim_end()),
    }
}
