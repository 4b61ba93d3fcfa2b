//! `manometer trace synthesise`: a synthetic trace from a model of a real one, or accesses to the files of a tree.

use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_trace::synthesis::paths::{DepthRange, PathGenerator, PathModel};
use manometer_trace::synthesis::{self, FitError, Generator, TraceModel};
use manometer_trace::write::WriteSummary;
use manometer_trace::{TraceError, TraceForm, TraceReader};
use serde_json::json;

use super::input::{self, Input};
use super::output::{Output, OutputForm};
use crate::exit_status::ExitStatus;
use crate::output;

/// The requests of a path trace: those of the archive of Song 2018.
const PATH_REQUESTS: u64 = 3_000_000;

/// Fit a model to a trace and generate a trace with the same popularity, reuse distances and burstiness; or generate accesses
/// to the files of a tree.
///
/// The model holds no keys, clients or contents. The input can also be a model file. With --paths there is no input: each
/// request reads a file, whose path is its key, and a share of them (--locality) the next file of the same directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace synthesise secret.csv made.parquet --model web.json\n  \
    manometer trace synthesise web.json longer.parquet --requests 100000000\n  \
    manometer trace synthesise --paths archive.parquet --files 100000 --depth 8-10")]
pub struct Args {
    /// The trace or model to learn from, plain or compressed, and the file of the new trace, which must be new. With
    /// --paths only the file of the new trace.
    #[arg(required = true, num_args = 1..=2, value_names = ["TRACE", "OUT"])]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    form: TraceForm,
    #[command(flatten)]
    output_form: OutputForm,
    /// Also write the fitted model; the file must be new.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Number of requests; by default that of the trace, with --paths 3,000,000.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Seed; the same seed generates the same trace.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Generate accesses to the files of a tree instead, with the path as the key and the size of the file as that of the
    /// value.
    #[arg(long, conflicts_with = "model")]
    paths: bool,
    #[command(flatten)]
    tree: TreeArgs,
}

/// A tree of files, and the accesses to it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Accesses to the files of a tree")]
struct TreeArgs {
    /// Files of the tree.
    #[arg(long, requires = "paths", default_value_t = PathModel::default().files)]
    files: u64,
    /// Components of a file's path, the file's name included: a number such as 8, or a range such as 8-10.
    #[arg(long, requires = "paths", default_value_t = PathModel::default().depth)]
    depth: DepthRange,
    /// Files per directory, and directories per directory.
    #[arg(long, requires = "paths", default_value_t = PathModel::default().directory_width)]
    directory_width: u64,
    /// Mean size of a file.
    #[arg(long, requires = "paths", default_value_t = ByteSize(PathModel::default().mean_file_bytes))]
    mean_file_size: ByteSize,
    /// How steeply the popularity of directories falls: the exponent of a Zipf distribution.
    #[arg(long, requires = "paths", default_value_t = PathModel::default().exponent)]
    exponent: f64,
    /// The share of accesses that go to the next file of the directory of the one before.
    #[arg(long, requires = "paths", default_value_t = PathModel::default().locality)]
    locality: f64,
}

impl TreeArgs {
    fn model(&self) -> PathModel {
        PathModel {
            files: self.files,
            depth: self.depth,
            directory_width: self.directory_width,
            mean_file_bytes: self.mean_file_size.0,
            exponent: self.exponent,
            locality: self.locality,
        }
    }
}

/// Fits, generates, and prints the error of the generated trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let done = match (args.traces.as_slice(), args.paths) {
        ([out], true) => generate_paths(args, &args.output(out)),
        ([trace, out], false) => learn(args, &args.input(trace), &args.output(out)),
        (_, true) => return refuse("--paths generates without a trace to learn from: name the new file only"),
        (_, false) => return refuse("name the trace or model to learn from, and the new file; or add --paths"),
    };
    done.unwrap_or_else(|error| input::refuse(&error))
}

fn refuse(reason: &str) -> anyhow::Result<ExitStatus> {
    input::refuse(&TraceError::Wrong(reason.to_owned()))
}

impl Args {
    fn input(&self, trace: &Path) -> Input {
        Input { trace: trace.to_owned(), form: self.form.clone() }
    }

    fn output(&self, out: &Path) -> Output {
        Output { out: out.to_owned(), form: self.output_form.clone() }
    }
}

/// The printed result, or why there is none.
type Outcome = Result<anyhow::Result<ExitStatus>, TraceError>;

fn generate_paths(args: &Args, output: &Output) -> Outcome {
    let requests = args.requests.unwrap_or(PATH_REQUESTS);
    let key_texts = args.output_form.keeps_keys();
    let mut generator = PathGenerator::new(&args.tree.model(), requests, args.seed, key_texts)?;
    let written = output.write(&mut generator)?;
    let facts = json!({ "files": args.tree.files, "files_accessed": generator.files_accessed(), "seed": args.seed });
    Ok(output.print("", &written, facts))
}

fn learn(args: &Args, input: &Input, output: &Output) -> Outcome {
    let (model, written) = synthesise(args, input, output)?;
    if let Some(file) = &args.model
        && let Err(error) = synthesis::write_model(file, &model)
    {
        return Ok(Err(error.into()));
    }
    output::note(&model.fit_error.as_ref().map_or_else(unknown, text));
    let facts = json!({ "fit_error": model.fit_error, "seed": args.seed });
    Ok(output.print(&input.name(), &written, facts))
}

fn synthesise(args: &Args, input: &Input, output: &Output) -> Result<(TraceModel, WriteSummary), TraceError> {
    input.need_file("synthesise")?;
    let path = input.path();
    if let Some(file) = args.model.as_ref().filter(|file| file.exists()) {
        return Err(TraceError::Wrong(format!("{}: the file exists: name a new one", file.display())));
    }
    if let Some(model) = synthesis::read_model(path)? {
        if args.model.is_some() {
            return Err(TraceError::Wrong(format!("{}: the input is a model: leave --model out", path.display())));
        }
        let requests = args.requests.unwrap_or(model.requests);
        let written = output.write(&mut Generator::new(&model, requests, args.seed)?)?;
        return Ok((model, written));
    }
    let options = input.form.options(false)?;
    let write = |generated: &mut dyn TraceReader| output.write(generated);
    let (fitted, mut written) = synthesis::synthesise(path, &options, args.requests, args.seed, write)?;
    written.damage = fitted.damage;
    Ok((fitted.model, written))
}

fn unknown() -> String {
    "fit: unknown, because the generated trace is shorter than the original".to_owned()
}

fn text(fit: &FitError) -> String {
    let optional =
        |what: &str, value: Option<f64>| value.map(|value| format!(", {what} {value:.3}")).unwrap_or_default();
    format!(
        "fit: error of the LRU miss ratio {:.4} at most, {:.4} on average; of the share of the most popular keys {:.4} at \
         most, keys ×{:.3}{}{}{}",
        fit.miss_ratio_max,
        fit.miss_ratio_mean,
        fit.popularity,
        fit.keys_ratio,
        optional("inter-arrival distance", fit.inter_arrival),
        optional("dispersion ×", fit.dispersion_ratio),
        fit.hurst_difference.map(|difference| format!(", Hurst exponent {difference:+.3}")).unwrap_or_default(),
    )
}
