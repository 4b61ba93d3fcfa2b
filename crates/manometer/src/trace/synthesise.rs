//! `manometer trace synthesise`: a synthetic trace from a model of a real one.

use std::path::PathBuf;

use manometer_trace::synthesis::{self, FitError, Generator, Model};
use manometer_trace::{TraceError, TraceReader};
use serde_json::json;

use super::input::{self, Input};
use super::output::{Output, Written};
use crate::exit_status::ExitStatus;
use crate::output;

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
    /// Number of requests; by default that of the trace.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Seed; the same seed generates the same trace.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Fits, generates, and prints the error of the generated trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match synthesise(args) {
        Ok((model, written)) => {
            if let Some(file) = &args.model {
                synthesis::write_model(file, &model)?;
            }
            output::note(&model.fit_error.as_ref().map_or_else(unknown, text));
            args.output.print(&args.input.name(), &written, json!({ "fit_error": model.fit_error, "seed": args.seed }))
        }
        Err(error) => input::refuse(&error),
    }
}

fn synthesise(args: &Args) -> Result<(Model, Written), TraceError> {
    args.input.need_file("synthesise")?;
    let path = args.input.path();
    if let Some(file) = args.model.as_ref().filter(|file| file.exists()) {
        return Err(TraceError::Wrong(format!("{}: the file exists: name a new one", file.display())));
    }
    if let Some(model) = synthesis::read_model(path)? {
        if args.model.is_some() {
            return Err(TraceError::Wrong(format!("{}: the input is a model: leave --model out", path.display())));
        }
        let requests = args.requests.unwrap_or(model.requests);
        let written = args.output.write(&mut Generator::new(&model, requests, args.seed)?)?;
        return Ok((model, written));
    }
    let options = args.input.form.options(false)?;
    let write = |generated: &mut dyn TraceReader| args.output.write(generated);
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
