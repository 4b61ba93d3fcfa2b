//! The steady-state rule of the SNIA Solid State Storage Performance Test Specification (2.1.24).

use super::moments::{mean, slope};

/// How many rounds the rule looks at.
pub const ROUNDS: usize = 5;

/// The rounds may differ by this share of their average.
pub const GREATEST_RANGE: f64 = 0.20;

/// The fitted line may rise or fall by this share of the average from the first round to the last.
pub const GREATEST_EXCURSION: f64 = 0.10;

/// How five rounds lie to each other, as shares of their average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    /// Greatest minus least.
    pub range: f64,
    /// What the least-squares line rises or falls from the first round to the last.
    pub excursion: f64,
}

impl Rounds {
    /// Looks at the averages of five rounds; nothing where they are not above 0 on average.
    pub fn of(averages: [f64; ROUNDS]) -> Option<Self> {
        let average = mean(&averages).filter(|average| average.is_finite() && *average > 0.0)?;
        let greatest = averages.into_iter().fold(f64::MIN, f64::max);
        let least = averages.into_iter().fold(f64::MAX, f64::min);
        let rise = slope(&averages)? * (ROUNDS - 1) as f64;
        Some(Self { range: (greatest - least) / average, excursion: rise.abs() / average })
    }

    /// Whether both are within the rule's limits.
    pub fn steady(&self) -> bool {
        self.range <= GREATEST_RANGE && self.excursion <= GREATEST_EXCURSION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_and_excursion_each_have_a_limit() {
        assert!(Rounds::of([100.0, 105.0, 95.0, 105.0, 100.0]).unwrap().steady());
        let wide = Rounds::of([100.0, 115.0, 85.0, 115.0, 100.0]).unwrap();
        assert!(wide.range > GREATEST_RANGE && !wide.steady());
        let sloped = Rounds::of([94.0, 97.0, 100.0, 103.0, 106.0]).unwrap();
        assert!((sloped.excursion - 0.12).abs() < 1e-12 && sloped.range < GREATEST_RANGE && !sloped.steady());
    }

    #[test]
    fn a_share_of_nothing_is_not_told() {
        assert_eq!(Rounds::of([0.0; 5]), None);
    }
}
