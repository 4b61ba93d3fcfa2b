//! Whether an SSD tier pays, by the break-even price, with the error of the model and of the prices.

use manometer_measure::Grade;
use manometer_measure::human::bytes;
use serde::Serialize;

use super::model_error::SPEED_UP_ERROR;
use super::pricing::{PricedTier, TierKind};
use super::tier_outcome::TierOutcome;

/// Memory that a small machine can give to a cache: half of 8 GiB, a convention. Data that fit need no tier, since memory
/// answers with less latency what a tier would.
pub const SMALL_MACHINE_MEMORY: u64 = 4 << 30;

/// Whether an SSD tier pays.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SsdVerdict {
    /// The verdict.
    pub verdict: TierOutcome,
    /// Why it is unknown, or does not pay whatever the prices.
    pub reason: Option<String>,
    /// The comparison that decides, if any.
    #[serde(flatten)]
    pub comparison: Option<SsdComparison>,
}

/// The arrangement with a cache and the lowest cost per MB/s, compared with its origin alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SsdComparison {
    /// The arrangement.
    pub arrangement: String,
    /// Its origin without the cache.
    pub alone: String,
    /// Its throughput divided by that of the origin alone.
    pub times_as_fast: f64,
    /// The ends of that, with the model's error.
    pub times_interval: [f64; 2],
    /// The break-even price per GB of SSD.
    pub break_even_per_gb: f64,
    /// Its ends, with the error of the model and of the disks' prices.
    pub break_even_interval: [f64; 2],
    /// The current price per GB.
    pub per_gb_now: f64,
    /// Its lowest and highest offer.
    pub per_gb_interval: [f64; 2],
    /// Whether it pays at half the price, beyond the errors.
    pub pays_at_half: bool,
    /// Whether it pays at twice the price, beyond the errors.
    pub pays_at_twice: bool,
}

impl SsdVerdict {
    /// The verdict for data of `footprint_bytes`.
    pub(super) fn of(tiers: &[PricedTier], footprint_bytes: u64) -> Self {
        let without = |verdict, reason: &str| Self { verdict, reason: Some(reason.to_owned()), comparison: None };
        if footprint_bytes <= SMALL_MACHINE_MEMORY {
            let [data, memory] = [footprint_bytes, SMALL_MACHINE_MEMORY].map(bytes);
            let reason =
                format!("all that the trace touches, {data}, fits into {memory}, the memory of a small machine");
            return Self { comparison: compare(tiers).ok(), ..without(TierOutcome::DoesNotPay, &reason) };
        }
        match compare(tiers) {
            Ok(comparison) => Self { verdict: comparison.outcome(1.0), reason: None, comparison: Some(comparison) },
            Err(reason) => without(TierOutcome::Unknown, &reason),
        }
    }

    /// Whether the prices decide: not if the data fit into memory, or if a figure is missing.
    pub fn priced(&self) -> Option<&SsdComparison> {
        self.comparison.as_ref().filter(|_| self.reason.is_none())
    }

    /// What the verdict may be used for. That of the model is an indication: it was compared with one machine.
    pub fn grade(&self) -> Grade {
        match self.verdict {
            TierOutcome::DoesNotPay if self.reason.is_some() => Grade::Sound,
            TierOutcome::Pays | TierOutcome::DoesNotPay => Grade::Indicative,
            TierOutcome::TooCloseToCall | TierOutcome::Unknown => Grade::Void,
        }
    }
}

/// The index of the arrangement with a cache and the lowest cost per MB/s among those with a known break-even.
pub fn best_cached(tiers: &[PricedTier]) -> Option<usize> {
    let known = |place: &usize| tiers[*place].tier == TierKind::Cached && tiers[*place].break_even_per_gb.is_some();
    let cost = |place: &usize| tiers[*place].cost_per_mb_per_s;
    (0..tiers.len()).filter(known).min_by(|one, other| cost(one).total_cmp(&cost(other)))
}

fn compare(tiers: &[PricedTier]) -> Result<SsdComparison, String> {
    let Some(best) = best_cached(tiers).and_then(|place| tiers.get(place)) else {
        let reason = tiers.iter().find_map(|tier| tier.break_even_reason.as_deref());
        return Err(reason.unwrap_or("no arrangement has an SSD before disks").to_owned());
    };
    let alone = best.alone.and_then(|alone| tiers.get(alone));
    let prices = best.break_even_per_gb.zip(best.break_even_interval).zip(best.per_gb_now.zip(best.per_gb_interval));
    let Some((alone, ((break_even_per_gb, break_even_interval), (per_gb_now, per_gb_interval)))) = alone.zip(prices)
    else {
        return Err("the arrangement without SSDs was not simulated".to_owned());
    };
    let times_as_fast = best.mb_per_s / alone.mb_per_s;
    let mut comparison = SsdComparison {
        arrangement: best.arrangement.clone(),
        alone: alone.arrangement.clone(),
        times_as_fast,
        times_interval: [times_as_fast / SPEED_UP_ERROR, times_as_fast * SPEED_UP_ERROR],
        break_even_per_gb,
        break_even_interval,
        per_gb_now,
        per_gb_interval,
        pays_at_half: false,
        pays_at_twice: false,
    };
    comparison.pays_at_half = comparison.outcome(0.5) == TierOutcome::Pays;
    comparison.pays_at_twice = comparison.outcome(2.0) == TierOutcome::Pays;
    Ok(comparison)
}

impl SsdComparison {
    /// The verdict at a multiple of the current price.
    pub(super) fn outcome(&self, factor: f64) -> TierOutcome {
        TierOutcome::of(self.break_even_interval, self.per_gb_interval.map(|price| factor * price))
    }
}
