//! The steady-state rule of the SNIA Solid State Storage Performance Test Specification (2.1.24).

use super::moments::{mean, slope};

/// The number of rounds in the rule's measurement window.
pub const ROUNDS: usize = 5;

/// The largest allowed range of the rounds, as a share of their average.
pub const GREATEST_RANGE: f64 = 0.20;

/// The largest allowed excursion of the fitted line from the first round to the last, as a share of the average.
pub const GREATEST_EXCURSION: f64 = 0.10;

/// The spread of five rounds, as shares of their average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    /// The largest minus the smallest.
    pub range: f64,
    /// The rise or fall of the least-squares line from the first round to the last.
    pub excursion: f64,
}

impl Rounds {
    /// The spread of the averages of five rounds; `None` where their average is not above 0.
    pub fn of(averages: [f64; ROUNDS]) -> Option<Self> {
        let average = mean(&averages).filter(|average| average.is_finite() && *average > 0.0)?;
        let greatest = averages.into_iter().fold(f64::MIN, f64::max);
        let least = averages.into_iter().fold(f64::MAX, f64::min);
        let rise = slope(&averages)? * (ROUNDS - 1) as f64;
        Some(Self { range: (greatest - least) / average, excursion: rise.abs() / average })
    }

    /// Whether both are within the rule's limits.
    pub fn is_steady(&self) -> bool {
        self.range <= GREATEST_RANGE && self.excursion <= GREATEST_EXCURSION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_and_excursion_each_have_a_limit() {
        assert!(Rounds::of([100.0, 105.0, 95.0, 105.0, 100.0]).unwrap().is_steady());
        let wide = Rounds::of([100.0, 115.0, 85.0, 115.0, 100.0]).unwrap();
        assert!(wide.range > GREATEST_RANGE && !wide.is_steady());
        let sloped = Rounds::of([94.0, 97.0, 100.0, 103.0, 106.0]).unwrap();
        assert!((sloped.excursion - 0.12).abs() < 1e-12 && sloped.range < GREATEST_RANGE && !sloped.is_steady());
    }

    #[test]
    fn a_share_of_nothing_is_not_reported() {
        assert_eq!(Rounds::of([0.0; 5]), None);
    }
}
