//! The cost of arrangements.

use super::parts::CostParts;
use super::price::Prices;
use super::result::ArrangementResult;
use super::rule::CostRule;
use super::ssd_life::SsdLife;
use crate::error::CacheError;
use crate::raid_level::RaidLevel;

/// The cost of an arrangement on a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrangementCost {
    /// The total cost.
    pub total: f64,
    /// The initial cost of the devices.
    pub devices: f64,
    /// The cost of energy over the years, if known.
    pub energy: Option<f64>,
    /// The cost of replacing worn SSDs over the years, if known.
    pub replacement: Option<f64>,
    /// Total per MB/s.
    pub per_mb_per_s: f64,
    /// Total per 1,000 requests per second.
    pub per_1000_requests_per_s: Option<f64>,
    /// The lifetime of the SSDs.
    pub life: SsdLife,
    /// The GB of the cache that are paid for, and their price per GB.
    pub cache_gb: Option<(f64, f64)>,
}

/// The costs of all arrangements, computed by the same rule.
#[derive(Debug, Clone, PartialEq)]
pub struct CostReport {
    /// The cost of each result.
    pub costs: Vec<ArrangementCost>,
    /// Why energy is not included.
    pub energy_left_out: Option<String>,
    /// Why replacement of SSDs is not included.
    pub replacement_left_out: Option<String>,
    /// Arrangements with devices bought by the GB that were assumed to have no redundancy, because their `raid` is
    /// unknown.
    pub raid_unknown: Vec<String>,
}

/// Computes the costs of arrangements. Energy and replacement over the years are included if they are known for all
/// results, so that totals are comparable.
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
