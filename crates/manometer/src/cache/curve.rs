//! `manometer cache curve`: miss ratios over all sizes.

use std::process::ExitCode;

use clap::Args;
use manometer_cache::CacheError;
use manometer_cache::curve::{Curve, Point, Sampling, Wanted, curve, knees};
use manometer_cache::policy::Choice;
use serde_json::{Value, json};

use super::capacity::Unit;
use crate::format::{self, Format};
use crate::table::{number, table};
use crate::trace::input::{self, Input};
use crate::{DONE, FAILED};

/// How many keys a curve is made of that has to be simulated, unless said.
const KEYS_SIMULATED: usize = 1 << 16;
/// About how many sizes are shown to people.
const ROWS: usize = 24;

/// Draw a miss-ratio curve: the misses of a policy over all sizes of its cache.
///
/// LRU's is exact, from one walk over the trace, unless it is made of a sample; every other policy is simulated at each
/// size, on a sample of 65,536 keys where there are more. What is estimated has its 95 % interval beside it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  manometer cache curve OLTP.lis.zst --knee\n  \
    manometer cache curve cluster52.csv.zst --policy arc --samples 8192 --size-aware")]
pub struct CurveArgs {
    #[command(flatten)]
    input: Input,
    /// Which policy, with its parameters if need be.
    #[arg(long, default_value = "lru")]
    policy: Choice,
    /// At which sizes; unless said, at many up to where all keys fit in.
    #[arg(long, value_delimiter = ',')]
    capacity: Vec<String>,
    #[command(flatten)]
    unit: Unit,
    /// Take this share of the keys.
    #[arg(long, conflicts_with = "samples")]
    rate: Option<f64>,
    /// Take at most so many keys; for LRU in memory that does not grow with the trace.
    #[arg(long, value_name = "KEYS", value_parser = clap::value_parser!(u32).range(64..))]
    samples: Option<u32>,
    /// Name the sizes where more cache stops paying.
    #[arg(long)]
    knee: bool,
    /// Which keys are in the sample.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads the trace once.
pub fn run(args: &CurveArgs) -> anyhow::Result<ExitCode> {
    let drawn = match drawn(args) {
        Ok(drawn) => drawn,
        Err(error) => return super::refuse(&error),
    };
    match args.format {
        Format::Json => format::json(&document(args, &drawn))?,
        Format::Text => format::text(&text(args, &drawn))?,
    }
    Ok(ExitCode::from(match &drawn.damage {
        None => DONE,
        Some(error) => {
            input::tell_damage(&args.input.name(), drawn.requests, error);
            FAILED
        }
    }))
}

fn drawn(args: &CurveArgs) -> Result<Curve, CacheError> {
    let sampling = match (args.rate, args.samples) {
        (Some(rate), _) => Sampling::Rate(rate),
        (None, Some(keys)) => Sampling::Keys(keys as usize),
        (None, None) if args.policy.kind().name == "lru" => Sampling::Whole,
        (None, None) => Sampling::Keys(KEYS_SIMULATED),
    };
    let capacities = args.unit.capacities(&args.capacity)?;
    let wanted = Wanted { by_size: args.unit.size_aware, capacities, sampling, seed: args.seed };
    let mut trace = args.input.open_keeping(false)?;
    curve(&mut *trace.reader, &args.policy, &wanted)
}

fn document(args: &CurveArgs, drawn: &Curve) -> Value {
    let point = |point: &Point| match point.error {
        None => json!({ "capacity": point.capacity, "miss_ratio": point.miss_ratio }),
        Some(error) => json!({ "capacity": point.capacity, "miss_ratio": point.miss_ratio, "error": error }),
    };
    json!({
        "policy": args.policy.to_string(),
        "unit": args.unit.name(),
        "points": drawn.points.iter().map(point).collect::<Vec<Value>>(),
        "requests": drawn.requests,
        "left_out": drawn.left_out,
        "footprint": drawn.footprint,
        "rate": drawn.rate,
        "smallest_capacity": drawn.smallest,
        "knees": args.knee.then(|| knees(&drawn.points).iter().map(point).collect::<Vec<Value>>()),
        "damage": input::damage(drawn.damage.as_ref()),
    })
}

fn text(args: &CurveArgs, drawn: &Curve) -> String {
    let footprint = args.unit.text(drawn.footprint.round() as u64);
    let what = if args.unit.size_aware { "" } else { " keys" };
    let mut lines =
        vec![format!("{}: {} requests for {footprint}{what}", args.input.name(), number(drawn.requests as f64))];
    if drawn.rate < 1.0 {
        lines.push(format!("made of {:.3} % of the keys", 100.0 * drawn.rate));
    }
    if drawn.smallest > 0.0 {
        let smallest = args.unit.text(drawn.smallest.ceil() as u64);
        lines.push(format!("smaller caches than {smallest} take a larger sample to tell: --samples"));
    }
    let stride = if args.capacity.is_empty() { drawn.points.len().div_ceil(ROWS).max(1) } else { 1 };
    let mut table = table(&["capacity", "miss ratio", "±"], 0);
    for point in drawn.points.iter().rev().step_by(stride).collect::<Vec<_>>().into_iter().rev() {
        table.add_row(row(args, point));
    }
    lines.push(table.to_string());
    if args.knee {
        let knees = knees(&drawn.points);
        let told = knees.iter().map(|point| format!("{} ({:.4})", args.unit.text(point.capacity), point.miss_ratio));
        let told: Vec<String> = told.collect();
        lines.push(match told.is_empty() {
            true => "knees: none, the curve bends nowhere".to_owned(),
            false => format!("knees, where more cache stops paying: {}", told.join(", ")),
        });
    }
    if drawn.left_out > 0 {
        lines.push(format!("left out: {} requests, deletes or without a size", drawn.left_out));
    }
    lines.join("\n")
}

fn row(args: &CurveArgs, point: &Point) -> [String; 3] {
    let error = point.error.map(|error| format!("{error:.4}")).unwrap_or_default();
    [args.unit.text(point.capacity), format!("{:.4}", point.miss_ratio), error]
}
