//! `manometer cache cost`: what arrangements cost for what they do.

mod args;
mod json;
mod text;

use std::collections::HashMap;
use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::cost::{
    ArrangementResult, BreakEven, CostReport, CostRule, GoalVerdict, Prices, break_even, compute_costs, evaluate_goals,
    read_results,
};

use crate::exit_status::ExitStatus;

pub use self::args::Args;

/// All that is told.
struct Told {
    outcomes: Vec<ArrangementResult>,
    prices: Prices,
    bill: CostReport,
    break_even: Vec<(usize, BreakEven)>,
    verdict: Option<GoalVerdict>,
}

/// Reads prices and results, and counts.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let told = match told(args) {
        Ok(told) => told,
        Err(error) => return super::refuse(&error),
    };
    args.format.print(|| json::document(args, &told), || text::text(args, &told))?;
    let missed = told.verdict.is_some_and(|verdict| verdict.meeting.is_empty());
    Ok(if missed { ExitStatus::No } else { ExitStatus::Done })
}

fn told(args: &Args) -> Result<Told, CacheError> {
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok((name, text)),
            Err(error) => Err(CacheError::Invalid(format!("{name} cannot be read: {error}"))),
        }
    };
    let (name, content) = read(&args.prices)?;
    let prices = Prices::read(&name, &content)?;
    let files = args.results.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut outcomes = read_results(&files)?;
    exchange(&args.priced_as, &mut outcomes, &prices)?;
    let bill = compute_costs(&outcomes, &prices, rule(args)?)?;
    let break_even = break_even(&outcomes, &bill.costs);
    let verdict = match args.goals.as_slice() {
        [] => None,
        goals => Some(evaluate_goals(goals, &outcomes, &bill.costs)?),
    };
    Ok(Told { outcomes, prices, bill, break_even, verdict })
}

fn rule(args: &Args) -> Result<CostRule, CacheError> {
    match args.years {
        _ if args.per_gb => Ok(CostRule::PerGb),
        Some(years) if !(years.is_finite() && years > 0.0) => {
            Err(CacheError::Invalid(format!("--years {years}: it has to be above zero")))
        }
        years => Ok(CostRule::Money { years }),
    }
}

/// Exchanges devices of the results for others, all at once.
fn exchange(exchanges: &[String], outcomes: &mut [ArrangementResult], prices: &Prices) -> Result<(), CacheError> {
    let wrong = |exchange: &str, reason: &str| CacheError::Invalid(format!("--priced-as {exchange}: {reason}"));
    let mut renamed = HashMap::new();
    for exchange in exchanges {
        let (from, to) = exchange.split_once('=').ok_or_else(|| wrong(exchange, "write it as ssd=intel-320"))?;
        prices.of(to).map_err(|error| wrong(exchange, &error.to_string()))?;
        if !outcomes.iter().flat_map(ArrangementResult::levels).any(|level| level.device == from) {
            return Err(wrong(exchange, &format!("the results have no `{from}`")));
        }
        if renamed.insert(from, to).is_some() {
            return Err(wrong(exchange, &format!("`{from}` is priced twice")));
        }
    }
    for outcome in outcomes {
        for level in std::iter::once(&mut outcome.origin).chain(&mut outcome.cache) {
            if let Some(to) = renamed.get(level.device.as_str()) {
                level.device = (*to).to_owned();
            }
        }
    }
    Ok(())
}
