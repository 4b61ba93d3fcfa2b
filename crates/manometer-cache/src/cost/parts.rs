//! The parts of an arrangement's cost.

use super::device_level::DeviceLevel;
use super::price::{DeviceKind, Price, Prices};
use super::result::ArrangementResult;
use super::rule::CostRule;
use super::ssd_life::{DAYS_PER_YEAR, SsdLife};
use crate::CacheError;

/// The parts of a cost, if required and known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CostParts {
    pub(super) devices: f64,
    pub(super) energy: Option<f64>,
    pub(super) replacement: Option<f64>,
    pub(super) life: SsdLife,
    pub(super) cache: Option<CachePart>,
}

/// The part of a cost that depends on the cache's price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CachePart {
    pub(super) per_gb: f64,
    /// GB bought initially.
    pub(super) gb: f64,
    /// The number of replacements.
    pub(super) replacements: f64,
}

/// A level, the price of its devices, and the GB bought.
struct PurchasedLevel<'a> {
    level: &'a DeviceLevel,
    price: &'a Price,
    gb: f64,
}

impl PurchasedLevel<'_> {
    fn cost(&self) -> f64 {
        self.price.per_gb * self.gb
    }

    fn is_flash(&self) -> bool {
        self.price.kind == DeviceKind::Ssd
    }
}

impl CostParts {
    pub(super) fn of(outcome: &ArrangementResult, prices: &Prices, rule: CostRule) -> Result<Self, CacheError> {
        let bought = |level| purchase_level(level, outcome, prices, rule);
        let levels: Vec<PurchasedLevel<'_>> = outcome.levels().map(bought).collect::<Result<_, _>>()?;
        let flash: Vec<(&DeviceLevel, &Price)> =
            levels.iter().filter(|bought| bought.is_flash()).map(|bought| (bought.level, bought.price)).collect();
        let life = SsdLife::of(outcome, &flash);
        let years = match rule {
            CostRule::Money { years } => years,
            CostRule::PerGb => None,
        };
        let replacements = years.and_then(|years| life.replacements(years));
        let flash_cost: f64 = levels.iter().filter(|bought| bought.is_flash()).map(PurchasedLevel::cost).sum();
        Ok(Self {
            devices: levels.iter().map(PurchasedLevel::cost).sum(),
            energy: years.and_then(|years| energy(&levels, prices, years)),
            replacement: replacements.map(|replacements| replacements * flash_cost),
            life,
            cache: levels.get(1).map(|cache| CachePart {
                per_gb: cache.price.per_gb,
                gb: cache.gb,
                replacements: if cache.is_flash() { replacements.unwrap_or(0.0) } else { 0.0 },
            }),
        })
    }
}

fn purchase_level<'a>(
    level: &'a DeviceLevel,
    outcome: &ArrangementResult,
    prices: &'a Prices,
    rule: CostRule,
) -> Result<PurchasedLevel<'a>, CacheError> {
    let price = prices.of(&level.device)?;
    let gb = match rule {
        CostRule::Money { .. } => price.gb_bought(level)?,
        CostRule::PerGb => f64::from(level.count) * level.bytes / outcome.origin.bytes,
    };
    Ok(PurchasedLevel { level, price, gb })
}

fn energy(levels: &[PurchasedLevel<'_>], prices: &Prices, years: f64) -> Option<f64> {
    let watts = |bought: &PurchasedLevel<'_>| Some(bought.price.watts? * f64::from(bought.level.count));
    let watts: f64 = levels.iter().map(watts).sum::<Option<f64>>()?;
    Some(watts / 1000.0 * 24.0 * DAYS_PER_YEAR * years * prices.electricity.as_ref()?.per_kwh)
}
