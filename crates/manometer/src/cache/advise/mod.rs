//! `manometer cache advise`: memory size, policy and SSD tier for a trace.

mod text;

use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::advise::{Advice, AdviseRequest, SHIPPED_PRICES, WORKLOAD, advise};
use manometer_cache::cost::{CostGoal, Prices};
use manometer_cache::tier::Arrangement;
use manometer_measure::clock::WallAnchor;
use manometer_measure::{ByteSize, recording};
use serde_json::{Value, json};

use crate::cache::error::refuse;
use crate::exit_status::ExitStatus;
use crate::output::Format;
use crate::trace::input::{self, Input};

/// Recommend a memory size, a replacement policy and an SSD tier for a trace.
///
/// Prints one page: the character of the trace, all policies against LRU at the recommended memory size, the miss-ratio
/// curves of the five best, the trace replayed on disks, SSDs and SSDs before disks, their cost, and a sensitivity
/// analysis. Each sentence says what it may be used for: sound, indicative or void. The default prices are of 2026.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer cache advise cluster52.csv.zst\n  \
    manometer cache advise web.csv --prices prices.toml --goal 50MB/s --out advice.html")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    /// Prices of devices, as TOML (docs/cache-cost.md).
    #[arg(long)]
    prices: Option<PathBuf>,
    /// Simulate these arrangements, at the sizes in their files, instead of the built-in ones.
    #[arg(long = "arrangement", value_name = "FILE")]
    arrangements: Vec<PathBuf>,
    /// Find the cheapest arrangement with at least this throughput: `50MB/s`, `1000requests/s`.
    #[arg(long = "goal", value_name = "GOAL", value_parser = goal)]
    goals: Vec<CostGoal>,
    /// Number of requests in flight during the replay.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    threads: u32,
    /// Size of objects whose size is not in the trace.
    #[arg(long, default_value = "4KiB")]
    object_size: ByteSize,
    /// Also write an HTML page with charts.
    #[arg(long, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn goal(text: &str) -> Result<CostGoal, String> {
    let wrong = || format!("`{text}` is not a goal: write the least throughput, such as 50MB/s or 1000requests/s");
    if text.contains(">=") { Err(wrong()) } else { format!("{WORKLOAD}>={text}").parse().map_err(|_| wrong()) }
}

/// Reads the trace several times.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let advice = match advice(args) {
        Ok(advice) => advice,
        Err(error) => return refuse(&error),
    };
    if let Some(path) = &args.out {
        recording::write_file(path, manometer_report::cache_advice(&advice).as_bytes())?;
    }
    args.format.print(|| document(&advice), || text::text(&advice))?;
    if let Some(error) = &advice.damage {
        input::warn_of_damage(&args.input.name(), advice.character.requests, error);
        return Ok(ExitStatus::Failed);
    }
    let missed = advice.goal.is_some_and(|goal| goal.meeting.is_empty());
    Ok(if missed { ExitStatus::No } else { ExitStatus::Done })
}

fn advice(args: &Args) -> Result<Advice, CacheError> {
    args.input.need_file("`cache advise`")?;
    let (prices_name, prices) = match &args.prices {
        None => (SHIPPED_PRICES.0.to_owned(), SHIPPED_PRICES.1.to_owned()),
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| CacheError::Invalid(format!("{name} cannot be read: {error}")))?;
            (name, text)
        }
    };
    let load = |path: &PathBuf| Ok(Arrangement { scale: 1, ..Arrangement::load(path)? });
    let path = args.input.path();
    let name = path.file_name().unwrap_or(path.as_os_str());
    let asked = AdviseRequest {
        name: name.to_string_lossy().into_owned(),
        object_size: args.object_size,
        threads: args.threads,
        arrangements: args.arrangements.iter().map(load).collect::<Result<_, CacheError>>()?,
        prices: Prices::read(&prices_name, &prices)?,
        prices_name,
        goals: args.goals.clone(),
        today_unix_s: WallAnchor::now().unix_s(),
    };
    advise(&|| Ok(args.input.open_keeping(false)?.reader), &asked)
}

fn document(advice: &Advice) -> Value {
    let mut document = json!(advice);
    document["damage"] = input::damage(advice.damage.as_ref());
    document
}
