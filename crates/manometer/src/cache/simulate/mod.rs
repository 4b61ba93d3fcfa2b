//! `manometer cache simulate`: policies at given cache sizes.

mod evicted;

use manometer_cache::PolicySpec;
use manometer_cache::evictions::evictions;
use manometer_cache::policy::TimeSource;
use manometer_cache::simulate::{SimulationResult, simulate};
use manometer_cache::trace_scan::ExcludedRequests;
use manometer_cache::{CacheError, RequestSequence};
use serde_json::{Value, json};

use self::evicted::{KeyNames, NamedEvictions};
use super::block_size::BlockSize;
use super::capacity::Unit;
use crate::cache::error::refuse;
use crate::exit_status::ExitStatus;
use crate::output::Format;
use crate::table::table;
use crate::trace::input::{self, Parts};

/// Simulate every policy at every capacity, in one pass over the trace.
///
/// Every request except deletes and discards looks up its key. A key that is not cached is a miss; the policy decides
/// about its admission. An object larger than the whole cache is bypassed: a miss that changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer cache simulate OLTP.lis.zst --policy lru,arc --capacity 1000,2000\n  \
    manometer cache simulate cluster52.csv.zst --policy s3-fifo --capacity 64MiB --size-aware\n  \
    manometer cache simulate keys.txt --policy lirs,lru --capacity 3 --evictions")]
pub struct Args {
    #[command(flatten)]
    input: Parts,
    /// Policies, optionally with parameters: `mq:lifetime=5000` (docs/cache-policies.md).
    #[arg(long, value_delimiter = ',', required = true)]
    policy: Vec<String>,
    /// Capacities: objects, or bytes with --size-aware.
    #[arg(long, value_delimiter = ',', required = true)]
    capacity: Vec<String>,
    #[command(flatten)]
    unit: Unit,
    #[command(flatten)]
    blocks: BlockSize,
    /// Seed of randomised policies.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// List what each policy evicts at which request, and the recency of the last requested objects.
    #[arg(long)]
    evictions: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads the trace once, simulates on all cores, and prints the miss ratios.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let (policies, capacities, trace) = match prepared(args) {
        Ok(prepared) => prepared,
        Err(error) => return refuse(&error),
    };
    let requests = &trace.requests;
    let outcomes = simulate(requests, &policies, &capacities, args.unit.size_aware, args.seed);
    let evicted = trace.keys.as_ref().map(|keys| {
        let evictions = evictions(requests, &policies, &capacities, args.unit.size_aware, args.seed);
        NamedEvictions { evictions, keys, policies: &policies, unit: &args.unit }
    });
    args.format.print(
        || document(args, &policies, &outcomes, requests, evicted.as_ref()),
        || {
            let text = text(args, &policies, &capacities, &outcomes, requests);
            evicted.iter().fold(text, |text, evicted| format!("{text}\n\n{}", evicted.text()))
        },
    )?;
    Ok(match requests.damage() {
        None => ExitStatus::Done,
        Some(error) => {
            input::warn_of_damage(&args.input.name(), requests.len() as u64, error);
            ExitStatus::Failed
        }
    })
}

/// The requests of the trace, and with `--evictions` the names of their keys.
struct SimulatedTrace {
    requests: RequestSequence,
    keys: Option<KeyNames>,
}

fn prepared(args: &Args) -> Result<(Vec<PolicySpec>, Vec<u64>, SimulatedTrace), CacheError> {
    let policies = args.policy.iter().map(|text| text.parse()).collect::<Result<Vec<PolicySpec>, _>>()?;
    let capacities = args.unit.capacities(&args.capacity)?;
    let fields = PolicySpec::fields(&policies, args.unit.size_aware);
    let mut reader = args.blocks.open(&args.input, args.evictions)?;
    let trace = if args.evictions {
        let (requests, keys) = RequestSequence::read_with_keys(&mut *reader, fields)?;
        SimulatedTrace { requests, keys: Some(KeyNames::new(keys, reader)) }
    } else {
        SimulatedTrace { requests: RequestSequence::read(&mut *reader, fields)?, keys: None }
    };
    Ok((policies, capacities, trace))
}

fn document(
    args: &Args,
    policies: &[PolicySpec],
    outcomes: &[SimulationResult],
    requests: &RequestSequence,
    evicted: Option<&NamedEvictions<'_>>,
) -> Value {
    let results = outcomes.iter().map(|outcome| {
        let (counters, policy) = (&outcome.counters, &policies[outcome.policy]);
        json!({
            "policy": policy.to_string(),
            "capacity": outcome.capacity,
            "requests": counters.requests,
            "misses": counters.misses,
            "miss_ratio": counters.miss_ratio(),
            "byte_miss_ratio": if requests.sizes().is_empty() { None } else { counters.byte_miss_ratio() },
            "bypassed": counters.bypassed,
            "requests_per_second": policy.requests_per_second(requests),
        })
    });
    let ExcludedRequests { deletes, without_size, without_time } = requests.excluded();
    let mut document = json!({
        "results": results.collect::<Vec<Value>>(),
        "block_size": args.blocks.bytes(),
        "keys": requests.keys(),
        "left_out": { "deletes": deletes, "without_size": without_size, "without_time": without_time },
        "damage": input::damage(requests.damage()),
    });
    if let Some(evicted) = evicted {
        document["evictions"] = evicted.json();
    }
    document
}

fn text(
    args: &Args,
    policies: &[PolicySpec],
    capacities: &[u64],
    outcomes: &[SimulationResult],
    requests: &RequestSequence,
) -> String {
    let sizes: Vec<String> = capacities.iter().map(|capacity| args.unit.text(*capacity)).collect();
    let head: Vec<&str> = std::iter::once("miss ratio").chain(sizes.iter().map(String::as_str)).collect();
    let mut table = table(&head, 1);
    for (policy, outcomes) in policies.iter().zip(outcomes.chunks(capacities.len())) {
        let ratio = |outcome: &SimulationResult| match outcome.counters.miss_ratio() {
            Some(ratio) => format!("{ratio:.4}"),
            None => "–".to_owned(),
        };
        table.add_row(std::iter::once(policy.to_string()).chain(outcomes.iter().map(ratio)));
    }
    let mut lines = vec![
        format!("{}: {} requests for {} keys", args.input.name(), requests.len(), requests.keys()),
        table.to_string(),
    ];
    let ExcludedRequests { deletes, without_size, without_time } = requests.excluded();
    let left_out = [(deletes, "deletes"), (without_size, "requests without a size"), (without_time, "without a time")];
    lines.extend(
        left_out.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("left out: {count} {what}")),
    );
    lines.extend(policies.iter().filter_map(|policy| match policy.time_source(requests)? {
        TimeSource::Trace => Some(format!("{policy}: its clock is that of the trace")),
        TimeSource::RequestRate(requests) => {
            Some(format!("{policy}: the trace has no times; {requests} requests count as a second"))
        }
    }));
    let bypassed = outcomes.iter().filter(|outcome| outcome.counters.bypassed > 0);
    lines.extend(bypassed.map(|outcome| {
        format!(
            "{} at {}: {} requests were for objects larger than the cache",
            policies[outcome.policy],
            args.unit.text(outcome.capacity),
            outcome.counters.bypassed
        )
    }));
    lines.join("\n")
}
