//! `manometer cache tier`: arrangements of devices, on paper.

mod args;
mod json;
mod simulation;
mod text;

use manometer_cache::CacheError;
use manometer_cache::tier::{EqualDevices, TierResult};

use crate::exit_status::ExitStatus;
use crate::output::{self};
use crate::trace::input;
use simulation::{Done, Traced};

pub use self::args::Args;

/// Simulates every arrangement under everything that is asked of it.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let (done, traced) = match simulated(args) {
        Ok(simulated) => simulated,
        Err(error) => return super::refuse(&error),
    };
    args.format.print(|| json::document(&done, traced.as_ref().map(|traced| &*traced.trace)), || text::text(&done))?;
    traced.iter().flat_map(|traced| text::cut(&traced.trace)).for_each(|text| output::note(&text));
    let damage = traced.as_ref().and_then(|traced| traced.trace.damage.as_ref());
    Ok(match (damage, &args.trace) {
        (Some(error), Some(trace)) => {
            let requests = traced.as_ref().map_or(0, |traced| traced.trace.requests.len());
            input::tell_damage(&trace.display().to_string(), requests as u64, error);
            ExitStatus::Failed
        }
        _ => ExitStatus::Done,
    })
}

fn simulated(args: &Args) -> Result<(Vec<Done>, Option<Traced>), CacheError> {
    let traced = args.trace.as_ref().map(|trace| Traced::read(trace, args)).transpose()?;
    let mut works = Vec::new();
    for (file, path) in args.arrangements.iter().enumerate() {
        works.extend(simulation::of(file, path, args, traced.as_ref())?);
    }
    Ok((simulation::simulate(works)?, traced))
}

/// What a cache is compared with, where it is.
#[derive(Debug, Clone)]
struct Compared {
    equal: EqualDevices,
    by: By,
    /// How many devices do as much, where that many are enough.
    count: Option<u64>,
}

/// By what arrangements are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// How much is done in a second.
    Throughput,
    /// How long operations take in the mean.
    Latency,
}

impl By {
    fn is_as_good(self, one: &TierResult, as_other: &TierResult) -> bool {
        match self {
            Self::Throughput => one.mb_per_s >= as_other.mb_per_s,
            Self::Latency => one.latency_mean_us <= as_other.latency_mean_us,
        }
    }

    /// The field of results that it is about.
    fn field(self) -> &'static str {
        match self {
            Self::Throughput => "mb_per_s",
            Self::Latency => "latency_mean_us",
        }
    }
}
