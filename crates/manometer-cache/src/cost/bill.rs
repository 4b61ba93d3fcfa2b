//! What each arrangement costs.

use super::parts::CostParts;
use super::price::Prices;
use super::result::ArrangementResult;
use super::rule::CostRule;
use super::ssd_life::SsdLife;
use crate::error::CacheError;
use crate::raid_level::RaidLevel;

/// What one arrangement costs on one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrangementCost {
    /// All that is counted.
    pub total: f64,
    /// The devices, when they are bought first.
    pub devices: f64,
    /// Their energy over the years, where it is known.
    pub energy: Option<f64>,
    /// SSDs bought anew over the years, where it is known.
    pub replacement: Option<f64>,
    /// The total by MB/s.
    pub per_mb_per_s: f64,
    /// The total by 1,000 requests per second.
    pub per_1000_requests_per_s: Option<f64>,
    /// How long the SSDs last.
    pub life: SsdLife,
    /// The GB of the cache that are counted, and the price of each.
    pub cache_gb: Option<(f64, f64)>,
}

/// What all arrangements cost, counted alike.
#[derive(Debug, Clone, PartialEq)]
pub struct CostReport {
    /// A cost for each outcome.
    pub costs: Vec<ArrangementCost>,
    /// Why energy is in no total.
    pub energy_left_out: Option<String>,
    /// Why SSDs bought anew are in no total.
    pub replacement_left_out: Option<String>,
    /// Arrangements with devices bought by the GB that were taken to hold nothing twice, as their `raid` is unknown.
    pub raid_unknown: Vec<String>,
}

/// Counts what the arrangements cost. Over years, energy and SSDs bought anew count where they are known for all
/// outcomes, else for none: totals must compare.
///
/// # Errors
/// A device has no price, or is too small.
pub fn compute_costs(
    outcomes: &[ArrangementResult],
    prices: &Prices,
    rule: CostRule,
) -> Result<CostReport, CacheError> {
    let parts = |outcome: &ArrangementResult| {
        let parts = CostParts::of(outcome, prices, rule);
        parts.map_err(|error| CacheError::Invalid(format!("{}: {error}", outcome.name())))
    };
    let parts: Vec<CostParts> = outcomes.iter().map(parts).collect::<Result<_, _>>()?;
    let over_years = matches!(rule, CostRule::Money { years: Some(_) });
    let energy_left_out = over_years.then(|| no_energy(outcomes, &parts, prices)).flatten();
    let replacement_left_out = over_years.then(|| no_replacement(outcomes, &parts)).flatten();
    let counts = [over_years && energy_left_out.is_none(), over_years && replacement_left_out.is_none()];
    let costs =
        outcomes.iter().zip(parts).map(|(outcome, parts)| ArrangementCost::of(outcome, parts, counts)).collect();
    let raid_unknown = match rule {
        CostRule::Money { .. } => raid_unknown(outcomes, prices),
        CostRule::PerGb => Vec::new(),
    };
    Ok(CostReport { costs, energy_left_out, replacement_left_out, raid_unknown })
}

impl ArrangementCost {
    fn of(outcome: &ArrangementResult, parts: CostParts, [energy_counts, replacement_counts]: [bool; 2]) -> Self {
        let CostParts { devices, energy, replacement, life, cache } = parts;
        let counted = |part: Option<f64>, counts: bool| part.filter(|_| counts).unwrap_or(0.0);
        let total = devices + counted(energy, energy_counts) + counted(replacement, replacement_counts);
        let per_1000_requests_per_s = outcome.requests_per_s.map(|requests| total / (requests / 1000.0));
        let cache_gb = cache.map(|cache| {
            let replacements = if replacement_counts { cache.replacements } else { 0.0 };
            (cache.gb * (1.0 + replacements), cache.per_gb)
        });
        let per_mb_per_s = total / outcome.mb_per_s;
        Self { total, devices, energy, replacement, per_mb_per_s, per_1000_requests_per_s, life, cache_gb }
    }
}

fn no_energy(outcomes: &[ArrangementResult], parts: &[CostParts], prices: &Prices) -> Option<String> {
    let (outcome, _) = outcomes.iter().zip(parts).find(|(_, parts)| parts.energy.is_none())?;
    let unrated = outcome.levels().find(|level| prices.of(&level.device).is_ok_and(|price| price.watts.is_none()));
    Some(match unrated {
        Some(level) => format!("the prices have no `watts` for `{}`", level.device),
        None => "the prices have no `[electricity]`".to_owned(),
    })
}

fn no_replacement(outcomes: &[ArrangementResult], parts: &[CostParts]) -> Option<String> {
    outcomes.iter().zip(parts).find_map(|(outcome, parts)| match &parts.life {
        SsdLife::Unknown(reason) => Some(format!("{}: {reason}", outcome.name())),
        _ => None,
    })
}

fn raid_unknown(outcomes: &[ArrangementResult], prices: &Prices) -> Vec<String> {
    let by_gb = |device: &str| prices.of(device).is_ok_and(|price| price.size_gb.is_none());
    let doubtful = |outcome: &&ArrangementResult| {
        outcome.levels().any(|level| level.count > 1 && level.raid == RaidLevel::None && by_gb(&level.device))
    };
    let mut names: Vec<String> = outcomes.iter().filter(doubtful).map(|outcome| outcome.arrangement.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
