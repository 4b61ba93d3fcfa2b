//! `manometer cache tier`: simulated arrangements of devices.

mod args;
mod json;
mod notes;
mod simulation;
mod text;

use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::tier::TierOutcome;

use self::simulation::TraceLoad;
use crate::cache::error::refuse;
use crate::exit_status::ExitStatus;
use crate::output;
use crate::trace::input;

pub use self::args::Args;

/// Simulates every arrangement under every load and prints the results.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let (outcomes, traced) = match simulated(args) {
        Ok(simulated) => simulated,
        Err(error) => return refuse(&error),
    };
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

fn simulated(args: &Args) -> Result<(Vec<TierOutcome>, Option<TraceLoad>), CacheError> {
    let traced = args.trace.as_ref().map(|trace| TraceLoad::read(trace, args)).transpose()?;
    let loads = |path: &PathBuf| simulation::arrangement_loads(path, args, traced.as_ref());
    let requested = args.arrangements.iter().map(loads).collect::<Result<Vec<_>, CacheError>>()?;
    Ok((simulation::simulate(&requested)?, traced))
}
