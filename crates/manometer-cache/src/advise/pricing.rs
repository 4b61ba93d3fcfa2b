//! The cost of arrangements for their throughput.

use serde::Serialize;

use super::model_error::SPEED_UP_ERROR;
use super::replay::ReplayResult;
use crate::CacheError;
use crate::cost::{self, ArrangementResult, BreakEven, CostRule, DeviceLevel, Prices, break_even, compute_costs};
use crate::raid_level::RaidLevel;
use crate::tier::Arrangement;

/// The name of a trace's results in a goal.
pub const WORKLOAD: &str = "trace";

/// The kind of an arrangement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TierKind {
    /// Disks only.
    Disks,
    /// SSDs only.
    Ssds,
    /// SSDs as a cache in front of disks or other SSDs.
    Cached,
}

/// An arrangement with its throughput and cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PricedTier {
    /// Its name.
    pub arrangement: String,
    /// Its kind.
    pub tier: TierKind,
    /// Throughput in 10^6 bytes per second.
    pub mb_per_s: f64,
    /// Throughput in requests per second.
    pub requests_per_s: f64,
    /// Mean latency in microseconds, with a fixed number of requests in flight: a closed loop.
    pub latency_mean_us: f64,
    /// The share of pages read that were found in memory.
    pub ram_hit_ratio: Option<f64>,
    /// The share of blocks requested of the cache that hit.
    pub cache_hit_ratio: Option<f64>,
    /// Total cost, by the cost rule.
    pub cost: f64,
    /// Cost per MB/s.
    pub cost_per_mb_per_s: f64,
    /// Cost per 1,000 requests per second.
    pub cost_per_1000_requests_per_s: Option<f64>,
    /// The index of the arrangement with the same origin and no cache.
    pub alone: Option<usize>,
    /// The break-even price per GB of the cache's devices, at which it costs as much per MB/s as the origin alone.
    pub break_even_per_gb: Option<f64>,
    /// Its ends, with the error of the model and of the origin's price.
    pub break_even_interval: Option<[f64; 2]>,
    /// The current price per GB.
    pub per_gb_now: Option<f64>,
    /// Its lowest and highest offer.
    pub per_gb_interval: Option<[f64; 2]>,
    /// Why there is no break-even.
    pub break_even_reason: Option<String>,
}

/// Arrangements with their costs.
#[derive(Debug, Clone)]
pub struct PricedTiers {
    /// In the given order.
    pub tiers: Vec<PricedTier>,
    /// The results as [`cost`] uses them.
    pub outcomes: Vec<ArrangementResult>,
    /// Their costs.
    pub costs: Vec<cost::ArrangementCost>,
    /// Whether prices per GB were used, because some devices have no other.
    pub is_per_gb: bool,
}

/// Computes the cost of arrangements: that of whole devices or, if one of them has only a price per GB, the cost per
/// GB.
///
/// # Errors
/// A device has no price, or is too small.
pub fn price(ran: &[ReplayResult], prices: &Prices) -> Result<PricedTiers, CacheError> {
    let outcomes: Vec<ArrangementResult> = ran.iter().map(outcome).collect();
    let mut is_per_gb = false;
    for level in outcomes.iter().flat_map(ArrangementResult::levels) {
        is_per_gb |= prices.of(&level.device)?.size_gb.is_none();
    }
    let rule = if is_per_gb { CostRule::PerGb } else { CostRule::Money { years: None } };
    let costs = compute_costs(&outcomes, prices, rule)?.costs;
    let even = break_even(&outcomes, &costs);
    let ends = break_even_ends(&outcomes, prices, rule)?;
    let tiers = ran.iter().zip(&costs).enumerate();
    let tiers = tiers.map(|(place, (ran, cost))| {
        let even = even.iter().find(|(index, _)| *index == place).map(|(_, even)| even);
        let mut tier = tier(ran, cost, even, prices)?;
        tier.break_even_interval = ends[place];
        Ok(tier)
    });
    Ok(PricedTiers { tiers: tiers.collect::<Result<_, CacheError>>()?, outcomes, costs, is_per_gb })
}

