//! The costs, computed.

use std::path::PathBuf;

use manometer_cache::CacheError;
use manometer_cache::cost::{
    ArrangementResult, BreakEven, CostReport, CostRule, GoalVerdict, Price, Prices, break_even, compute_costs,
    evaluate_goals, price_age_years, price_as, read_results,
};
use manometer_measure::clock::WallAnchor;

use super::args::Args;

/// The costs, the break-even prices and the goals.
pub(super) struct CostResults {
    pub(super) outcomes: Vec<ArrangementResult>,
    pub(super) prices: Prices,
    pub(super) bill: CostReport,
    pub(super) break_even: Vec<(usize, BreakEven)>,
    pub(super) verdict: Option<GoalVerdict>,
    /// Seconds since the Unix epoch, from which the ages of prices follow.
    pub(super) today_unix_s: u64,
}

impl CostResults {
    /// The age of a price of `date`, in years.
    pub(super) fn age_years(&self, date: &str) -> f64 {
        price_age_years(date, self.today_unix_s)
    }

    /// The prices of devices in the results.
    pub(super) fn used_prices(&self) -> impl Iterator<Item = &Price> {
        let is_used = |price: &&Price| {
            self.outcomes.iter().flat_map(ArrangementResult::levels).any(|level| level.device == price.device)
        };
        self.prices.devices.iter().filter(is_used)
    }
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
    Ok(CostResults { outcomes, prices, bill, break_even, verdict, today_unix_s: WallAnchor::now().unix_s() })
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
