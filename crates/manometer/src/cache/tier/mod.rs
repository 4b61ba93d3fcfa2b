//! `manometer cache tier`: simulated arrangements of devices.

mod args;
mod json;
mod notes;
mod simulation;
mod text;

use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::tier::{TierOutcome, write_series};
use manometer_report::cache_tiers;

use self::simulation::TraceLoad;
use super::new_file::NewFile;
use crate::cache::error::refuse;
use crate::exit_status::ExitStatus;
use crate::output;
use crate::trace::input;

pub use self::args::Args;

/// Simulates every arrangement under every load and prints the results.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let (outputs, outcomes, traced) = match simulated(args) {
        Ok(simulated) => simulated,
        Err(error) => return refuse(&error),
    };
    outputs.write(&outcomes)?;
    args.format
        .print(|| json::document(&outcomes, traced.as_ref().map(|traced| &*traced.trace)), || text::text(&outcomes))?;
    traced.iter().flat_map(|traced| text::truncation_notes(&traced.trace)).for_each(|text| output::note(&text));
    let damage = traced.as_ref().and_then(|traced| traced.trace.damage.as_ref());
    Ok(match (damage, &args.trace) {
        (Some(error), Some(trace)) => {
            let requests = traced.as_ref().map_or(0, |traced| traced.trace.requests.len());
            input::warn_of_damage(&trace.display().to_string(), requests as u64, error);
            ExitStatus::Failed
        }
        _ => ExitStatus::Done,
    })
}

/// The files of the results, created before the simulations.
struct Outputs {
    series: Option<NewFile>,
    chart: Option<NewFile>,
}

impl Outputs {
    fn create(args: &Args) -> Result<Self, CacheError> {
        let chart = args.chart.as_deref().map(|path| NewFile::create_page("--chart", path)).transpose()?;
        Ok(Self { series: args.series.as_deref().map(NewFile::create).transpose()?, chart })
    }

    fn write(self, outcomes: &[TierOutcome]) -> anyhow::Result<()> {
        if let Some(file) = self.series {
            let mut content = Vec::new();
            write_series(&mut content, outcomes)?;
            file.keep(&content)?;
        }
        if let Some(file) = self.chart {
            file.keep(cache_tiers(outcomes).as_bytes())?;
        }
        Ok(())
    }
}

fn simulated(args: &Args) -> Result<(Outputs, Vec<TierOutcome>, Option<TraceLoad>), CacheError> {
    let traced = args.trace.as_ref().map(|trace| TraceLoad::read(trace, args)).transpose()?;
    let loads = |path: &PathBuf| simulation::arrangement_loads(path, args, traced.as_ref());
    let requested = args.arrangements.iter().map(loads).collect::<Result<Vec<_>, CacheError>>()?;
    let outputs = Outputs::create(args)?;
    Ok((outputs, simulation::simulate(&requested)?, traced))
}