/// The ends of the break-even price of each result: of what follows where the model's speed-up is too low or too high,
/// and the price of the origin is at its lowest or highest. It rises or falls with each, so that its ends are at theirs.
fn break_even_ends(
    outcomes: &[ArrangementResult],
    prices: &Prices,
    rule: CostRule,
) -> Result<Vec<Option<[f64; 2]>>, CacheError> {
    let mut ends: Vec<Option<[f64; 2]>> = vec![None; outcomes.len()];
    for prices in [prices.at_lowest(), prices.at_highest()] {
        for factor in [1.0 / SPEED_UP_ERROR, SPEED_UP_ERROR] {
            let outcomes: Vec<ArrangementResult> = outcomes.iter().map(|outcome| faster(outcome, factor)).collect();
            let costs = compute_costs(&outcomes, &prices, rule)?.costs;
            for (place, even) in break_even(&outcomes, &costs) {
                if let BreakEven::At { per_gb, .. } = even {
                    let [low, high] = ends[place].unwrap_or([per_gb; 2]);
                    ends[place] = Some([low.min(per_gb), high.max(per_gb)]);
                }
            }
        }
    }
    Ok(ends)
}

/// The result with a throughput that is a factor higher, if it has a cache.
fn faster(outcome: &ArrangementResult, factor: f64) -> ArrangementResult {
    let factor = if outcome.cache.is_some() { factor } else { 1.0 };
    ArrangementResult { mb_per_s: outcome.mb_per_s * factor, ..outcome.clone() }
}

fn tier(
    ran: &ReplayResult,
    cost: &cost::ArrangementCost,
    even: Option<&BreakEven>,
    prices: &Prices,
) -> Result<PricedTier, CacheError> {
    let ReplayResult { arrangement, outcome } = ran;
    let cache_price = arrangement.cache.as_ref().map(|cache| prices.of(&cache.device)).transpose()?;
    let is_flash = prices.of(&arrangement.origin.device)?.kind == cost::DeviceKind::Ssd;
    let (alone, break_even_per_gb, per_gb_now, break_even_reason) = match even {
        Some(BreakEven::At { alone, per_gb, per_gb_now }) => (Some(*alone), Some(*per_gb), Some(*per_gb_now), None),
        Some(BreakEven::Unknown(reason)) => (None, None, None, Some(reason.clone())),
        None => (None, None, None, None),
    };
    Ok(PricedTier {
        arrangement: arrangement.name.clone(),
        tier: match (&arrangement.cache, is_flash) {
            (Some(_), _) => TierKind::Cached,
            (None, true) => TierKind::Ssds,
            (None, false) => TierKind::Disks,
        },
        mb_per_s: outcome.mb_per_s,
        requests_per_s: outcome.requests_per_s,
        latency_mean_us: outcome.latency_mean_us,
        ram_hit_ratio: outcome.ram_hit_ratio,
        cache_hit_ratio: outcome.hit_ratio,
        cost: cost.total,
        cost_per_mb_per_s: cost.per_mb_per_s,
        cost_per_1000_requests_per_s: cost.per_1000_requests_per_s,
        alone,
        break_even_per_gb,
        break_even_interval: None,
        per_gb_now,
        per_gb_interval: per_gb_now.and(cache_price).map(|price| price.per_gb_interval),
        break_even_reason,
    })
}

fn outcome(ran: &ReplayResult) -> ArrangementResult {
    let ReplayResult { arrangement: Arrangement { name, origin, cache, .. }, outcome } = ran;
    ArrangementResult {
        arrangement: name.clone(),
        workload: WORKLOAD.to_owned(),
        mb_per_s: outcome.mb_per_s,
        requests_per_s: Some(outcome.requests_per_s),
        seconds: Some(outcome.seconds),
        origin: level(&origin.device, origin.count, origin.size.0, origin.raid),
        cache: cache.as_ref().map(|cache| level(&cache.device, cache.count, cache.size.0, cache.raid)),
        ssd_bytes_written: outcome.ssd_bytes_written.map(|bytes| bytes as f64),
    }
}

