//! `manometer cache advise`: from a trace to a decision.

mod text;

use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::advise::{Advice, AdviseRequest, SHIPPED_PRICES, WORKLOAD, advise};
use manometer_cache::cost::{Goal, Prices};
use manometer_cache::tier::Arrangement;
use manometer_measure::{ByteSize, recording};
use serde_json::{Value, json};

use crate::exit_status::ExitStatus;
use crate::output::Format;
use crate::trace::input::{self, Input};

/// Tell from a trace how much memory to take, which policy, and whether an SSD tier pays.
///
/// One page: the trace's character, all policies against LRU, the curves of the five best, where more memory stops
/// paying, the trace replayed on disks, SSDs and SSDs before disks, what these cost, and what would change the answer.
/// Prices are those of the cache thesis, of 2015, unless others are named.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer cache advise cluster52.csv.zst\n  \
    manometer cache advise web.csv --prices prices.toml --goal 50MB/s --out advice.html")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    /// What devices cost, as TOML (docs/cache-cost.md has the form).
    #[arg(long)]
    prices: Option<PathBuf>,
    /// Try these arrangements, at the sizes that their files say, instead of those that are shipped.
    #[arg(long = "arrangement", value_name = "FILE")]
    arrangements: Vec<PathBuf>,
    /// Find the cheapest arrangement that reaches so much: `50MB/s`, `1000requests/s`.
    #[arg(long = "goal", value_name = "GOAL", value_parser = goal)]
    goals: Vec<Goal>,
    /// Keep so many requests under way at any time where the trace is replayed.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    threads: u32,
    /// What an object takes whose size the trace does not tell.
    #[arg(long, default_value = "4KiB")]
    object_size: ByteSize,
    /// Write it as a page with charts, too: one HTML file that opens anywhere.
    #[arg(long, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn goal(text: &str) -> Result<Goal, String> {
    let wrong = || format!("`{text}` is no goal: write the least, as 50MB/s or 1000requests/s");
    if text.contains(">=") { Err(wrong()) } else { format!("{WORKLOAD}>={text}").parse().map_err(|_| wrong()) }
}

/// Walks over the trace several times.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let advice = match advice(args) {
        Ok(advice) => advice,
        Err(error) => return super::refuse(&error),
    };
    if let Some(path) = &args.out {
        recording::write_file(path, manometer_report::cache_advice(&advice).as_bytes())?;
    }
    args.format.print(|| document(&advice), || text::text(&advice))?;
    if let Some(error) = &advice.damage {
        input::tell_damage(&args.input.name(), advice.character.requests, error);
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
    };
    advise(&|| Ok(args.input.open_keeping(false)?.reader), &asked)
}

fn document(advice: &Advice) -> Value {
    let mut document = json!(advice);
    document["damage"] = input::damage(advice.damage.as_ref());
    document
}
