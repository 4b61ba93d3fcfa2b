//! The costs, computed.

use std::collections::HashMap;
use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::cost::{
    ArrangementResult, BreakEven, CostReport, CostRule, GoalVerdict, Prices, break_even, compute_costs, evaluate_goals,
    read_results,
};

use super::args::Args;

/// The costs, the break-even prices and the goals.
pub(super) struct CostResults {
    pub(super) outcomes: Vec<ArrangementResult>,
    pub(super) prices: Prices,
    pub(super) bill: CostReport,
    pub(super) break_even: Vec<(usize, BreakEven)>,
    pub(super) verdict: Option<GoalVerdict>,
}

/// Reads prices and results, and computes the costs.
pub(super) fn cost_results(args: &Args) -> Result<CostResults, CacheError> {
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
    Ok(CostResults { outcomes, prices, bill, break_even, verdict })
}

fn rule(args: &Args) -> Result<CostRule, CacheError> {
    match args.years {
        _ if args.per_gb => Ok(CostRule::PerGb),
        Some(years) if !(years.is_finite() && years > 0.0) => {
            Err(CacheError::Invalid(format!("--years {years}: write a number above zero")))
        }
        years => Ok(CostRule::Money { years }),
    }
}

/// Replaces devices of the results by others, all at once.
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
