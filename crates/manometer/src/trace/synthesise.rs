//! `manometer trace synthesise`: a synthetic trace from a model of a real one.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use manometer_trace::character::{Character, Options};
use manometer_trace::synthesis::error::error;
use manometer_trace::synthesis::fit::FirstPass;
use manometer_trace::synthesis::{FitError, Generator, Model};
use manometer_trace::{Record, TraceError, TraceReader};
use serde_json::json;

use super::input::{self, Input};
use super::output::{Output, Written};
use crate::exit_status::ExitStatus;
use crate::output;

/// The mark of a model's file, within its first bytes.
const MARK: &[u8] = b"\"manometer_trace_model\"";
const MARK_BYTES: u64 = 256;
/// The maximum size of a model.
const MODEL_BYTES_MAX: u64 = 64 << 20;

/// Fit a model to a trace and generate a trace with the same popularity, reuse distances and burstiness.
///
/// The model holds no keys, clients or contents. The input can also be a model file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace synthesise secret.csv made.parquet --model web.json\n  \
    manometer trace synthesise web.json longer.parquet --requests 100000000")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Also write the fitted model; the file must be new.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// The number of requests; by default that of the trace.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// The seed; the same seed generates the same trace.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Fits, generates, and prints the error of the generated trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match synthesise(args) {
        Ok((model, written)) => {
            if let Some(file) = &args.model {
                write_model(file, &model)?;
            }
            output::note(&model.fit_error.as_ref().map_or_else(unknown, text));
            args.output.print(&args.input.name(), &written, json!({ "fit_error": model.fit_error, "seed": args.seed }))
        }
        Err(error) => input::refuse(&error),
    }
}

fn synthesise(args: &Args) -> Result<(Model, Written), TraceError> {
    args.input.need_file("synthesise")?;
    if let Some(file) = args.model.as_ref().filter(|file| file.exists()) {
        return Err(TraceError::Wrong(format!("{}: the file exists: name a new one", file.display())));
    }
    if let Some(model) = read_model(args)? {
        let requests = args.requests.unwrap_or(model.requests);
        let written = args.output.write(&mut Generator::new(&model, requests, args.seed)?)?;
        return Ok((model, written));
    }
    let mut trace = Character::new(Options::default());
    let mut first = FirstPass::read(args.input.open_keeping(false)?.reader.as_mut(), &mut trace)?;
    let damage = first.take_damage();
    let mut model = first.fit(args.input.open_keeping(false)?.reader.as_mut(), &trace)?;
    let generator = Generator::new(&model, args.requests.unwrap_or(model.requests), args.seed)?;
    let mut watched = Watched { generator, character: Character::new(Options::default()), left: model.requests };
    let mut written = args.output.write(&mut watched)?;
    written.damage = damage;
    model.fit_error = (watched.left == 0).then(|| error(&trace, &watched.character));
    Ok((model, written))
}

/// A generator whose first requests are characterised, as many as the model has.
struct Watched {
    generator: Generator,
    character: Character,
    left: u64,
}

impl TraceReader for Watched {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let read = self.generator.read(batch)?;
        let watched = read.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.character.add(&batch[..watched]);
        self.left -= watched as u64;
        Ok(read)
    }
}

/// The model, if the input is one.
fn read_model(args: &Args) -> Result<Option<Model>, TraceError> {
    let path = args.input.path();
    let wrong = |what: String| TraceError::Wrong(format!("{}: {what}", path.display()));
    let mut file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut head = Vec::new();
    (&mut file).take(MARK_BYTES).read_to_end(&mut head).map_err(|error| wrong(error.to_string()))?;
    if !head.starts_with(b"{") || !head.windows(MARK.len()).any(|window| window == MARK) {
        return Ok(None);
    }
    if args.model.is_some() {
        return Err(wrong("the input is a model: leave --model out".to_owned()));
    }
    let rest = std::io::BufReader::new(std::io::Cursor::new(head).chain(file.take(MODEL_BYTES_MAX)));
    serde_json::from_reader(rest).map(Some).map_err(|error| wrong(format!("not a model: {error}")))
}

fn write_model(path: &PathBuf, model: &Model) -> anyhow::Result<()> {
    let name = || path.display().to_string();
    let mut file = BufWriter::new(File::create_new(path).with_context(name)?);
    serde_json::to_writer_pretty(&mut file, model).with_context(name)?;
    file.write_all(b"\n").and_then(|()| file.flush()).with_context(name)
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
