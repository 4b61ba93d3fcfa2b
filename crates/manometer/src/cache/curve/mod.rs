//! `manometer cache curve`: miss ratios over all sizes.

mod chart;
mod json;
mod text;
mod windows;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use manometer_cache::CacheError;
use manometer_cache::PolicySpec;
use manometer_cache::curve::{CurveOptions, MissRatioCurve, MissRatioCurves, curves, write_parquet};
use manometer_cache::sampling::Sampling;

use super::block_size::BlockSize;
use super::capacity::Unit;
use super::new_file::NewFile;
use crate::format::{self, Format};
use crate::trace::input::{self, Input};
use crate::{DONE, FAILED};

/// Draw miss-ratio curves: the misses of policies over all sizes of their caches.
///
/// LRU's is exact, from one walk over the trace, unless it is made of a sample; every other policy is simulated at each
/// size, on a sample of 65,536 keys where there are more. What is estimated has its 95 % interval beside it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  manometer cache curve OLTP.lis.zst --knee\n  \
    manometer cache curve cluster52.csv.zst --policy lru,arc --samples 8192 --size-aware --chart curves.html")]
pub struct CurveArgs {
    #[command(flatten)]
    input: Input,
    /// Which policies, each with its parameters if need be; all from one reading of the trace.
    #[arg(long, value_delimiter = ',', default_value = "lru")]
    policy: Vec<PolicySpec>,
    /// At which sizes; unless said, at many up to where all keys fit in.
    #[arg(long, value_delimiter = ',')]
    capacity: Vec<String>,
    #[command(flatten)]
    unit: Unit,
    #[command(flatten)]
    blocks: BlockSize,
    /// Take this share of the keys.
    #[arg(long, conflicts_with = "samples")]
    rate: Option<f64>,
    /// Take at most so many keys, in memory that does not grow with the trace.
    #[arg(long, value_name = "KEYS", value_parser = clap::value_parser!(u32).range(64..))]
    samples: Option<u32>,
    /// Name the sizes where more cache stops paying.
    #[arg(long)]
    knee: bool,
    /// Tell how many keys, and bytes with --size-aware, windows of the trace ask for: its working set.
    #[arg(long)]
    working_set: bool,
    /// How long these windows are: requests, or a time such as 10min; unless said, of many lengths.
    #[arg(long, value_delimiter = ',', value_name = "LENGTH", requires = "working_set")]
    window: Vec<String>,
    /// Draw the curves on a page of their own, a new HTML file.
    #[arg(long, value_name = "FILE.html")]
    chart: Option<PathBuf>,
    /// Write the points to a new Parquet file.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Which keys are in the sample.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Files for the results, made before the trace is read.
struct Outputs {
    chart: Option<NewFile>,
    parquet: Option<NewFile>,
}

/// Reads the trace once.
pub fn run(args: &CurveArgs) -> anyhow::Result<ExitCode> {
    let (outputs, drawn) = match drawn(args) {
        Ok(drawn) => drawn,
        Err(error) => return super::refuse(&error),
    };
    outputs.write(args, &drawn)?;
    match args.format {
        Format::Json => format::json(&json::document(args, &drawn))?,
        Format::Text => format::text(&text::text(args, &drawn))?,
    }
    Ok(ExitCode::from(match &drawn.damage {
        None => DONE,
        Some(error) => {
            input::tell_damage(&args.input.name(), drawn.requests, error);
            FAILED
        }
    }))
}

fn drawn(args: &CurveArgs) -> Result<(Outputs, MissRatioCurves), CacheError> {
    let sampling = match (args.rate, args.samples) {
        (Some(rate), _) => Some(Sampling::Rate(rate)),
        (None, Some(keys)) => Some(Sampling::Keys(keys as usize)),
        (None, None) => None,
    };
    let capacities = args.unit.capacities(&args.capacity)?;
    let windows = if args.working_set { Some(windows::read(&args.window)?) } else { None };
    let wanted = CurveOptions { by_size: args.unit.size_aware, capacities, sampling, windows, seed: args.seed };
    let mut reader = args.blocks.open(&args.input)?;
    let outputs = Outputs::create(args)?;
    Ok((outputs, curves(&mut *reader, &args.policy, &wanted)?))
}

impl Outputs {
    fn create(args: &CurveArgs) -> Result<Self, CacheError> {
        let is_html = |path: &Path| path.extension().is_some_and(|extension| extension == "html");
        if let Some(chart) = args.chart.as_ref().filter(|chart| !is_html(chart)) {
            let text = format!("--chart {}: a chart is a page, name a file that ends in .html", chart.display());
            return Err(CacheError::Invalid(text));
        }
        let create = |path: &Option<PathBuf>| path.as_deref().map(NewFile::create).transpose();
        Ok(Self { chart: create(&args.chart)?, parquet: create(&args.parquet)? })
    }

    fn write(self, args: &CurveArgs, drawn: &MissRatioCurves) -> anyhow::Result<()> {
        if let Some(file) = self.chart {
            file.keep(chart::page(args, drawn).as_bytes())?;
        }
        if let Some(file) = self.parquet {
            let mut content = Vec::new();
            let named: Vec<(String, &MissRatioCurve)> =
                named(args, drawn).map(|(policy, curve)| (policy.to_string(), curve)).collect();
            write_parquet(&mut content, args.unit.name(), &named)?;
            file.keep(&content)?;
        }
        Ok(())
    }
}

/// The curves with their policies.
fn named<'a>(
    args: &'a CurveArgs,
    drawn: &'a MissRatioCurves,
) -> impl Iterator<Item = (&'a PolicySpec, &'a MissRatioCurve)> {
    args.policy.iter().zip(&drawn.curves)
}
