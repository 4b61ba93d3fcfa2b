//! `manometer cache tier`: arrangements of devices, on paper.

mod simulation;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use manometer_cache::CacheError;
use manometer_cache::tier::{EqualDevices, TierResult};
use manometer_measure::ByteSize;
use manometer_trace::TraceForm;

use crate::format::{self, Format};
use crate::trace::input;
use crate::{DONE, FAILED};
use simulation::{Done, Traced};

/// Simulate arrangements of devices: memory over an SSD that caches over disks, with what each of them does to a request.
///
/// An arrangement is a file: `arrangements/` has fifteen, with their devices and workloads. What is asked of it is one
/// of its workloads, or a trace.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  manometer cache tier arrangements/4h0.toml arrangements/dmcache-1s-4h0.toml --workload oltp\n  \
    manometer cache tier arrangements/*s-*h*.toml --workload fileserver --format json > results.json\n  \
    manometer cache tier mine.toml --trace src1.csv.zst --threads 16"
)]
pub struct TierArgs {
    /// The arrangements, each a file.
    #[arg(required = true, value_name = "FILE")]
    arrangements: Vec<PathBuf>,
    /// Which of their workloads; unless said, all.
    #[arg(long, value_delimiter = ',', conflicts_with = "trace")]
    workload: Vec<String>,
    /// Replay a trace instead, plain or compressed.
    #[arg(long)]
    trace: Option<PathBuf>,
    #[command(flatten)]
    form: TraceForm,
    /// Keep so many requests of the trace under way at any time; unless said, they come at their own times.
    #[arg(long, requires = "trace", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    threads: Option<u32>,
    /// Send the trace past the page cache.
    #[arg(long, requires = "trace")]
    direct: bool,
    /// What an object takes whose size the trace does not tell.
    #[arg(long, requires = "trace", default_value = "4KiB")]
    object_size: ByteSize,
    /// What sizes and periods are divided by, instead of what the files say; a trace is replayed at full size.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "trace")]
    scale: Option<u64>,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Simulates every arrangement under everything that is asked of it.
pub fn run(args: &TierArgs) -> anyhow::Result<ExitCode> {
    let (done, traced) = match simulated(args) {
        Ok(simulated) => simulated,
        Err(error) => return super::refuse(&error),
    };
    match args.format {
        Format::Json => format::json(&text::document(&done, traced.as_ref().map(|traced| &*traced.trace)))?,
        Format::Text => format::text(&text::text(&done))?,
    }
    traced.iter().flat_map(|traced| text::cut(&traced.trace)).for_each(|text| format::note(&text));
    let damage = traced.as_ref().and_then(|traced| traced.trace.damage.as_ref());
    Ok(ExitCode::from(match (damage, &args.trace) {
        (Some(error), Some(trace)) => {
            let requests = traced.as_ref().map_or(0, |traced| traced.trace.requests.len());
            input::tell_damage(&trace.display().to_string(), requests as u64, error);
            FAILED
        }
        _ => DONE,
    }))
}

fn simulated(args: &TierArgs) -> Result<(Vec<Done>, Option<Traced>), CacheError> {
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