fn level(device: &str, count: u64, bytes: u64, raid: RaidLevel) -> DeviceLevel {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    DeviceLevel { device: device.to_owned(), count, bytes: bytes as f64, raid }
}

#[cfg(test)]
mod tests {
    use manometer_measure::ByteSize;

    use super::*;
    use crate::advise::basis::tests_trace;
    use crate::advise::replay::ReplayInput;
    use crate::advise::{SHIPPED_PRICES, TierSizes, shipped};

    fn ran() -> Vec<ReplayResult> {
        let text: String = (0..3000).map(|request| format!("{}\n", request * 7919 % 2003)).collect();
        let replayed = ReplayInput::read(&mut *tests_trace(&text), 3000, 16, ByteSize(4096)).unwrap();
        replayed.on(shipped(&TierSizes::of(replayed.bytes(), 1 << 20)).unwrap()).unwrap()
    }

    #[test]
    fn every_cache_is_set_against_its_origin() {
        let priced = price(&ran(), &Prices::read(SHIPPED_PRICES.0, SHIPPED_PRICES.1).unwrap()).unwrap();
        assert!(priced.is_per_gb, "the shipped means are by the GB");
        for tier in &priced.tiers {
            assert_eq!(tier.break_even_per_gb.is_some(), tier.tier == TierKind::Cached, "{}", tier.arrangement);
            assert_eq!(tier.break_even_reason, None);
            let (Some(even), Some([low, high])) = (tier.break_even_per_gb, tier.break_even_interval) else { continue };
            assert!(low < even && even < high, "{}: {low} {even} {high}", tier.arrangement);
        }
        let of = |name: &str| priced.tiers.iter().position(|tier| tier.arrangement == name).unwrap();
        assert_eq!(priced.tiers[of("dmcache-1s-4h0")].alone, Some(of("4h0")));
        assert_eq!(priced.tiers[of("1s")].tier, TierKind::Ssds);
        let prices = Prices::read(SHIPPED_PRICES.0, SHIPPED_PRICES.1).unwrap();
        assert!((priced.tiers[of("4h0")].cost - 4.0 * prices.of("hdd").unwrap().per_gb).abs() < 1e-12);
    }

    #[test]
    fn the_ends_of_the_break_even_are_those_of_the_speed_up_and_of_the_price_of_disks() {
        let prices = Prices::read(SHIPPED_PRICES.0, SHIPPED_PRICES.1).unwrap();
        let priced = price(&ran(), &prices).unwrap();
        let of = |name: &str| priced.tiers.iter().find(|tier| tier.arrangement == name).unwrap();
        let (cached, alone) = (of("dmcache-1s-4h0"), of("4h0"));
        // 0.2 p + 4 c_h = 4 c_h times the speed-up.
        let disks = prices.of("hdd").unwrap();
        let even = |per_gb: f64, speed_up: f64| 4.0 * per_gb * (speed_up - 1.0) / 0.2;
        let speed_up = cached.mb_per_s / alone.mb_per_s;
        let near = |ours: f64, right: f64| assert!((ours - right).abs() < 1e-12, "{ours} is not {right}");
        near(cached.break_even_per_gb.unwrap(), even(disks.per_gb, speed_up));
        let [low, high] = cached.break_even_interval.unwrap();
        let slow = speed_up / SPEED_UP_ERROR;
        let [cheap, dear] = disks.per_gb_interval;
        near(low, even(if slow < 1.0 { dear } else { cheap }, slow));
        near(high, even(dear, speed_up * SPEED_UP_ERROR));
        assert_eq!(cached.per_gb_interval, Some(prices.of("ssd").unwrap().per_gb_interval));
    }

    #[test]
    fn a_device_without_a_price_is_named() {
        let prices = "[[price]]\ndevice = \"hdd\"\nproduct = \"a disk\"\nkind = \"hdd\"\nprice_per_gb = 0.02\n\
                      currency = \"EUR\"\ndate = 2026\nsource = \"a shop\"\n";
        let error = price(&ran(), &Prices::read("shop.toml", prices).unwrap()).unwrap_err().to_string();
        assert_eq!(error, "`ssd` has no price; these have: hdd");
    }
}
