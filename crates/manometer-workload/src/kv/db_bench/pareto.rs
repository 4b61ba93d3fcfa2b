//! The generalised Pareto distribution, by which mixgraph's values and scans are long.

/// The generalised Pareto distribution: location `theta`, scale `sigma`, shape `k`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    /// The smallest value.
    pub theta: f64,
    /// The shape: the larger, the longer the tail; 0 is the exponential distribution.
    pub k: f64,
    /// The scale.
    pub sigma: f64,
}

impl Pareto {
    /// The value that the share `above` of all values exceeds, rounded up.
    #[inline]
    pub(super) fn exceeded_by(self, above: f64) -> i64 {
        let tail = if self.k == 0.0 { -above.ln() } else { (above.powf(-self.k) - 1.0) / self.k };
        rounded_up(self.theta + self.sigma * tail)
    }
}

/// `number` rounded up. What no such integer can hold becomes the lowest one, as on the processors that
/// db_bench runs on.
#[inline]
pub(super) fn rounded_up(number: f64) -> i64 {
    const END: f64 = 9_223_372_036_854_775_808.0;
    let number = number.ceil();
    if (-END..END).contains(&number) { number as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From an independent computation with db_bench's formula and its default parameters.
    #[test]
    fn quantiles_are_db_benchs() {
        let values = Pareto { theta: 0.0, k: 0.2615, sigma: 25.45 };
        let scans = Pareto { theta: 0.0, k: 2.517, sigma: 14.236 };
        let exponential = Pareto { theta: 3.0, k: 0.0, sigma: 10.0 };
        assert_eq!([0.9, 0.5, 0.1, 0.01, 0.001, 1e-6].map(|u| values.exceeded_by(u)), [3, 20, 81, 228, 496, 3511]);
        assert_eq!([0.9, 0.5, 0.1, 0.01, 0.001].map(|u| scans.exceeded_by(u)), [2, 27, 1855, 611_647, 201_142_921]);
        assert_eq!([0.9, 0.5, 0.1].map(|u| exponential.exceeded_by(u)), [5, 10, 27]);
        assert_eq!(values.exceeded_by(0.0), i64::MIN);
    }
}
