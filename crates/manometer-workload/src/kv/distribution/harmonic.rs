//! The sums 1^-s + … + n^-s, from which the shares of Zipf follow.

use super::zipf::PowerCurve;

/// Terms that are added one by one; the rest follows from the integral by Euler and Maclaurin.
const ONE_BY_ONE: u64 = 10_000;

/// 1^-s + … + n^-s for `count` terms, for any `exponent`; right to about 12 digits.
pub fn harmonic(count: u64, exponent: f64) -> f64 {
    let curve = PowerCurve::new(exponent);
    let first = count.min(ONE_BY_ONE);
    let head: f64 = (1..=first).rev().map(|rank| curve.height(rank as f64)).sum();
    if first == count {
        return head;
    }
    let (from, to) = (first as f64, count as f64);
    let slope = |x: f64| -exponent * x.powf(-exponent - 1.0);
    head + (curve.integral(to) - curve.integral(from))
        + (curve.height(to) - curve.height(from)) / 2.0
        + (slope(to) - slope(from)) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_their_terms() {
        for exponent in [-0.01, 0.01, 0.5, 0.99, 1.0, 1.0001, 1.2, 2.0] {
            for count in [1, 10, 10_000, 10_001, 300_000] {
                let terms: f64 = (1..=count).rev().map(|rank| (rank as f64).powf(-exponent)).sum();
                let got = harmonic(count, exponent);
                assert!((got / terms - 1.0).abs() < 1e-11, "{exponent}, {count}: {got}, not {terms}");
            }
        }
    }

    /// YCSB's own constant, over its 10^10 items.
    #[test]
    fn ycsbs_constant_comes_out() {
        assert!((harmonic(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    }
}
