//! The costs, computed.

use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::cost::{
    ArrangementResult, BreakEven, CostReport, CostRule, GoalVerdict, Prices, break_even, compute_costs, evaluate_goals,
    price_as, read_results,
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
    price_as(&args.priced_as, &mut outcomes, &prices)?;
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
