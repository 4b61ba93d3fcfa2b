//! `manometer cache curve`: miss-ratio curves.

mod args;
mod json;
mod page;
mod text;
mod windows;

use manometer_cache::CacheError;
use manometer_cache::curve::{CurveOptions, MissRatioCurve, MissRatioCurves, curves, write_parquet};
use manometer_cache::sampling::Sampling;

use super::new_file::NewFile;
use crate::cache::error::refuse;
use crate::exit_status::ExitStatus;
use crate::trace::input;

pub use self::args::Args;

/// The files of the results, created before the trace is read.
struct Outputs {
    chart: Option<NewFile>,
    parquet: Option<NewFile>,
}

/// Reads the trace once and prints the result.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let (outputs, result) = match compute(args) {
        Ok(result) => result,
        Err(error) => return refuse(&error),
    };
    outputs.write(args, &result)?;
    args.format.print(|| json::document(args, &result), || text::text(args, &result))?;
    Ok(match &result.damage {
        None => ExitStatus::Done,
        Some(error) => {
            input::warn_of_damage(&args.input.name(), result.requests, error);
            ExitStatus::Failed
        }
    })
}

fn compute(args: &Args) -> Result<(Outputs, MissRatioCurves), CacheError> {
    let sampling = match (args.rate, args.samples) {
        (Some(rate), _) => Some(Sampling::Rate(rate)),
        (None, Some(keys)) => Some(Sampling::Keys(keys as usize)),
        (None, None) => None,
    };
    let capacities = args.unit.capacities(&args.capacity)?;
    let windows = if args.working_set { Some(windows::read(&args.window)?) } else { None };
    let wanted = CurveOptions { by_size: args.unit.size_aware, capacities, sampling, windows, seed: args.seed };
    let mut reader = args.blocks.open(&args.input, false)?;
    let outputs = Outputs::create(args)?;
    Ok((outputs, curves(&mut *reader, &args.policy, &wanted)?))
}

impl Outputs {
    fn create(args: &Args) -> Result<Self, CacheError> {
        let chart = args.chart.as_deref().map(|path| NewFile::create_page("--chart", path)).transpose()?;
        Ok(Self { chart, parquet: args.parquet.as_deref().map(NewFile::create).transpose()? })
    }

    fn write(self, args: &Args, result: &MissRatioCurves) -> anyhow::Result<()> {
        if let Some(file) = self.chart {
            file.keep(page::page(args, result).as_bytes())?;
        }
        if let Some(file) = self.parquet {
            let mut content = Vec::new();
            let named: Vec<(String, &MissRatioCurve)> =
                args.named_curves(result).map(|(policy, curve)| (policy.to_string(), curve)).collect();
            write_parquet(&mut content, args.unit.name(), &named)?;
            file.keep(&content)?;
        }
        Ok(())
    }
}
