//! The sentences on SSD tiers.

use manometer_measure::human::significant;

use super::model_error::SPEED_UP_ERROR;
use super::pricing::{PricedTier, TierKind};
use super::replay::{SensitivityChange, SensitivityResult};
use super::ssd_verdict::{SsdComparison, SsdVerdict};
use super::tier_outcome::TierOutcome;

/// The prices, as sentences name them.
#[derive(Debug, Clone, Copy)]
pub struct NamedPrices<'a> {
    /// The currency.
    pub currency: &'a str,
    /// The dates of the devices in use.
    pub dates: &'a str,
    /// The age of the oldest, if it is old.
    pub old_years: Option<f64>,
}

impl NamedPrices<'_> {
    fn named(&self) -> String {
        match self.old_years {
            Some(years) => format!("{}, {years:.0} years old", self.dates),
            None => self.dates.to_owned(),
        }
    }
}

/// Whether an SSD tier pays.
pub(super) fn ssd_sentence(ssd: &SsdVerdict, prices: &NamedPrices<'_>) -> String {
    if let Some(reason) = &ssd.reason {
        return match ssd.verdict {
            TierOutcome::DoesNotPay => {
                format!("No SSD tier is recommended: {reason}. Reads then need no other storage.")
            }
            _ => format!("Whether an SSD tier pays is unknown: {reason}."),
        };
    }
    let Some(comparison) = &ssd.comparison else { return String::new() };
    let verdict = match ssd.verdict {
        TierOutcome::Pays => "An SSD tier pays",
        TierOutcome::DoesNotPay => "An SSD tier does not pay",
        TierOutcome::TooCloseToCall | TierOutcome::Unknown => "Whether an SSD tier pays is too close to call",
    };
    format!("{verdict} at these prices ({}): {}", prices.named(), figures(comparison, prices.currency))
}

fn figures(comparison: &SsdComparison, currency: &str) -> String {
    let SsdComparison { arrangement, alone, times_as_fast, times_interval, .. } = comparison;
    let SsdComparison { break_even_per_gb, break_even_interval, per_gb_now, per_gb_interval, .. } = comparison;
    let limit = match break_even_interval[1] > 0.0 {
        true => format!(
            "Break-even price: {} {currency} per GB ({})",
            significant(*break_even_per_gb),
            interval(*break_even_interval)
        ),
        false => "It pays at no price".to_owned(),
    };
    let offers = match per_gb_interval[0] < per_gb_interval[1] {
        true => format!(" ({})", interval(*per_gb_interval)),
        false => String::new(),
    };
    format!(
        "{arrangement} is {} times as fast as {alone} ({} with the model's error). {limit}; SSDs cost {} {currency} per \
         GB{offers}.",
        significant(*times_as_fast),
        interval(*times_interval),
        significant(*per_gb_now)
    )
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{} to {}", significant(low), significant(high))
}

/// The arrangement with the lowest cost per MB/s, and those that the model's error puts beside it.
pub(super) fn cheapest_sentence(tiers: &[PricedTier], currency: &str) -> Option<String> {
    let cheapest = cheapest(tiers)?;
    let what = match cheapest.tier {
        TierKind::Disks => "disks only",
        TierKind::Ssds => "SSDs only",
        TierKind::Cached => "an SSD before disks",
    };
    let limit = cheapest.cost_per_mb_per_s * SPEED_UP_ERROR;
    let is_near = |tier: &&PricedTier| tier.arrangement != cheapest.arrangement && tier.cost_per_mb_per_s <= limit;
    let near: Vec<&str> = tiers.iter().filter(is_near).map(|tier| tier.arrangement.as_str()).collect();
    let near = match near.is_empty() {
        true => String::new(),
        false => format!(" Within the model's error: {}.", near.join(", ")),
    };
    let (name, cost) = (&cheapest.arrangement, significant(cheapest.cost_per_mb_per_s));
    let speed = significant(cheapest.mb_per_s);
    Some(format!("Lowest cost per MB/s in the model: {name}, {what}, {cost} {currency}, at {speed} MB/s.{near}"))
}

/// The arrangement with the lowest cost per MB/s.
pub(super) fn cheapest(tiers: &[PricedTier]) -> Option<&PricedTier> {
    tiers.iter().min_by(|one, other| one.cost_per_mb_per_s.total_cmp(&other.cost_per_mb_per_s))
}

/// The verdict with each of some changes.
pub(super) fn ssd_sensitivity(comparison: &SsdComparison, varied: &[SensitivityResult]) -> String {
    let mut tried = vec![
        ("half the price of SSDs".to_owned(), comparison.outcome(0.5)),
        ("twice the price of SSDs".to_owned(), comparison.outcome(2.0)),
    ];
    tried.extend(varied.iter().map(|varied| (change(varied.change), varied.verdict)));
    let words = [
        (TierOutcome::Pays, "it pays"),
        (TierOutcome::TooCloseToCall, "it is too close to call"),
        (TierOutcome::DoesNotPay, "it does not pay"),
        (TierOutcome::Unknown, "it is unknown"),
    ];
    let sentence = |(outcome, word): (TierOutcome, &str)| {
        let names = tried.iter().filter(|(_, found)| *found == outcome).map(|(name, _)| name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("With {names} {word}."))
    };
    words.into_iter().filter_map(sentence).collect::<Vec<_>>().join(" ")
}

fn change(change: SensitivityChange) -> String {
    match change {
        SensitivityChange::Memory(factor) if factor < 1.0 => "half the memory".to_owned(),
        SensitivityChange::Memory(_) => "twice the memory".to_owned(),
        SensitivityChange::MemoryShare(share) => format!("memory for {:.0} % of the data", 100.0 * share),
        SensitivityChange::Cache(factor) if factor < 1.0 => "half the cache".to_owned(),
        SensitivityChange::Cache(_) => "twice the cache".to_owned(),
    }
}
