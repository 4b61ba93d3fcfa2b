//! Whether a cache pays, by intervals of prices.

use serde::Serialize;

/// Whether a cache pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TierOutcome {
    /// It pays, wherever the break-even price and the current price are within their intervals.
    Pays,
    /// It does not pay, wherever they are.
    DoesNotPay,
    /// It depends on where they are.
    TooCloseToCall,
    /// A figure is missing.
    Unknown,
}

impl TierOutcome {
    /// Whether it pays; `None` if that is unknown or too close to call.
    pub fn pays(self) -> Option<bool> {
        match self {
            Self::Pays => Some(true),
            Self::DoesNotPay => Some(false),
            Self::TooCloseToCall | Self::Unknown => None,
        }
    }

    /// The outcome by the interval of the break-even price and that of the current price.
    pub(super) fn of([even_low, even_high]: [f64; 2], [price_low, price_high]: [f64; 2]) -> Self {
        match () {
            () if even_low >= price_high => Self::Pays,
            () if even_high < price_low => Self::DoesNotPay,
            () => Self::TooCloseToCall,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_holds_within_both_intervals() {
        let price = [1.0, 2.0];
        assert_eq!(TierOutcome::of([2.0, 9.0], price), TierOutcome::Pays);
        assert_eq!(TierOutcome::of([1.9, 9.0], price), TierOutcome::TooCloseToCall);
        assert_eq!(TierOutcome::of([-1.0, 1.0], price), TierOutcome::TooCloseToCall);
        assert_eq!(TierOutcome::of([-1.0, 0.9], price), TierOutcome::DoesNotPay);
    }
}
